"""The Mandelbrot set as a definition: plain torch."""

import torch


def escape_counts(xs: torch.Tensor, ys: torch.Tensor, iterations: int) -> torch.Tensor:
    """How many iterations of z = z*z + c each c = x + iy took to leave |z| <= 2; `iterations` if it never did.

    xs: float (columns,), ys: float (rows,), neither changed. Returns int32 (rows, columns). Cost: `iterations` passes
    over the whole picture. Source: B. Mandelbrot, Ann. N.Y. Acad. Sci. 357 (1980), 249.
    """
    cx, cy = torch.broadcast_tensors(xs[None, :], ys[:, None])
    zx, zy = torch.zeros_like(cx), torch.zeros_like(cy)
    counts = torch.zeros(cx.shape, dtype=torch.int32)
    inside = torch.ones(cx.shape, dtype=torch.bool)
    for _ in range(iterations):
        zx2, zy2 = zx * zx, zy * zy
        inside &= zx2 + zy2 <= 4  # once outside, always outside
        counts += inside
        zx, zy = zx2 - zy2 + cx, (zx + zx) * zy + cy
    return counts
