"""The drawing of the whole model: it shows the weights it is given, and its parts lead to their chapters."""

import importlib
import re

import matplotlib.pyplot as plt
import pytest

from autograder.paths import ROOT
from solutions.in_numpy.capstone import HELD_OUT
from tests.book.test_inline_svg import parts_of, pictures, texts_of  # noqa: F401

WEIGHTS = [[0.05, 0.1, 0.85], [0.15, 0.6, 0.25], [0.3, 0.4, 0.3], [1.0, 0.0, 0.0], [0.35, 0.2, 0.45]]
WRITTEN = ["तर्क", "के", "साथ", "कारण", "STOP"]


@pytest.fixture
def drawn(pictures):  # noqa: F811
    """The drawing as SVG."""
    importlib.import_module("figures.whole_model").draw_whole_model(HELD_OUT.split(), WRITTEN, WEIGHTS)
    (part,) = parts_of(pictures.as_svg(plt.gcf())).values()
    return part


def test_the_whole_model_has_a_cell_for_each_weight_in_the_colour_of_its_word(drawn):
    for tone, of_a_word in enumerate(zip(*WEIGHTS, strict=True), start=1):
        shades = re.findall(rf'<path [^>]*fill:var\(--figure-{tone}\);opacity:([\d.]+)"', drawn)
        assert [float(shade) for shade in shades] == [weight for weight in of_a_word if 0 < weight < 1]


def test_the_whole_model_shows_every_word_annotation_context_and_state(drawn):
    symbols = {f"h{j}" for j in range(1, 4)} | {f"{name}{i}" for i in range(1, 6) for name in "cs"}
    assert symbols | {*HELD_OUT.split(), "START", *WRITTEN} <= set(texts_of(drawn))


def test_every_part_of_the_whole_model_leads_to_a_page(drawn):
    links = {re.sub("<[^>]+>", "", inner): page for page, inner in re.findall(r'<a href="([^"]+)">(.*?)</a>', drawn)}
    assert list(links) == ["annotations", "weights", "scores", "context", "state", "word"]
    for page in links.values():
        assert (ROOT / "book" / page.partition(".html")[0]).with_suffix(".md").is_file()
