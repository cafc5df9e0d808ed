"""The drawing of a padded batch: its bars are as high as their weights, and its dots are the mask."""

import importlib

import matplotlib.pyplot as plt
import numpy as np
import pytest

from solutions.in_numpy.softmax import masked_softmax, softmax
from tests.book.test_inline_svg import pictures  # noqa: F401

SENTENCES = [["reason", "with", "logic"], ["tea"], ["milk", "and"]]
SCORES = np.random.default_rng(0).normal(size=(3, 3))
MASK = np.arange(3) < np.array([[len(sentence)] for sentence in SENTENCES])


@pytest.fixture
def drawing(pictures):  # noqa: F811
    """The module and the axes of the drawing."""
    module = importlib.import_module("figures.padded_batch")
    module.draw_padded_batch(SENTENCES, softmax(SCORES), masked_softmax(SCORES, MASK))
    return module, plt.gca()


def test_two_bars_stand_above_each_position_as_high_as_its_weights(drawing):
    module, axes = drawing
    bars = [patch for patch in axes.patches if patch.get_width() == module.BAR]
    heights = np.array([bar.get_height() for bar in bars]).reshape(3, 3, 2) / module.HEIGHT
    np.testing.assert_allclose(heights[..., 0], softmax(SCORES))
    np.testing.assert_allclose(heights[..., 1], masked_softmax(SCORES, MASK))
    filled = np.array([bar.get_facecolor()[3] > 0 for bar in bars]).reshape(3, 3, 2)
    assert not filled[..., 0].any()
    assert filled[..., 1].all()


def test_a_dot_is_filled_and_named_by_its_word_where_the_mask_is_true(drawing):
    _, axes = drawing
    dots = [line.get_markerfacecolor() != "none" for line in axes.lines[2:]]  # without those of the legend
    np.testing.assert_array_equal(np.reshape(dots, (3, 3)), MASK)
    names = [text.get_text() for text in axes.texts if text.get_text().islower() or text.get_text() == "(pad)"]
    wanted = [word for words in SENTENCES for word in [*words, "(pad)", "(pad)"][:3]]
    assert names[-9:] == wanted


def test_a_masked_weight_is_written_as_exactly_zero(drawing):
    _, axes = drawing
    numbers = [text.get_text() for text in axes.texts if text.get_text()[0].isdigit()]
    assert numbers.count("0") == (~MASK).sum()
    assert "0.00" not in numbers
