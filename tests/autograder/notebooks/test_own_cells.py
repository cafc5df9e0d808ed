"""The text of an exercise states each number that varies, so that a student's own can replace it."""

from functools import cache

import pytest

from autograder.errors import CourseError
from autograder.exercises.own_numbers import book_numbers, draw_numbers, flatten
from autograder.notebooks.assemble import load_chapter
from autograder.notebooks.own_cells import find_places
from autograder.paths import BOOK
from tests.autograder.exercises.toys import toy_topic
from tests.autograder.samples import WITH_OWN_NUMBERS, exercise_named


@cache
def text_of(name):
    _, texts = load_chapter(name.split("-")[0], BOOK)
    return texts[name].body


def fill_in(pieces, numbers):
    return "".join(piece if isinstance(piece, str) else f"{numbers[piece]:g}" for piece in pieces)


@pytest.mark.parametrize("name", WITH_OWN_NUMBERS)
def test_the_text_of_the_book_states_each_number_once_more_with_the_numbers_of_a_student(name):
    exercise, text = exercise_named(name), text_of(name)
    book = book_numbers(exercise.entry)
    flat = [number for numbers in book.values() for number in flatten(numbers)]
    pieces = find_places(exercise, text, book)
    assert {piece for piece in pieces if isinstance(piece, int)} == set(range(len(flat)))
    assert fill_in(pieces, flat) == text
    assert fill_in(pieces, draw_numbers(exercise.entry, 0)) != text


TEXT = r"With $s = (0.5, -0.2)$, $A = \begin{pmatrix} 0.3 & 1 \\ -0.4 & 2.5 \end{pmatrix}$, $(0.5, -0.2, 3)$ and 4 & 0.3 & 1."


def test_a_row_is_not_found_in_a_longer_one(tmp_path, monkeypatch):
    exercise = toy_topic(tmp_path, monkeypatch)
    pieces = find_places(exercise, TEXT, book_numbers(exercise.entry))
    filled = fill_in(pieces, (0.4, -0.3, 0.2, 1.0, -0.6, 3.5))
    assert filled == TEXT.replace("(0.5, -0.2)", "(0.4, -0.3)").replace("{pmatrix} 0.3", "{pmatrix} 0.2").replace(
        "-0.4 & 2.5", "-0.6 & 3.5"
    )


@pytest.mark.parametrize(
    ("old", "what"), [("(0.5, -0.2)", r"\[0.5, -0.2\] of query"), ("0.4 &", r"\[-0.4, 2.5\] of keys")]
)
def test_a_text_that_lacks_one_of_the_numbers_is_refused_with_its_line(tmp_path, monkeypatch, old, what):
    exercise = toy_topic(tmp_path, monkeypatch)
    message = rf"{exercise.entry.topic}\.toml, line 2, .*does not state the numbers {what}.*\n  Remedy: write them"
    with pytest.raises(CourseError, match=message):
        find_places(exercise, TEXT.replace(old, "0.7"), book_numbers(exercise.entry))
