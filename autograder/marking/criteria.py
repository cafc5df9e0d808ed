"""Carry marks over to criteria that have changed since they were given: say whose marks would move, then move them.

In: the current criteria of a written question. Out: the marks that move. The question's record says by which criteria
its marks were given. Writes the record and, once a person has decided, the gradebook.
"""

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import asdict, replace

from autograder.courses.course import Course
from autograder.courses.plan import Selection
from autograder.gradebook.provenance import MarkingRecord, change_marking_record, load_given
from autograder.marking.answers import CurrentMark, NewMark, load_answers, save_marks
from solutions.answer_key import Criterion


class MovesChanged(Exception):
    """The marks or the criteria differ from what a person has seen."""


def normalise_criteria(criteria: Sequence[Criterion]) -> list[Criterion]:
    """Return ``criteria`` with each comment on one line, as in the gradebook."""
    return [
        replace(criterion, points=float(criterion.points), comment=" ".join(criterion.comment.split()))
        for criterion in criteria
    ]


def find_moves(
    course: Course, topic: str, exercise: str, criteria: Sequence[Criterion], only: Selection = None
) -> list[NewMark]:
    """Return the marks that ``criteria`` would change; with ``only``, those of these students.

    The ``criteria`` are those of this exercise from now on, and the record says whose marks are still to be decided on.
    """
    with change_marking_record(course, topic, exercise) as record:
        if record.criteria and record.criteria != list(criteria):
            for answer in load_answers(course, topic, exercise):
                before = record.undecided.setdefault(answer.student, record.criteria)
                if carry_over(answer.held, before, criteria) == answer.held:
                    del record.undecided[answer.student]
        record.criteria = list(criteria)
        moves = _list_moves(record, course, topic, exercise, only)
        for student in {*select_undecided(record, only)} - {answer.student for answer, _ in moves}:
            del record.undecided[student]  # has been marked again since
    return moves


def settle_moves(
    course: Course,
    topic: str,
    exercise: str,
    seen: str,
    is_wanted: bool,
    only: Selection = None,
) -> list[NewMark]:
    """If ``is_wanted``, move the marks that the criteria would move, else leave all as they are; return the moved ones.

    With ``only``, this decides on the marks of these students. ``seen`` is what ``hash_moves`` returned. Raises
    ``MovesChanged`` if the moves are different now, ``AnswersChanged`` or ``CourseError`` as ``save_marks`` does.
    """
    with change_marking_record(course, topic, exercise) as record:
        moves = _list_moves(record, course, topic, exercise, only)
        if hash_moves(moves) != seen:
            raise MovesChanged
        if is_wanted:
            given = load_given(course, topic, exercise)
            save_marks(course, topic, exercise, moves, {student: mark.marker for student, mark in given.items()})
        for answer, _ in moves:
            del record.undecided[answer.student]
    return moves if is_wanted else []


def select_undecided(record: MarkingRecord, only: Selection) -> list[str]:
    """Return the students in ``only`` on whose marks somebody has yet to decide."""
    return [student for student in record.undecided if only is None or student in only]


def hash_moves(moves: Sequence[NewMark]) -> str:
    """Return a hash of ``moves`` as a person sees them."""
    state = [[answer.student, answer.seen, asdict(after)] for answer, after in moves]
    return hashlib.sha256(json.dumps(state).encode()).hexdigest()[:32]


def carry_over(held: CurrentMark, before: Sequence[Criterion], now: Sequence[Criterion]) -> CurrentMark:
    """Return the mark ``held``, given by the criteria ``before``, as the criteria ``now`` would give it.

    A criterion is recognised by its text, or else by its comment. A new one counts as missed, and the answer waits until
    a person has looked at it. Points that are not the sum of the criteria met were chosen by a person, and stay.
    """
    lines = [line for line in (held.comment or "").split("\n") if line.strip()]
    met = [criterion for criterion in before if criterion.comment not in lines]
    if held.points is None or not math.isclose(held.points, _sum_points(met), abs_tol=1e-6):
        return held
    origins = [_find_origin(criterion, before) for criterion in now]
    still_met = [criterion for criterion, origin in zip(now, origins, strict=True) if origin in met]
    own = [line for line in lines if line not in {criterion.comment for criterion in before}]
    comments = [*(criterion.comment for criterion in now if criterion not in still_met), *own]
    if sorted(comments) == sorted(lines):  # the same comments in another order
        comments = lines
    return CurrentMark(_sum_points(still_met), held.waiting or None in origins, "\n".join(comments) or None)


def _find_origin(criterion, before):
    by_text = [earlier for earlier in before if earlier.text == criterion.text]
    by_comment = [earlier for earlier in before if earlier.comment == criterion.comment]
    return next(iter([*by_text, *by_comment]), None)


def _sum_points(criteria):
    return round(sum(float(criterion.points) for criterion in criteria), 6)


def _list_moves(record, course, topic, exercise, only):
    students = frozenset(select_undecided(record, only))
    moves = [
        (answer, carry_over(answer.held, record.undecided[answer.student], record.criteria))
        for answer in (load_answers(course, topic, exercise, students) if students else ())
    ]
    return sorted((move for move in moves if move[1] != move[0].held), key=lambda move: move[0].student)
