"""The drawing of overfitting: its curves are the record's, and it stops where the validation loss is lowest."""

import importlib
import json

import matplotlib.pyplot as plt
import numpy as np
import pytest

from autograder.paths import ROOT
from tests.book.test_inline_svg import pictures  # noqa: F401

RECORD = json.loads((ROOT / "benchmarks" / "learning_curves.json").read_text(encoding="utf-8"))


@pytest.fixture
def curves(pictures):  # noqa: F811
    """Return what the capstone's picture draws: line -> its x and y."""
    (losses,) = (row["losses"] for row in RECORD["rates"] if row["rate"] == 0.012)
    _, axes = plt.subplots()
    importlib.import_module("figures.overfitting").draw_overfitting(
        axes, RECORD["rate_steps"], *zip(*losses, strict=True)
    )
    stop, training, validation, best = (np.transpose(line.get_xydata()) for line in axes.lines)
    np.testing.assert_array_equal([training[1], validation[1]], np.transpose(losses))
    return stop[0], training, validation, best[:, 0]


def test_the_curves_part_where_the_validation_loss_is_lowest(curves):
    stop, (steps, training), (_, validation), (best, lowest) = curves
    assert set(stop) == {best}
    assert lowest == validation.min()
    assert steps[0] < best < steps[-1]
    later = steps >= best
    assert (np.diff(training) < 0).all()
    assert (np.diff(validation[later]) > 0).all()
