"""What processes of one machine send each other: framed messages, and functions that keep their lines."""
