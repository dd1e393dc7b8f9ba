"""What every benchmark here stands on: teams that sleep until it is their turn, rounds, and the record."""
