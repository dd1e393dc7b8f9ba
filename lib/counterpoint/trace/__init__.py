"""What happened, as values: the one record that every picture, cost check and grade reads."""

from counterpoint.trace.chrome import to_chrome, write_chrome
from counterpoint.trace.event import KINDS, UNKNOWN, Event, message_number
from counterpoint.trace.packed import PackedRecorder
from counterpoint.trace.places import is_cell, place_of
from counterpoint.trace.provenance import Provenance
from counterpoint.trace.recorder import Recorder, uncollected
from counterpoint.trace.trace import Totals, Trace
from counterpoint.trace.words import Line, line_number

__all__ = [
    "KINDS", "UNKNOWN", "Event", "Line", "PackedRecorder", "Provenance", "Recorder", "Totals", "Trace",
    "is_cell", "line_number", "message_number", "place_of", "to_chrome", "uncollected", "write_chrome",
]  # fmt: skip
