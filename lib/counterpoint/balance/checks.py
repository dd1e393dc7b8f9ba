"""Bad numbers of workers and tasks, answered before anything starts."""


def count_of_workers(workers: int, who: str) -> None:
    """Raise ValueError unless `workers` is a whole number of at least 1."""
    if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
        raise ValueError(f"{who}: workers is a whole number of at least 1, not {workers!r}")
