"""A small character model and its data: given 16 characters of Python source, it predicts the next one.

The data is the text of Python's own standard library, which every machine has. Nothing here draws from
torch's one generator for the whole process: each random thing takes a `torch.Generator`, so ranks that are
given equal seeds hold equal models and draw equal batches. The architecture (embed, concatenate, one
hidden layer) is that of Bengio, Ducharme, Vincent and Jauvin, JMLR 3, 2003, section 2.
"""

from importlib.util import find_spec

import torch

MODULES = (
    "argparse", "calendar", "contextlib", "dataclasses", "difflib", "doctest", "fractions", "functools",
    "heapq", "inspect", "queue", "random", "shutil", "statistics", "subprocess", "textwrap", "threading",
)  # fmt: skip
"""Modules of the standard library that are Python source in every version from 3.11 on."""

ALPHABET = "\n" + "".join(map(chr, range(32, 127)))
"""The 96 characters that the model knows: a line's end and what ASCII can print."""

CONTEXT, WIDTH, HIDDEN = 16, 16, 256
"""Characters that the model looks back, numbers that stand for each, hidden units."""


def library_text() -> torch.Tensor:
    """The source of `MODULES`, one after another, as int64 positions in `ALPHABET`; others become "?".

    Some 900,000 characters. Their number depends on the version of Python; the model's size doesn't.
    """
    text = "".join(filter(None, map(_source, MODULES)))
    known = bytes(text, "ascii", "replace").translate(_TO_POSITION)
    return torch.frombuffer(bytearray(known), dtype=torch.uint8).long()


def as_text(positions: torch.Tensor) -> str:
    """The characters that `positions` (int64, any length) stand for."""
    return "".join(ALPHABET[i] for i in positions.tolist())


def draw_batch(
    text: torch.Tensor, size: int, generator: torch.Generator
) -> tuple[torch.Tensor, torch.Tensor]:
    """`size` places of `text`, drawn by `generator`: the 16 characters before each, and the one there.

    Returns int64 tensors of shape (size, 16) and (size,).
    """
    places = torch.randint(CONTEXT, len(text), (size,), generator=generator)
    return text[places[:, None] + torch.arange(-CONTEXT, 0)], text[places]


class CharacterModel(torch.nn.Module):
    """Scores for the next character, from the 16 before it. 92,000 parameters."""

    def __init__(self, generator: torch.Generator, dtype: torch.dtype = torch.float32) -> None:
        super().__init__()

        def weights(rows: int, columns: int, scale: float) -> torch.nn.Parameter:
            drawn = torch.randn(rows, columns, generator=generator, dtype=torch.float64)
            return torch.nn.Parameter((scale * drawn).to(dtype))

        self.embedding = weights(len(ALPHABET), WIDTH, 1.0)
        self.hidden = weights(CONTEXT * WIDTH, HIDDEN, (CONTEXT * WIDTH) ** -0.5)
        self.hidden_bias = torch.nn.Parameter(torch.zeros(HIDDEN, dtype=dtype))
        self.scores = weights(HIDDEN, len(ALPHABET), 0.1 * HIDDEN**-0.5)
        self.scores_bias = torch.nn.Parameter(torch.zeros(len(ALPHABET), dtype=dtype))

    def forward(self, contexts: torch.Tensor) -> torch.Tensor:
        """contexts: int64 (batch, 16). Returns scores (batch, 96): the larger, the likelier."""
        x = self.embedding[contexts].flatten(1)
        h = torch.tanh(x @ self.hidden + self.hidden_bias)
        return h @ self.scores + self.scores_bias


def gradient_of(
    model: CharacterModel, contexts: torch.Tensor, targets: torch.Tensor
) -> tuple[float, torch.Tensor]:
    """The mean loss over a batch, and its gradient as one flat vector of all 92,000 parameters.

    The loss is the cross entropy in nats: -log of the chance that the model gave the right character.
    """
    with torch.enable_grad():
        loss = torch.nn.functional.cross_entropy(model(contexts), targets)
        parts = torch.autograd.grad(loss, list(model.parameters()))
    return loss.item(), torch.cat([part.flatten() for part in parts])


@torch.no_grad()
def descend(model: CharacterModel, gradient: torch.Tensor, rate: float) -> None:
    """One step of gradient descent, in place: every parameter goes down its slope.

    gradient: flat, as `gradient_of` returns it.
    """
    parameters = list(model.parameters())
    parts = gradient.split([parameter.numel() for parameter in parameters])
    for parameter, part in zip(parameters, parts, strict=True):
        parameter.sub_(rate * part.view_as(parameter))


@torch.no_grad()
def write(model: CharacterModel, start: str, length: int, generator: torch.Generator) -> str:
    """`start` (at least 16 characters) continued by `length` characters, each drawn as the model expects."""
    text = [ALPHABET.index(character) for character in start]
    for _ in range(length):
        chances = model(torch.tensor([text[-CONTEXT:]])).softmax(1)
        text.append(int(torch.multinomial(chances, 1, generator=generator)))
    return as_text(torch.tensor(text))


def _source(module: str) -> str | None:
    """The text of a module, which is found but not imported; None where only its bytecode is installed."""
    spec = find_spec(module)
    read = getattr(spec.loader if spec else None, "get_source", None)
    return read(module) if read else None


_TO_POSITION = bytes(
    ALPHABET.index(chr(code)) if chr(code) in ALPHABET else ALPHABET.index("?") for code in range(256)
)
