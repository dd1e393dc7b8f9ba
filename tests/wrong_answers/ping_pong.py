"""Wrong answers to ping-pong."""

from counterpoint.models import fit_link


def line(x, y):
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    slope = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / sum(
        (a - mean_x) ** 2 for a in x
    )
    return mean_y - slope * mean_x, slope


def not_halved(counts, seconds):
    return line([4 * n for n in counts], seconds)


def elements(counts, seconds):
    return line(counts, [s / 2 for s in seconds])


def bits(counts, seconds):
    return line([32 * n for n in counts], [s / 2 for s in seconds])


def no_latency(counts, seconds):
    x, y = [4 * n for n in counts], [s / 2 for s in seconds]
    return 0.0, sum(a * b for a, b in zip(x, y, strict=True)) / sum(a * a for a in x)


def two_points(counts, seconds):
    beta = (seconds[-1] - seconds[0]) / 2 / (4 * (counts[-1] - counts[0]))
    return seconds[0] / 2 - beta * 4 * counts[0], beta


def halved_after_all(counts, seconds):
    alpha, beta = line([4 * n for n in counts], seconds)
    return alpha / 2, beta


def only_short(counts, seconds):
    return line([4 * n for n in counts[:4]], [s / 2 for s in seconds[:4]])


def only_long(counts, seconds):
    return line([4 * n for n in counts[4:]], [s / 2 for s in seconds[4:]])


def bandwidth(counts, seconds):
    alpha, beta = line([4 * n for n in counts], [s / 2 for s in seconds])
    return alpha, 1 / beta


def microseconds(counts, seconds):
    return line([4 * n for n in counts], [1e6 * s / 2 for s in seconds])


def least_relative_error(counts, seconds):
    u = [2 / s for s in seconds]
    v = [4 * n * a for n, a in zip(counts, u, strict=True)]
    uu, vv, uv = (sum(a * b for a, b in zip(x, y, strict=True)) for x, y in ((u, u), (v, v), (u, v)))
    determinant = uu * vv - uv * uv
    return (sum(u) * vv - sum(v) * uv) / determinant, (sum(v) * uu - sum(u) * uv) / determinant


def the_librarys(counts, seconds):
    link = fit_link([4 * n for n in counts], [s / 2 for s in seconds])
    return link.alpha, link.beta


def swapped(counts, seconds):
    alpha, beta = line([4 * n for n in counts], [s / 2 for s in seconds])
    return beta, alpha


def smallest_is_latency(counts, seconds):
    beta = (seconds[-1] - seconds[0]) / 2 / (4 * (counts[-1] - counts[0]))
    return seconds[0] / 2, beta


def one_number(counts, seconds):
    return line([4 * n for n in counts], [s / 2 for s in seconds])[0]


WRONG = [
    ("the round trip is not halved", not_halved, "there **and back** is two messages", 0),
    ("elements for bytes", elements, "an element has 4 bytes", 0),
    ("bits for bytes", bits, "**bits** are not bytes", 0),
    ("a line through the origin", no_latency, "**through the origin**", 0),
    ("a line through two points", two_points, "**All points** count", 3),
    ("only alpha is halved", halved_after_all, "beta is twice too large", 0),
    ("fitted on messages that are nearly all latency", only_short, "the **4 shortest** messages", 3),
    ("fitted on long messages only", only_long, "the **4 longest** messages", 3),
    ("the bandwidth for beta", bandwidth, "That is the **bandwidth**", 0),
    ("in microseconds", microseconds, "They are in **microseconds**", 0),
    ("least relative error", least_relative_error, "least **relative** error", 3),
    ("the library's own", the_librarys, "leaves the work to the library", 0),
    ("alpha and beta swapped", swapped, "They are **swapped**", 0),
    (
        "takes the smallest message for the latency",
        smallest_is_latency,
        "time of the **shortest message**",
        0,
    ),
    ("returns alpha alone", one_number, "it should return two numbers", 0),
]
