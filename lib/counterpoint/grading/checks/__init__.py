"""One file an exercise: its card, its runs, what is right, and the mistakes it invites."""

ORDER = (
    "hello-neighbour",
    "star-all-reduce",
    "binomial-reduce",
    "ring-reduce-scatter",
    "ring-all-gather",
    "ring-all-reduce",
    "read-a-deadlock",
    "repair-a-deadlock",
)
"""The order within a topic."""
