"""What one rank's port knows: how many steps it has taken, and what time it is.

Steps are port steps. In a step a rank can send one message and receive one, so

    step(message) = 1 + max(sender's last send, sender's last completed receive)
    receiver      = max(its last receive + 1, step(message)).

Virtual time follows the same rule with seconds for steps: a message holds its sender's way out and its
receiver's way in for alpha + n * beta, and a synchronous one starts when both ends are ready. There is
no contention between different pairs, so a one-sided access holds the ways of the rank that makes it only;
a fence is a step, and brings all clocks to the latest. Both depend on the ranks' programs only, never on scheduling.
"""

from typing import TYPE_CHECKING

from counterpoint.models import Link

if TYPE_CHECKING:
    from counterpoint.ranks.request import Request


class PortClock:
    """Steps, and virtual seconds when there is a `link`. Only its own rank touches it."""

    __slots__ = ("in_free", "landed", "last_receive", "last_send", "link", "now", "out_free", "virtual")

    def __init__(self, link: Link | None) -> None:
        self.link = link
        self.virtual = link is not None
        self.last_send = self.last_receive = 0
        self.now = self.out_free = self.in_free = self.landed = 0.0

    def post_send(self, send: "Request") -> None:
        """The message gets its step, and the earliest moment at which it can leave."""
        self.last_send = send.step = 1 + max(self.last_send, self.last_receive)
        if self.link:
            send.ready = max(self.now, self.out_free)
            send.link = self.link
            self.out_free = send.ready + self.link.seconds(send.nbytes)

    def post_receive(self, receive: "Request") -> None:
        """From now on a synchronous sender need not wait for this receive."""
        receive.ready = self.now

    def reduce(self, nbytes: int) -> None:
        """The rank reduces as many bytes by itself."""
        if self.link:
            self.now += self.link.gamma * nbytes

    def complete_send(self, send: "Request") -> tuple[float, float]:
        """The message has left: (start, end) of its transfer in virtual seconds."""
        if not self.link:
            return 0.0, 0.0
        start = send.ready
        if send.synchronous and send.match is not None:
            start = max(start, send.match.ready)
        end = start + self.link.seconds(send.nbytes)
        self.out_free = max(self.out_free, end)
        self.now = max(self.now, end)
        return start, end

    def complete_receive(self, receive: "Request") -> tuple[float, float]:
        """The message is here: (start, end) in virtual seconds, the reduction included."""
        send = receive.match
        assert send is not None
        self.last_receive = receive.step = max(self.last_receive + 1, send.step)
        if not self.link:
            return 0.0, 0.0
        assert send.link is not None
        leaves = max(send.ready, receive.ready) if send.synchronous else send.ready
        start = max(leaves, self.in_free)
        end = max(leaves + send.link.seconds(send.nbytes), start + self.link.seconds(send.nbytes))
        reduction = self.link.gamma * send.nbytes if receive.op else 0.0
        self.in_free = end + reduction
        self.now = max(self.now, end) + reduction
        return start, self.now

    def get(self, link: Link, nbytes: int, reduced: bool) -> tuple[float, float]:
        """(start, end) in virtual seconds of a read from a rank on `link`, the reduction included."""
        assert self.link is not None
        start = max(self.now, self.in_free)
        end = start + max(link.seconds(nbytes), self.link.seconds(nbytes))
        self.in_free = self.now = end + (self.link.gamma * nbytes if reduced else 0.0)
        return start, self.now

    def put(self, link: Link, nbytes: int) -> tuple[float, float]:
        """(start, end) in virtual seconds of a write to a rank on `link`: until it has left."""
        assert self.link is not None
        start = max(self.now, self.out_free)
        self.out_free = self.now = start + self.link.seconds(nbytes)
        self.landed = max(self.landed, self.now, start + link.seconds(nbytes))
        return start, self.now

    def locally(self, nbytes: int, gamma: float) -> tuple[float, float]:
        """(start, end) of an access to the rank's own memory: free, but for gamma seconds a byte."""
        start = self.now
        self.now += gamma * nbytes
        return start, self.now

    def land(self) -> None:
        """Wait until whatever was put has arrived."""
        self.now = max(self.now, self.landed)
