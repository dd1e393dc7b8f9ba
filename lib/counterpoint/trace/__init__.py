"""What happened, as values: the one record that every picture, cost check and grade reads."""

from counterpoint.trace.chrome import to_chrome
from counterpoint.trace.event import KINDS, UNKNOWN, Event
from counterpoint.trace.places import is_cell, place_of
from counterpoint.trace.provenance import Provenance
from counterpoint.trace.recorder import Line, Recorder, line_number, uncollected
from counterpoint.trace.trace import Totals, Trace

__all__ = [
    "KINDS", "UNKNOWN", "Event", "Line", "Provenance", "Recorder", "Totals", "Trace", "is_cell",
    "line_number", "place_of", "to_chrome", "uncollected",
]  # fmt: skip
