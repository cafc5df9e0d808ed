"""The drawing of the encoder: what it says a state has read is what the state of the reference depends on."""

import importlib

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.patches import FancyArrowPatch

from solutions.answer_key import worked_example
from solutions.in_numpy.encoder import bidirectional_annotations
from tests.book.test_inline_svg import pictures  # noqa: F401

WORDS = ["reason", "with", "logic"]


@pytest.fixture
def module(pictures):  # noqa: F811
    """The drawing's module; the drawing is the current figure."""
    module = importlib.import_module("figures.both_directions")
    module.draw_both_directions(WORDS)
    return module


def dots_of(axes, y):
    """Return whether each of the dots just below y is filled, a row for each of three columns."""
    row = [line for line in axes.lines if y - 0.35 < line.get_ydata()[0] < y]
    row.sort(key=lambda line: line.get_xdata()[0])
    return np.array([line.get_markerfacecolor() != "none" for line in row]).reshape(3, 3)


def test_a_filled_dot_is_a_word_on_which_the_state_of_the_reference_depends(module):
    inputs = worked_example("encoder-annotate").inputs
    size = len(inputs["W_h"])
    rng = np.random.default_rng(0)
    embedded = rng.normal(size=(1, 3, inputs["embedded"].shape[-1]))
    given = inputs | {"embedded": embedded, "source_mask": np.ones((1, 3), dtype=bool)}
    before, depends = bidirectional_annotations(**given), []
    for k in range(3):
        changed = embedded + 0.1 * np.eye(3)[None, k, :, None]
        depends.append((bidirectional_annotations(**given | {"embedded": changed}) != before)[0])
    depends = np.array(depends)  # word changed, annotation, entry
    axes = plt.gca()
    for half, state, in_annotation in (
        (slice(size), module.FORWARD, 0.31),
        (slice(size, None), module.BACKWARD, -0.31),
    ):
        wanted = depends[..., half].any(axis=-1).T
        np.testing.assert_array_equal(dots_of(axes, state), wanted)
        np.testing.assert_array_equal(dots_of(axes, in_annotation), wanted)


def test_states_lead_to_the_next_one_in_their_direction(module):
    drawn = [patch for patch in plt.gca().patches if isinstance(patch, FancyArrowPatch)]
    moves = [(patch.get_path().vertices[0], patch.get_path().vertices[2]) for patch in drawn]
    between = {(round(float(y), 2), bool(to > x)) for (x, y), (to, _) in moves if abs(to - x) > 0.3}
    assert between == {(module.FORWARD, True), (module.BACKWARD, False)}
