"""One file an exercise: its card, its runs, what is right, and the mistakes it invites."""
