"""The drawing of the whole model: it shows the weights and scores it is given, and its rows lead to their chapters."""

import importlib
import re

import pytest

from autograder.paths import ROOT
from solutions.in_numpy.capstone import HELD_OUT
from tests.book.test_inline_svg import parts_of, pictures, texts_of  # noqa: F401

WEIGHTS = [[0.05, 0.1, 0.85], [0.15, 0.6, 0.25], [0.3, 0.4, 0.3], [0.98, 0.01, 0.01], [0.35, 0.2, 0.45]]
SCORES = [[-1.0, 0.5, 4.0], [1.0, 2.0, 1.5], [1.0, 1.0, 1.0], [3.0, -2.0, -2.0], [0.5, 0.25, 0.75]]
WRITTEN = ["तर्क", "के", "साथ", "कारण", "STOP"]
ROWS = ["words", "annotations", "scores", "weights", "context", "state", "word"]


@pytest.fixture
def module(pictures):  # noqa: F811
    """The module as a page imports it."""
    return importlib.import_module("figures.whole_model")


@pytest.fixture(params=["WIDE", "NARROW"])
def layout(request, module):
    """The layout for a wide window, and that for a phone."""
    return getattr(module, request.param)


@pytest.fixture
def drawn(module, layout):
    """The drawing in this layout, as SVG."""
    return parts_of(module.draw_whole_model(HELD_OUT.split(), WRITTEN, SCORES, WEIGHTS))[layout.name]


def sizes(drawn, path):
    """Return the sizes in ``path`` of what is drawn in the colour of each of the three words."""
    return [
        [float(size) for size in re.findall(rf'<path d="{path}" style="fill:var\(--figure-{tone}\)["; ]', drawn)]
        for tone in (1, 2, 3)
    ]


def test_a_bar_of_the_whole_model_is_as_wide_as_its_weight_and_those_too_small_to_see_are_left_out(drawn, layout):
    for widths, of_a_word in zip(sizes(drawn, r"M\S+ \S+h([\d.]+)v14h\S+z"), zip(*WEIGHTS, strict=True), strict=True):
        wanted = [layout.bar * weight for weight in of_a_word if weight >= 0.03]
        assert widths == pytest.approx(wanted, abs=0.05)


def test_a_bar_of_the_scores_is_as_high_as_its_score(drawn):
    heights = sizes(drawn, r"M\S+ \S+h[\d.]+v([\d.]+)h\S+z")
    bars = [[height for height in of_a_word if height != 14] for of_a_word in heights]
    for seen, of_a_word in zip(bars, zip(*SCORES, strict=True), strict=True):
        assert seen == pytest.approx([48 * abs(score) / 4 for score in of_a_word], abs=0.05)


def test_a_bar_of_the_scores_stands_on_the_line_at_0_or_hangs_from_it(drawn, layout):
    tops, heights = (
        sizes(drawn, rf"M\S+ {top}h[\d.]+v{height}h\S+z")
        for top, height in ((r"([\d.]+)", r"(?!14h)[\d.]+"), (r"[\d.]+", r"(?!14h)([\d.]+)"))
    )
    for places, lengths, of_a_word in zip(tops, heights, zip(*SCORES, strict=True), strict=True):
        for top, height, score in zip(places, lengths, of_a_word, strict=True):
            assert (top + height if score > 0 else top) == pytest.approx(layout.zero, abs=0.05)


def test_a_ribbon_leads_from_each_annotation_to_the_bars_and_from_the_bars_to_the_context(drawn):
    ribbons = re.findall(r'<path d="M\S+ \S+C[^"]*z" style="fill:var\(--figure-[123]\);fill-opacity', drawn)
    assert len(ribbons) == 2 * sum(weight >= 0.03 for row in WEIGHTS for weight in row)


def test_the_whole_model_shows_every_word_annotation_context_and_state(drawn):
    symbols = {f"h{j}" for j in range(1, 4)} | {f"{name}{i}" for i in range(1, 6) for name in "cs"}
    assert symbols | {*HELD_OUT.split(), "START", "s0", *WRITTEN} <= set(texts_of(drawn))


def test_every_row_of_the_whole_model_leads_to_its_page(drawn):
    links = {re.sub("<[^>]+>", "", inner): page for page, inner in re.findall(r'<a href="([^"]+)">(.*?)</a>', drawn)}
    assert list(links) == ROWS
    for page in links.values():
        assert (ROOT / "book" / page.partition(".html")[0]).with_suffix(".md").is_file()
