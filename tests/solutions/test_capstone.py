"""The capstone's language, and the model that learns it."""

import io
import math
import re

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from autograder.notebooks.chapter import chapter_texts
from autograder.paths import BOOK
from solutions.in_numpy import capstone as language
from solutions.in_torch import capstone
from solutions.in_torch.context import attend
from solutions.in_torch.decoder_fusion import decoder_step
from solutions.in_torch.encoder import annotate
from solutions.in_torch.scoring import score_every_step
from solutions.trained import load_trained


@pytest.mark.slow
def test_with_right_functions_of_ones_own_the_model_is_the_same_to_its_gradients():
    batch = capstone.as_tensors(language.draw_sentences(5, seed=1))
    logits, gradients = [], []
    for own in ((), (score_every_step, attend)):
        model = capstone.build_model(seed=2, own=own)
        batch_logits, weights = model(batch["source"], batch["lengths"], batch["target_in"])
        capstone.translation_loss(batch_logits, batch["target"]).backward()
        logits.append(torch.cat([batch_logits, weights], dim=-1))
        gradients.append({name: parameter.grad for name, parameter in model.named_parameters()})
    torch.testing.assert_close(*logits)
    torch.testing.assert_close(*gradients)


def test_a_function_of_ones_own_is_what_the_model_calls():
    batch = capstone.as_tensors(language.draw_sentences(5, seed=1))

    def blind(scores, keys, source_mask):
        return torch.zeros_like(keys[:, 0])

    models = [capstone.build_model(seed=2, own=(score_every_step, mix)) for mix in (attend, blind)]
    right, wrong = (model(batch["source"], batch["lengths"], batch["target_in"])[0] for model in models)
    assert not torch.allclose(right, wrong)


def test_the_held_out_sentence_is_that_of_note_d():
    assert language.translate(language.HELD_OUT) == ("तर्क के साथ कारण", [2, -1, -1, 0])


def test_groups_keep_their_order_and_pairs_turn_round():
    words, positions = language.translate("tea and milk with water")
    assert words == "चाय और पानी के साथ दूध"
    assert positions == [0, -1, 4, -1, -1, 2]


@given(st.integers(0, 10_000))
def test_every_noun_comes_from_the_position_that_is_said(seed):
    (source,) = language.draw_sentences(1, seed)
    words, positions = language.translate(source)
    for word, place in zip(words.split(), positions, strict=True):
        if place >= 0:
            assert language.NOUNS[source.split()[place]] == word
        else:
            assert word in ("के", "साथ", "और")
    assert sorted(p for p in positions if p >= 0) == list(range(0, len(source.split()), 2))


def test_no_sentence_of_the_test_can_be_trained_on():
    trained = language.draw_sentences(3000, seed=0)
    unseen = language.draw_sentences(500, seed=0, kept_back=True)
    assert not set(trained) & set(unseen)
    assert language.HELD_OUT not in trained
    assert {len(s.split()) for s in trained} == {1, 3, 5, 7, 9, 11, 13, 15}


def test_arrays_end_in_stop_and_are_padded():
    arrays = language.as_arrays(["tea", "reason with logic"])
    assert arrays["lengths"].tolist() == [1, 3]
    assert arrays["source"][0].tolist()[1:] == [language.PAD] * 2
    assert arrays["target"][0].tolist()[1:] == [language.STOP, 0, 0, 0]
    assert arrays["positions"].tolist() == [[0, -1, -1, -1, -1], [2, -1, -1, 0, -1]]


def test_weights_are_read_back_as_they_were_written(tmp_path):
    model = capstone.build_model(seed=3)
    capstone.save_weights(model, tmp_path / "weights.npz")
    loaded = capstone.load_model(tmp_path / "weights.npz")
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), loaded.parameters(), strict=True))


