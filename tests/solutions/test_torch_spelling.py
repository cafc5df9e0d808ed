"""The model from spelling to sound: training keeps the best moment, and one byte a parameter is enough."""

import numpy as np
import pytest
import torch

from solutions.in_numpy import spelling
from solutions.in_torch import spelling as torch_spelling
from solutions.in_torch.output_layer import beam_search
from solutions.in_torch.spelling import (
    as_tensors,
    build_model,
    load_trained,
    pronounce,
    quantize,
    train_with_validation,
)

pytestmark = pytest.mark.suite("solutions")


@pytest.fixture
def few_words(monkeypatch):
    parts = {part: spelling.words_of(part)[:100] for part in ("training", "validation", "test")}
    monkeypatch.setattr(torch_spelling, "words_of", parts.get)


@pytest.mark.usefixtures("few_words")
def test_training_ends_with_the_parameters_that_had_the_lowest_loss_in_validation(capsys):
    model, curve = train_with_validation(steps=60, every=10, rate=0.02)
    assert [step for step, _, _ in curve] == [10, 20, 30, 40, 50, 60]
    batch = as_tensors(torch_spelling.words_of("validation"))
    with torch.no_grad():
        logits, _ = model(batch["source"], batch["lengths"], batch["target_in"])
    losses = [validation for _, _, validation in curve]
    assert torch_spelling.translation_loss(logits, batch["target"]).item() == pytest.approx(min(losses), rel=1e-5)
    assert capsys.readouterr().out.count("validation") == 6
    assert min(losses) < losses[-1]  # a hundred words are overfitted


def test_a_parameter_in_one_byte_is_off_by_half_a_step_at_most(tmp_path):
    model = build_model(seed=3)
    np.savez_compressed(tmp_path / "weights.npz", **quantize(model))
    loaded = dict(load_trained(tmp_path / "weights.npz").named_parameters())
    for name, parameter in model.named_parameters():
        rows = parameter.detach().reshape(len(parameter), -1)
        step = rows.abs().max(dim=1, keepdim=True).values / 127
        difference = (loaded[name].detach().reshape(len(parameter), -1) - rows).abs()
        assert (difference <= step / 2 + 1e-7).all(), name


def test_a_beam_that_prefers_long_hypotheses_chooses_by_log_probability_per_phoneme():
    model, words = build_model(seed=1), ["knight", "attention", "of"]
    batch = as_tensors(words)
    with torch.no_grad():
        model.decoder.output.bias[spelling.STOP] += 1.5  # an untrained model hardly ever stops
    arguments = model, batch["source"], batch["lengths"], spelling.START, spelling.STOP, 6, 4
    shortest, plain = beam_search(*arguments)
    longest, powered = beam_search(*arguments, length_power=2.0)
    lengths = [(numbers != spelling.STOP).sum(dim=1) + 1 for numbers in (shortest, longest)]
    assert (lengths[1] > lengths[0]).any()
    assert (powered <= plain + 1e-6).all()
    assert (powered / lengths[1] ** 2.0 >= plain / lengths[0] ** 2.0 - 1e-6).all()


def test_a_beam_of_1_pronounces_as_greedy_search_does():
    model, words = build_model(seed=2), ["knight", "attention"]
    batch = as_tensors(words)
    numbers, _ = beam_search(
        model, batch["source"], batch["lengths"], spelling.START, spelling.STOP, spelling.MOST_PHONEMES, 1
    )
    assert pronounce(model, words) == [spelling.as_phonemes(row) for row in numbers.tolist()]
