"""A word that work is to be given up, heard by whoever asks."""

import threading

from counterpoint.balance.failures import Cancelled


class Cancellation:
    """Passed to tasks by whoever may want to end them early; they ask it from time to time.

    >>> stop = Cancellation()
    >>> fan_out(lambda part: crunch(part, stop), parts, 4, cancellation=stop)
    """

    def __init__(self) -> None:
        self._event = threading.Event()

    @property
    def requested(self) -> bool:
        """Whether somebody has asked for the end."""
        return self._event.is_set()

    def request(self) -> None:
        """Ask for the end; from any thread, as often as you like."""
        self._event.set()

    def check(self) -> None:
        """Raise Cancelled if the end is asked for. Cost: some 50 ns."""
        if self._event.is_set():
            raise Cancelled("cancelled, as was requested")

    def wait(self, seconds: float) -> bool:
        """Sleep, but not beyond a request. Returns whether there is one."""
        return self._event.wait(seconds)
