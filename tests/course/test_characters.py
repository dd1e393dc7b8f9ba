"""The character model: deterministic, of one size everywhere, and it learns."""

import torch

from counterpoint.course import CharacterModel, descend, draw_batch, gradient_of, library_text
from counterpoint.course.characters import ALPHABET, MODULES, as_text, write


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_the_text_is_pythons_own_library_in_the_alphabet():
    text = library_text()
    assert text.dtype == torch.int64
    assert len(text) > 300_000
    assert int(text.min()) >= 0 and int(text.max()) < len(ALPHABET)
    assert "def wraps(wrapped," in as_text(text)  # of functools


def test_every_module_of_the_text_is_there():
    from counterpoint.course.characters import _source

    assert [module for module in MODULES if not _source(module)] == []


def test_characters_outside_the_alphabet_become_question_marks():
    from counterpoint.course.characters import _TO_POSITION

    assert ALPHABET[_TO_POSITION[ord("\t")]] == "?"
    assert ALPHABET[_TO_POSITION[0xE9]] == "?"


def test_a_batch_is_each_character_with_the_16_before_it():
    text = torch.arange(100)
    contexts, targets = draw_batch(text, 50, seeded(0))
    assert contexts.shape == (50, 16)
    assert torch.equal(contexts, targets[:, None] + torch.arange(-16, 0))
    assert int(targets.min()) >= 16


def test_equal_seeds_give_equal_models_and_batches_and_leave_torchs_generator_alone():
    before = torch.random.get_rng_state()
    text = torch.arange(96).repeat(3)
    models = [CharacterModel(seeded(5)) for _ in range(2)]
    batches = [draw_batch(text, 8, seeded(6)) for _ in range(2)]
    assert all(map(torch.equal, models[0].parameters(), models[1].parameters()))
    assert all(map(torch.equal, *batches))
    assert torch.equal(before, torch.random.get_rng_state())


def test_the_gradient_is_one_flat_vector_of_all_parameters():
    model = CharacterModel(seeded(0), dtype=torch.float64)
    contexts, targets = draw_batch(torch.arange(96).repeat(2), 20, seeded(1))
    loss, gradient = gradient_of(model, contexts, targets)
    assert gradient.shape == (92_000,)
    expected = torch.nn.functional.cross_entropy(model(contexts), targets)
    expected.backward()
    assert loss == expected.item()
    assert torch.equal(gradient, torch.cat([x.grad.flatten() for x in model.parameters()]))


def test_descending_moves_each_parameter_against_its_slope():
    model = CharacterModel(seeded(0))
    before = torch.cat([x.detach().flatten() for x in model.parameters()])
    gradient = torch.arange(92_000.0)
    descend(model, gradient, rate=0.25)
    after = torch.cat([x.detach().flatten() for x in model.parameters()])
    assert torch.equal(after, before - 0.25 * gradient)


def test_the_model_learns():
    text, model, places = library_text(), CharacterModel(seeded(0)), seeded(1)
    losses = []
    for _ in range(30):
        loss, gradient = gradient_of(model, *draw_batch(text, 256, places))
        descend(model, gradient, rate=0.5)
        losses.append(loss)
    assert losses[0] > 4.5  # about log 96: it knows nothing
    assert losses[-1] < 3.5


def test_writing_continues_the_start():
    start = "def all_reduce(comm):\n"
    text = write(CharacterModel(seeded(0)), start, 10, seeded(2))
    assert text.startswith(start)
    assert len(text) == len(start) + 10
