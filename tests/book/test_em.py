"""The drawing of EM: each table says how many iterations it took, and what the reference believes then."""

import importlib
from fractions import Fraction

import matplotlib.pyplot as plt
import numpy as np

from solutions.in_numpy.alignment import train_alignment_model
from tests.book.test_inline_svg import parts_of, pictures, texts_of  # noqa: F401

AT_AND_A = np.array([[5, 7], [5, 0]])  # any two letters, and any two phonemes


def believe(iterations):
    """Return the table after some iterations on two words: both letters with both phonemes, and the first with the first."""
    return train_alignment_model(AT_AND_A, AT_AND_A, iterations=iterations)[np.ix_(AT_AND_A[0], AT_AND_A[0])]


def test_the_first_iterations_are_those_that_the_text_works_out():
    np.testing.assert_allclose(believe(1), [[3 / 4, 1 / 4], [1 / 2, 1 / 2]])
    share = Fraction(3, 4) / (
        Fraction(3, 4) + Fraction(1, 2)
    )  # of the first letter in the first phoneme of the first word
    assert share == Fraction(3, 5)
    np.testing.assert_allclose(believe(2)[0, 0], (3 / 5 + 1) / (3 / 5 + 1 + 1 / 3))


def test_each_table_names_its_iterations_and_shows_its_numbers(pictures):  # noqa: F811
    figure, panels = plt.subplots(1, 2, figsize=(4.7, 1.7), sharey=True)
    tables = {0: np.full((2, 2), 0.5), 3: believe(3)}
    importlib.import_module("figures.em").draw_em(panels, tables, ["a", "t"], ["AE", "T"])
    (part,) = parts_of(pictures.as_svg(figure)).values()
    texts = texts_of(part)
    assert {"at first", "after 3"} < set(texts)
    assert texts.count("AE") == 2
    assert texts.count("a") == 1
    for weight in np.concatenate([table.ravel() for table in tables.values()]):
        assert f"{weight:.2f}" in texts
