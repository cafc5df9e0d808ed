"""What is drawn while the book is built: arrows lead where the text says, and moving figures have a first view."""

import importlib
import re

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.patches import FancyArrowPatch

from autograder.paths import ROOT


@pytest.fixture
def drawings(monkeypatch):
    """The module as a page imports it, and the book's style for the duration of a test."""
    monkeypatch.syspath_prepend(ROOT / "book")
    with plt.rc_context():
        importlib.import_module("figures.pictures").use_style()
        yield importlib.import_module("figures.drawings")
    plt.close("all")


def arrows(axes):
    """Return a pair of the nearest labels for each arrow: where it begins, and where it leads."""
    symbols = [text for text in axes.texts if text.get_text().startswith("$")]
    places = np.array([text.get_position() for text in symbols])

    def nearest(point):
        return symbols[np.linalg.norm(places - point, axis=1).argmin()].get_text().strip("$")

    paths = [np.asarray(patch.get_path().vertices) for patch in axes.patches if isinstance(patch, FancyArrowPatch)]
    return {(nearest(path[0]), nearest(path[2])) for path in paths}


def test_the_two_orders_differ_in_the_query_and_in_where_the_context_goes(drawings):
    _, panels = plt.subplots(1, 2, figsize=(9.4, 3.3))
    for axes, looks_first in zip(panels, (True, False), strict=True):
        drawings.draw_order(axes, "", looks_first)
    bahdanau, luong = (arrows(axes) for axes in panels)
    assert bahdanau & luong == {
        *[("s_{i-1}", "s_i"), ("s_i", "s_{i+1}")],
        *[("y_{i-1}", "s_i"), ("s_i", "y_i"), ("y_i", "s_{i+1}")],
    }
    assert bahdanau - luong == {("s_{i-1}", "c_i"), ("c_i", "s_i")}
    assert luong - bahdanau == {("s_i", "c_i"), ("c_i", "y_i"), ("c_i", "s_{i+1}")}


def test_the_first_view_of_a_figure_is_that_of_its_own_module(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "book")
    figures = importlib.import_module("figures.moving")
    data = {"W_o": [[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]], "words": ["tea", "milk"], "state": [1.0, 0.0, 0.0]}
    drawn = figures.moving("output_layer", "A title", data, "<p>The numbers.</p>").data
    rows = re.findall(r'<th scope="row">(\w+)</th><td>([\d.]+)<i .*?<td>([\d.]+)', drawn)
    assert rows == [("tea", "1.00", "0.73"), ("milk", "0.00", "0.27")]
    assert "Likeliest: tea, 0.73." in drawn
    assert "The numbers." in drawn  # which the picture does not state
    with pytest.raises(RuntimeError, match="the first view of <softmax-figure> cannot be drawn"):
        figures.moving("softmax", "A title", data, "")
