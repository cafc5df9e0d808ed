"""The drawing of how a gradient reaches the scores: its arrows and words are those of the reference."""

import importlib

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.patches import FancyArrowPatch

from solutions.answer_key import worked_example
from solutions.in_numpy.context import context_vector, scores_gradient
from tests.book.test_inline_svg import pictures  # noqa: F401

EXAMPLE = worked_example("context-scores_gradient").inputs
WEIGHTS, KEYS, G = (EXAMPLE[name][0] for name in ("weights", "keys", "context_gradient"))
GRADIENT = scores_gradient(**EXAMPLE)[0]


@pytest.fixture
def axes(pictures):  # noqa: F811
    """The axes of the drawing."""
    importlib.import_module("figures.pulls").draw_pulls(KEYS, WEIGHTS, G, GRADIENT)
    return plt.gca()


def test_each_arrow_is_the_change_of_the_context_with_a_score(axes):
    context = context_vector(WEIGHTS[None], KEYS[None])[0]
    drawn = [patch._posA_posB for patch in axes.patches if isinstance(patch, FancyArrowPatch)]
    pulls = np.array([end - np.asarray(start) for start, end in drawn])
    for start, _ in drawn:
        np.testing.assert_allclose(start, context)
    np.testing.assert_allclose(pulls[:3] @ G, GRADIENT)  # the chain rule
    assert pulls[3] / np.linalg.norm(pulls[3]) == pytest.approx(-G / np.linalg.norm(G))


def test_a_score_whose_rise_lowers_the_loss_is_raised_and_its_derivative_is_shown(axes):
    texts = [text.get_text() for text in axes.texts]
    for j, slope in enumerate(GRADIENT, start=1):
        assert f"$h_{j}$: {'raise' if slope < 0 else 'lower'} $e_{j}$" in texts
        assert f"$∂L/∂e_{j}$ = {slope:.2f}".replace("-", "\N{MINUS SIGN}") in texts


def test_an_annotation_is_on_shaded_ground_if_its_score_is_raised(axes):
    (ground,) = (collection.get_paths()[0] for collection in axes.collections)
    assert [ground.contains_point(key) for key in KEYS] == [slope < 0 for slope in GRADIENT]