@pytest.mark.parametrize("damage", ["missing", "misshapen", "not finite", "whole numbers"])
def test_weights_that_do_not_fit_are_refused_with_the_name_of_the_array(tmp_path, damage):
    capstone.save_weights(capstone.build_model(), tmp_path / "good.npz")
    arrays = dict(np.load(tmp_path / "good.npz"))
    name = "decoder.output.weight"
    if damage == "missing":
        del arrays[name]
    elif damage == "misshapen":
        arrays[name] = arrays[name].T
    elif damage == "not finite":
        arrays[name][0, 0] = np.nan
    else:
        arrays[name] = arrays[name].astype(int)
    np.savez(tmp_path / "bad.npz", **arrays)
    said = {"missing": "missing", "misshapen": "shape", "not finite": "finite", "whole numbers": "type int64"}[damage]
    with pytest.raises(ValueError, match=rf"{name}\b.*{said}"):
        capstone.load_model(tmp_path / "bad.npz")


def test_a_pickle_is_never_opened():
    file = io.BytesIO()
    np.savez(file, **{"decoder.output.weight": np.array([object()], dtype=object)})
    with pytest.raises(ValueError):  # noqa: PT011 (numpy's own)
        capstone.translate_with_weights(np.frombuffer(file.getvalue(), dtype=np.uint8), [[3]], [1])


def test_an_untrained_model_matches_nothing():
    arrays = capstone.unseen_sentences(0)
    file = io.BytesIO()
    capstone.save_weights(capstone.build_model(), file)
    content = np.frombuffer(file.getvalue(), dtype=np.uint8)
    value = capstone.translate_with_weights(content, arrays["source"], arrays["lengths"])
    measured = capstone.measure_translations(value, arrays)
    assert measured["exact_match"] == 0
    assert measured["noun_alignment"] < 0.5


def in_numbers(sentences):
    """Return sentences in words as rows of numbers, each with a stop token (2), then padding."""
    vocabulary = {}
    rows = [[vocabulary.setdefault(word, 3 + len(vocabulary)) for word in s.split()] + [2] for s in sentences]
    return np.array([row + [0] * (max(map(len, rows)) - len(row)) for row in rows])


def bleu_of(written, references):
    rows = in_numbers([*written, *references])
    return language.corpus_bleu(rows[: len(written)], rows[len(written) :])


REFERENCE = "he did not sign the agreement on the first day"


def test_the_bleu_by_hand_is_that_of_the_sentences_in_the_exercise():
    text = chapter_texts(BOOK / "capstone.md")[1]["capstone-bleu_by_hand"].body
    references, written = zip(*re.findall(r"^\| \d \| (.*) \| (.*) \|$", text, flags=re.MULTILINE), strict=True)
    answer = language.bleu_by_hand()
    assert 100 * answer["bleu"] == pytest.approx(bleu_of(written, references))
    unknown = [sentence.replace("book", "[UNK]") for sentence in written]
    assert unknown != [*written]
    assert 100 * answer["unknown"] == pytest.approx(bleu_of(unknown, references))


