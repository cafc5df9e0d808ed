"""Make the cell that shows an exercise with a student's own numbers.

In: an exercise, its text, its draws. Out: the source of the cell. Pure.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from autograder.errors import CourseError
from autograder.exercises import Exercise
from autograder.exercises.own_numbers import Flat, book_numbers
from autograder.exercises.packing import compress

BETWEEN = r"(?:\s|,|&|\\\\|\\,|\$|\band\b)+"  # between two numbers of a vector or a row in a text
START, END = r"(?<!& )(?<!\d, )", r"(?!\s*&|,\s*-?\d)"  # of a vector or a row: no further number before or after


def question_source(exercise: Exercise, text: str, draws: Sequence[Flat]) -> str:
    """Return the source of the cell that shows ``text``, the question of ``exercise``, with each student's own numbers."""
    pieces = find_places(exercise, text, book_numbers(exercise.entry))
    data = {
        "exercise": exercise.name,
        "text": pieces,
        "numbers": [[f"{number:g}" for number in draw] for draw in draws],
    }
    note = "# This exercise, with your own numbers: run this cell to read it."
    return f'{note}\nchecks.show_question(student_id, "{compress(json.dumps(data, ensure_ascii=False))}")'


def find_places(exercise: Exercise, text: str, book: Mapping[str, Any]) -> list[str | int]:
    """Return ``text`` in pieces, with each number of ``book`` replaced by its index as an integer, counting from 0.

    Raises ``CourseError`` if the text does not state one of the vectors or rows, or two are the same.
    """
    places: dict[int, tuple[int, int]] = {}  # start of a number -> its end, its index
    count, seen = 0, []
    for name, numbers in book.items():
        for row in _rows(numbers):
            matches = list(re.finditer(f"{START}{BETWEEN.join(map(_number_pattern, row))}{END}", text))
            if not matches or row in seen:
                what = "states twice" if row in seen else "does not state"
                raise CourseError(
                    f"the text of {exercise.name} {what} the numbers {row} of {name}, for which students get different ones",
                    exercise.entry.where,
                    "write them in the text as in the reference, or take the variable out of `own`.",
                )
            seen.append(row)
            for match in matches:
                places |= {match.start(n + 1): (match.end(n + 1), count + n) for n in range(len(row))}
            count += len(row)
    pieces: list[str | int] = []
    end = 0
    for start, (stop, number) in sorted(places.items()):
        pieces += [text[end:start], number]
        end = stop
    return [*pieces, text[end:]]


def _rows(numbers):
    return [row for item in numbers for row in _rows(item)] if isinstance(numbers[0], list) else [numbers]


def _number_pattern(number):
    whole, _, decimals = f"{number:g}".partition(".")
    return rf"(?<![\d.\w-])({re.escape(whole)}{rf'[.]{decimals}0*' if decimals else r'(?:[.]0+)?'})(?![\d.]*\d)"
