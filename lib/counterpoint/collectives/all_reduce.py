"""All-reduce by name, and the choice of the algorithm by what each would cost."""

from functools import lru_cache

import torch

from counterpoint.collectives import (
    direct,
    one_shot,
    rabenseifner,
    recursive_doubling,
    ring,
    star,
    tree,
    two_shot,
)
from counterpoint.collectives.choice import Algorithms, known, quickest
from counterpoint.models import Link
from counterpoint.ranks import Comm, check_op, check_tensor, finish

BY_MESSAGES: Algorithms = {
    "star": (star.star_all_reduce, star.cost),
    "tree": (tree.tree_all_reduce, tree.cost),
    "ring": (ring.ring_all_reduce, ring.cost),
    "recursive-doubling": (recursive_doubling.recursive_doubling_all_reduce, recursive_doubling.cost),
    "rabenseifner": (rabenseifner.rabenseifner_all_reduce, rabenseifner.cost),
}
"""Each algorithm's function `(comm, x, op)` for a 1-D tensor, and its `cost(p, count, itemsize)`."""

BY_WINDOWS: Algorithms = {
    "one-shot": (one_shot.one_shot_all_reduce, one_shot.cost),
    "two-shot": (two_shot.two_shot_all_reduce, two_shot.cost),
    "direct": (direct.direct_all_reduce, direct.cost),
}
"""The same, for ranks that reach each other's memory."""

ALGORITHMS = BY_MESSAGES | BY_WINDOWS


def all_reduce(comm: Comm, tensor: torch.Tensor, op: str = "sum", algorithm: str = "auto") -> torch.Tensor:
    """Reduce `tensor` over all ranks, in place; returned. Every rank gets the same bits.

    tensor: any shape and strides, same shape and dtype on every rank; views are written through. op: sum,
    avg, product, min, max; and, or, xor on integers and bool. algorithm: "star", "tree", "ring",
    "recursive-doubling", "rabenseifner"; where ranks reach each other's memory also "one-shot", "two-shot" and
    "direct"; or "auto" for the one of the former that is cheapest by its cost, or "direct" where
    `direct.prepare` has been called. Cost: the algorithm's; a tensor that is not
    contiguous, or is reduced through windows and not in one, is also copied twice. Raises ValueError for an
    unknown op or algorithm, or an op that the dtype has not, before any message; TypeError for what is no tensor;
    MismatchError if ranks differ.
    """
    if algorithm == "direct" and direct.compiled_all_reduce(comm, tensor, op):
        return tensor
    check_tensor("all_reduce", tensor)
    check_op(op, tensor.dtype)
    if algorithm == "auto":
        if direct.chosen(comm, tensor.dtype, op):
            return all_reduce(comm, tensor, op, "direct")
        algorithm = cheapest(comm.size, tensor.numel(), tensor.element_size())
    known("all_reduce", algorithm, ALGORITHMS)
    comm.agree("all_reduce", tensor.numel(), tensor.dtype, op, algorithm)
    with torch.no_grad(), comm.phase(""):
        whole = tensor.detach()
        flat = whole.contiguous().view(-1)
        ALGORITHMS[algorithm][0](comm, flat, op)
        finish(flat, op, comm.size)
        if not whole.is_contiguous():
            whole.copy_(flat.view(whole.shape))
    return tensor


@lru_cache(maxsize=1024)
def cheapest(p: int, count: int, itemsize: int, link: Link | None = None) -> str:
    """The all-reduce by messages that takes least time on `link` (default: on rank threads); the first of equals."""
    fresh = {"recursive-doubling": 1, "rabenseifner": 0.5}
    return quickest(BY_MESSAGES, p, count, itemsize, link, fresh)
