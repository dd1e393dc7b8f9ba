"""What one rank's port knows: how many steps it has taken, and what time it is.

Steps are port steps. In a step a rank can send one message and receive one, so

    step(message) = 1 + max(sender's last send, sender's last completed receive)
    receiver      = max(its last receive + 1, step(message)).

Virtual time follows the same rule with seconds for steps: a message holds its sender's way out and its
receiver's way in for alpha + n * beta, and a synchronous one starts when both ends are ready. There is
no contention between different pairs. Both depend on the ranks' programs only, never on scheduling.
"""

from typing import TYPE_CHECKING

from counterpoint.models import Link

if TYPE_CHECKING:
    from counterpoint.ranks.request import Request


class PortClock:
    """Steps, and virtual seconds when there is a `link`. Only its own rank touches it."""

    __slots__ = ("in_free", "last_receive", "last_send", "link", "now", "out_free", "virtual")

    def __init__(self, link: Link | None) -> None:
        self.link = link
        self.virtual = link is not None
        self.last_send = self.last_receive = 0
        self.now = self.out_free = self.in_free = 0.0

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
