"""The landing page prints what training its small model gives."""

import ast
import re

import numpy as np
import pytest
import torch

from autograder.paths import ROOT
from benchmarks import one_sentence
from solutions.in_numpy.context import context_vector
from solutions.in_numpy.decoder_fusion import decoder_step_state
from solutions.in_numpy.output_layer import output_distribution
from solutions.in_numpy.scoring import additive_score
from solutions.in_numpy.softmax import softmax

pytestmark = [pytest.mark.suite("solutions"), pytest.mark.slow]
PRINTED = re.compile(r"^model = (\{\n.*?\n\})$", flags=re.MULTILINE | re.DOTALL)
PENCIL = re.compile(r"^## One step with a pencil$(.*?)^```\{code-cell", flags=re.MULTILINE | re.DOTALL)


def test_the_step_with_a_pencil_is_the_first_one_of_the_model():
    page = (ROOT / "book" / "intro.md").read_text(encoding="utf-8")
    p = {name: np.array(numbers) for name, numbers in ast.literal_eval(PRINTED.search(page)[1]).items()}
    s, H, start = p["state"][None], p["keys"][None], np.eye(len(p["W_state"]))[:1]
    scores = additive_score(s, H, p["W_query"], p["W_key"], p["v"])
    weights = softmax(scores)
    context = context_vector(weights, H)
    state = decoder_step_state(start, s, context, p["W_y"], p["W_s"], p["W_c"])
    words = output_distribution(state, context, p["W_state"], p["W_context"], np.zeros(len(p["W_state"])))
    results = [scores, weights, context, state, words[:, :1]]
    query, keys = s @ p["W_query"].T, H @ p["W_key"].T
    parts = [p["W_y"][:, :1].T, s @ p["W_s"].T, context @ p["W_c"].T]
    logits = state @ p["W_state"].T + context @ p["W_context"].T
    shown = np.exp(scores)
    known = [*p.values(), query, keys, query + keys, shown, shown.sum(), *parts, sum(parts), logits, *results]
    written = {float(number) for number in re.findall(r"\d+\.\d+", PENCIL.search(page)[1])}
    assert written <= _rounded(known)
    assert _rounded(results) <= written


def _rounded(arrays):
    """Return the absolute values of all entries of some arrays, rounded as on the page."""
    return {round(abs(float(x)), 4) for array in arrays for x in np.ravel(array)}


def test_the_page_prints_what_the_training_gives():
    page = (ROOT / "book" / "intro.md").read_text(encoding="utf-8")
    model = one_sentence.train()
    assert ast.literal_eval(PRINTED.search(page)[1]) == one_sentence.printed_parameters(model)
    logits, weights = model()
    assert logits.argmax(dim=1).tolist() == list(range(one_sentence.WORDS))
    assert torch.softmax(logits, dim=1).diagonal().min() > 0.75
    assert weights[: len(one_sentence.LOOKS)].argmax(dim=1).tolist() == one_sentence.LOOKS