def test_the_bleu_of_the_paper_page_is_that_of_the_counts_in_its_text():
    written = "he did sign the agreement on the first day"
    counted = 100 * math.exp(1 - 10 / 9) * (9 / 9 * 7 / 8 * 5 / 7 * 4 / 6) ** (1 / 4)
    assert bleu_of([written], [REFERENCE]) == pytest.approx(counted)
    assert f"together {counted:.1f}" in (BOOK / "the_paper.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("written", ["", "he", "he did not", "he refused to sign it on day one"])
def test_the_bleu_is_0_if_no_four_words_in_a_row_are_found(written):
    assert bleu_of([written], [REFERENCE]) == 0
    assert bleu_of(["he did not"], ["he did not"]) == 0
    assert bleu_of([REFERENCE], [REFERENCE]) == pytest.approx(100)


def test_the_bleu_of_a_test_set_is_not_the_mean_of_its_sentences():
    written = [REFERENCE, "he refused to sign it on day one"]
    assert bleu_of(written, [REFERENCE] * 2) > 50 + 1


@st.composite
def translator_inputs(draw):
    """Return a batch of several sentences, of which at least one is padded, and all parameters of a translator."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    batch, source_len, target_len, d, m, n, a = rng.integers(2, 6, size=7)
    words_in, words_out = rng.integers(4, 8, size=2)
    lengths = rng.integers(1, source_len + 1, size=batch)
    lengths[:2] = 1, source_len
    target = rng.integers(3, words_out, size=(batch, target_len))
    ends = rng.integers(0, target_len, size=(batch, 1))
    target = np.where(np.arange(target_len) < ends, target, 2 * (np.arange(target_len) == ends))
    shapes = {
        **{"E_source": (words_in, d), "W_x": (m, d), "W_h": (m, m), "W_x_back": (m, d), "W_h_back": (m, m)},
        **{"W_init": (n, m), "E_target": (words_out, d), "W_query": (a, n), "W_key": (a, 2 * m), "v": (a,)},
        **{"W_y": (n, d), "W_s": (n, n), "W_c": (n, 2 * m), "W_o": (words_out, n)},
    }
    arrays = {
        "source": rng.integers(0, words_in, size=(batch, source_len)),
        "source_mask": np.arange(source_len) < lengths[:, None],
        "target": target,
        **{name: rng.normal(size=shape) for name, shape in shapes.items()},
    }
    return {name: torch.from_numpy(array) for name, array in arrays.items()}


def one_sentence(inputs, number):
    """Return the inputs for one sentence alone, without its source padding."""
    length = int(inputs["source_mask"][number].sum())
    alone = {name: inputs[name][number : number + 1, :length] for name in ("source", "source_mask")}
    return {**inputs, **alone, "target": inputs["target"][number : number + 1]}


@given(translator_inputs())
def test_the_assembled_translator_is_made_of_the_functions_of_the_chapters(p):
    keys = annotate(p["E_source"][p["source"]], p["source_mask"], p["W_x"], p["W_h"], p["W_x_back"], p["W_h_back"])
    state = torch.tanh(keys[:, 0, len(p["W_h"]) :] @ p["W_init"].T)
    of_step = [p[name] for name in ("W_query", "W_key", "v", "W_y", "W_s", "W_c")]
    losses, word = [], torch.ones_like(p["target"][:, 0])
    for right in p["target"].T:
        state = decoder_step(state, p["E_target"][word], keys, p["source_mask"], *of_step)
        logits = state @ p["W_o"].T
        losses.append((torch.logsumexp(logits, dim=1) - logits.gather(1, right[:, None])[:, 0]) * (right != 0))
        word = right
    torch.testing.assert_close(capstone.assemble(**p), torch.stack(losses, dim=1))


@given(translator_inputs())
def test_a_padded_batch_is_translated_as_its_sentences_are_alone(p):
    limits = torch.full_like(p["source"][:, 0], 7)
    losses, words = capstone.assemble(**p), capstone.assemble(**p, limits=limits)
    for number in range(len(limits)):
        alone = one_sentence(p, number)
        torch.testing.assert_close(capstone.assemble(**alone)[0], losses[number])
        assert torch.equal(capstone.assemble(**alone, limits=limits[:1])[0], words[number])


@given(translator_inputs(), st.integers(1, 6))
def test_no_single_word_of_a_translation_can_be_exchanged_for_a_likelier_one(p, limit):
    limits = torch.full_like(p["source"][:, 0], limit)
    words = capstone.assemble(**p, limits=limits)
    assert words.shape == (len(limits), limit)
    losses = capstone.assemble(**{**p, "target": words})
    for word in range(2, len(p["W_o"])):
        for step in range(limit):
            changed = words.clone()
            changed[:, step] = torch.where(words[:, step] == 0, 0, word)
            others = capstone.assemble(**{**p, "target": changed})[:, step]
            assert (others >= losses[:, step] - 1e-9).all()


@given(translator_inputs())
def test_what_follows_stop_or_a_limit_is_0_and_limits_hold_sentence_by_sentence(p):
    limits = torch.arange(1, len(p["source"]) + 1)
    free = capstone.assemble(**p, limits=torch.full_like(limits, len(limits)))
    bounded = capstone.assemble(**p, limits=limits)
    places = torch.arange(len(limits))
    assert torch.equal(bounded, torch.where(places < limits[:, None], free, 0))
    assert not bounded.eq(1).any()
    for row in free.tolist():
        end = row.index(2) + 1 if 2 in row else len(row)
        assert all(row[:end])
        assert not any(row[end:])


@given(translator_inputs())
def test_gradients_reach_every_parameter_of_the_assembled_translator(p):
    parameters = {name: tensor.requires_grad_() for name, tensor in p.items() if tensor.is_floating_point()}
    capstone.assemble(**p).sum().backward()
    assert len(parameters) == 14
    assert all(parameter.grad.any() for parameter in parameters.values())


@pytest.mark.parametrize("registered", [(), (2, 3)])
def test_parameters_that_are_not_registered_or_misshapen_cannot_be_loaded(registered):
    module = torch.nn.Module()
    if registered:
        module.W = torch.nn.Parameter(torch.zeros(registered))
    with pytest.raises(RuntimeError, match=r"\bW\b"):
        capstone.run_translator(module, {"W": torch.zeros(3, 2)}, None, None, None)


SENTENCES = st.lists(st.lists(st.integers(3, 5), max_size=9), min_size=4, max_size=4)


@given(SENTENCES, st.integers(0, 9))
def test_what_follows_the_stop_token_or_pads_a_target_changes_no_bleu(sentences, after):
    ours, theirs = sentences[:2], sentences[2:]
    ends = [np.array([[*s, 2, *[word] * (11 - len(s))] for s in half]) for half, word in ((ours, after), (theirs, 0))]
    tight = [np.array([[*s, 2, *[word] * (9 - len(s))] for s in half]) for half, word in ((ours, 2), (theirs, 0))]
    assert language.corpus_bleu(*ends) == language.corpus_bleu(*tight)
    assert language.corpus_bleu(ends[0][::-1], ends[1][::-1]) == pytest.approx(language.corpus_bleu(*ends))


@given(SENTENCES)
def test_no_sequence_is_found_more_often_than_it_occurs_in_the_target(sentences):
    rows = [np.array([[*s, 2, *[0] * (9 - len(s))]]) for s in sentences]
    ours, theirs = sentences[0], sentences[1]
    product = 1.0
    for size in range(1, 5):
        left = [theirs[i : i + size] for i in range(len(theirs) - size + 1)]
        written = [ours[i : i + size] for i in range(len(ours) - size + 1)]
        found = 0
        for sequence in written:
            if sequence in left:
                left.remove(sequence)
                found += 1
        product *= found / max(1, len(written))
    brevity = min(1.0, math.exp(1 - len(theirs) / max(1, len(ours))))
    assert language.corpus_bleu(rows[0], rows[1]) == pytest.approx(100 * brevity * product**0.25)


def test_a_noun_at_a_step_that_was_not_taken_is_missed_also_at_the_first_source_word():
    positions = np.array([[0, -1, 0]])
    taken = np.array([[[0.7, 0.3], [0.4, 0.6], [0.9, 0.1]]])
    assert language.noun_alignment(taken, positions) == 1
    stopped = taken * np.array([1, 1, 0])[:, None]
    assert language.noun_alignment(stopped, positions) == language.noun_alignment(taken[:, :2], positions) == 0.5


MODELS = {
    "capstone": (capstone.translate_with_weights, capstone.measure_translations, "noun_alignment", 0.95),
    "own": (capstone.translate_with_own, capstone.measure_own, "bleu", 99),
}


def in_bytes(model):
    file = io.BytesIO()
    capstone.save_weights(model, file)
    return np.frombuffer(file.getvalue(), dtype=np.uint8)


@pytest.mark.suite("assignments")
@pytest.mark.parametrize("name", MODELS)
def test_with_the_weights_that_it_trained_it_translates_what_it_has_not_seen(name):
    translate, measure, other, least = MODELS[name]
    arrays = capstone.unseen_sentences(seed=11)
    assert len(arrays["source"]) >= 500
    measured = measure(translate(in_bytes(load_trained(name)), arrays["source"], arrays["lengths"]), arrays)
    assert measured["exact_match"] >= 0.99
    assert measured[other] >= least


def random_parameters(seed=0):
    torch.manual_seed(seed)
    return {name: 0.1 * torch.randn(shape) for name, shape in capstone.OWN_SHAPES.items()}


def test_without_a_batch_assemble_returns_the_module_with_these_parameters_and_they_can_learn():
    parameters = random_parameters()
    translator = capstone.assemble(None, None, None, **parameters)
    named = dict(translator.named_parameters())
    assert named.keys() == parameters.keys() == {*capstone.OWN_SHAPES}
    batch = capstone.as_tensors(language.draw_sentences(5, seed=1))
    logits = translator(batch["source"], batch["source"] != language.PAD, batch["target"])
    loss = capstone.translation_loss(logits, batch["target"])
    assert loss.item() == pytest.approx(math.log(32), rel=0.02)
    losses = capstone.assemble(batch["source"], batch["source"] != language.PAD, batch["target"], **parameters)
    assert loss.item() == pytest.approx((losses.sum() / (batch["target"] != language.PAD).sum()).item(), rel=1e-5)
    loss.backward()
    for name, parameter in named.items():
        assert torch.equal(parameter, parameters[name])
        assert parameter.grad.abs().max() > 0, name


def test_from_zeros_nothing_but_the_bias_of_words_could_be_learned_and_there_is_none():
    translator = capstone.build_own()
    batch = capstone.as_tensors(language.draw_sentences(5, seed=1))
    logits = translator(batch["source"], batch["source"] != language.PAD, batch["target"])
    capstone.translation_loss(logits, batch["target"]).backward()
    assert all(not parameter.grad.any() for parameter in translator.parameters())


def test_the_translator_of_ones_own_is_trained_and_saved_with_the_parameters_of_assemble(tmp_path):
    path = tmp_path / "own.npz"
    losses = capstone.train_own(path, seed=3, steps=3, batch_size=4)
    assert len(losses) == 3
    with np.load(path) as arrays:
        assert {name: arrays[name].shape for name in arrays.files} == capstone.OWN_SHAPES
        parameters = {name: torch.from_numpy(arrays[name]) for name in arrays.files}
    assert not torch.allclose(parameters["W_o"], random_parameters(seed=3)["W_o"])
    batch = capstone.as_tensors(language.draw_sentences(9, seed=1))
    source, limits = batch["source"], torch.full_like(batch["lengths"], capstone.MAX_LENGTH)
    wanted = capstone.assemble(source, source != language.PAD, batch["target"], **parameters, limits=limits)
    value = capstone.translate_with_own(np.fromfile(path, dtype=np.uint8), source.numpy(), batch["lengths"].numpy())
    assert value["words"].tolist() == wanted.tolist()


def test_translations_that_are_too_short_are_measured_as_such():
    target = language.as_arrays(["tea with milk and rice and salt", "sun and moon and rain and wind"])["target"]
    words = target.copy()
    words[:, 6] = language.STOP  # six of eight words, and six of seven
    measured = capstone.measure_own({"words": words}, {"target": target})
    assert measured == {"exact_match": 0, "bleu": pytest.approx(100 * math.exp(1 - 15 / 12))}


def test_the_exercise_states_the_sizes_of_the_translator():
    text = " ".join(chapter_texts(BOOK / "capstone.md")[1]["capstone-train_own"].body.split())
    sizes = capstone.EMBEDDING_SIZE, {capstone.HIDDEN_SIZE, capstone.QUERY_SIZE, capstone.ATTENTION_SIZE}
    assert sizes == (32, {48})
    assert "Word vectors have size 32; all states and the attention layer have size 48." in text
