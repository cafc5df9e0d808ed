"""The drawing of what a decoder may read: one vector, or as many as a sentence has words, all of one size."""

import importlib
from itertools import pairwise

import matplotlib.pyplot as plt
import pytest

from tests.book.test_inline_svg import pictures  # noqa: F401

LENGTHS = [3, 7, 50]


@pytest.fixture
def axes(pictures):  # noqa: F811
    """The axes of the drawing."""
    importlib.import_module("figures.memory").draw_memory(LENGTHS, entries=4)
    return plt.gca()


def test_each_sentence_has_one_fixed_vector_and_an_annotation_for_each_word(axes):
    rows = {}
    for vector in axes.patches:
        rows.setdefault(vector.get_y(), []).append(vector)
    counts = [len(vectors) for _, vectors in sorted(rows.items(), reverse=True)]
    assert counts == [1 + words for words in LENGTHS]
    assert len({(vector.get_width(), vector.get_height()) for vector in axes.patches}) == 1
    assert {f"{words} words" for words in LENGTHS} < {text.get_text() for text in axes.texts}


def test_thin_lines_divide_each_vector_into_its_entries(axes):
    lines = sorted(line.get_ydata()[0] for line in axes.lines)
    assert len(lines) == 3 * len(LENGTHS)
    vector = min(axes.patches, key=lambda each: each.get_y())
    parts = [each - vector.get_y() for each in lines[:3]]
    assert parts == pytest.approx([vector.get_height() * k / 4 for k in (1, 2, 3)])


def test_the_longest_sentence_has_room_on_a_phone_and_vectors_stand_apart(axes):
    lefts = sorted({vector.get_x() for vector in axes.patches})
    assert min(right - left for left, right in pairwise(lefts)) > axes.patches[0].get_width()
    assert lefts[-1] + axes.patches[0].get_width() <= axes.get_xlim()[1]
