"""Wrong answers to read-a-deadlock."""

WRONG = [
    ("nothing yet", [], "Nothing is here yet", 0),
    ("every rank that waits", [0, 1, 2, 3, 4, 5], "it is a victim, not a cause", 0),
    ("the other way round", [1, 4, 3], "not in its order", 1),
    ("a rank too few", [1, 3], "Rank 3 does not wait for rank 1", 0),
    ("a rank that does not exist", [1, 3, 6], "There is no rank 6", 0),
    ("words", "rank one", "a list of ranks is wanted", 0),
]
