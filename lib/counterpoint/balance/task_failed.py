"""A task's exception, with the task that raised it."""


class TaskFailed(RuntimeError):
    """Task `task` (its number), run by `worker`, raised `cause`; no other task has begun since."""

    def __init__(self, task: int, worker: int, cause: BaseException) -> None:
        self.task, self.worker, self.cause = task, worker, cause
        super().__init__(f"task {task}, run by worker {worker}, raised {type(cause).__name__}: {cause}")
