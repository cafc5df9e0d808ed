"""Clauses describe a change to the reference in words that students know."""

import ast

import pytest

from autograder.exercises.ast_utils import parse_function, slots
from autograder.exercises.clauses import (
    describe_variable,
    format_clause,
    join_names,
    mutate_all,
    mutation_from_rewrite,
    name_variable,
)
from autograder.exercises.instrumentation import Node
from autograder.exercises.mutation_operators import Rewrite
from autograder.exercises.perturbations import CallContext, Perturbation

TEXT = "query, keys and W_x are given"


@pytest.mark.parametrize(
    ("subject", "verb"),
    [
        ("W_x", "is"),
        ("keys", "are"),
        ("the masked scores", "are"),
        ("the projected queries", "are"),
        ("the mask of scores", "is"),
        ("the mean of the rows, pads included", "is"),
        ("all steps", "are"),
        ("bias", "is"),
    ],
)
def test_the_verb_is_that_of_what_is_spoken_of(subject, verb):
    assert format_clause("{it} {is} squared", subject) == f"{subject} {verb} squared"


def test_a_variable_is_called_what_the_course_calls_it_or_by_its_name_or_not_at_all():
    assert describe_variable("kept", TEXT) == "the masked scores"
    assert describe_variable("keys", TEXT) == "keys"
    assert describe_variable("helper", TEXT) == ""
    assert describe_variable("", TEXT) == "your result"
    assert (name_variable("W_q", TEXT), name_variable("s", TEXT), name_variable("helper", TEXT)) == ("W_q", "s", "")
    assert name_variable("up", TEXT) == ""
    assert join_names(["query", "helper", "kept"], TEXT) == "query and the masked scores"


def test_a_perturbation_is_done_to_each_of_its_nodes_and_keeps_what_it_does_not_fit():
    double = Perturbation("{it} {is} doubled", lambda value, context: 2 * value if value else None, rare=True)
    mutation = mutate_all([Node(3, "value", "x"), Node(5, "value", "y")], double, "all steps", 4)
    changes = mutation.changes(CallContext({}, {}))
    assert (mutation.clause, mutation.rank, mutation.rare) == ("all steps are doubled", 4, True)
    assert {number: (change(2), change(0)) for number, change in changes.items()} == {3: (4, 0), 5: (4, 0)}


def clause_of(body, part, clause, kind="code"):
    definition = parse_function(f"def f(query, keys, W_x):\n    {body}\n    return 0")
    slot = next(slot for slot in slots(definition) if ast.unparse(slot.node) == part)
    mutation = mutation_from_rewrite(slot, Rewrite("", None, clause, 5), kind, TEXT)
    return mutation and mutation.clause


SUM, MISSING, OF = "kept = query + keys @ W_x", "a step{where} is missing", "a number of {of}"
CLAUSES = {
    "operands": (
        SUM,
        "query + keys @ W_x",
        "the term with {right} is missing",
        "the term with keys and W_x is missing",
    ),
    "what it is part of": (SUM, "query", MISSING, "a step in the computation of the masked scores is missing"),
    "what has no name": ("helper = query", "query", MISSING, "a step is missing"),
    "a helper": ("x = helper + query", "helper + query", "the term with {left} is missing", None),
    "a number of a helper": ("helper = 3.5", "3.5", OF, None),
    "a number": ("W_x = query[3] * 2", "2", OF, "a number of W_x"),
    "an index": ("W_x = query[3] * 2", "3", OF, None),
    "an axis": ("W_x = query.sum(axis=7)", "7", OF, None),
}


@pytest.mark.parametrize(("body", "part", "clause", "expected"), CLAUSES.values(), ids=CLAUSES)
def test_a_clause_speaks_of_operands_and_numbers_and_is_not_told_of_what_no_student_knows(body, part, clause, expected):
    assert clause_of(body, part, clause) == expected


def test_in_an_exercise_of_numbers_any_step_has_some():
    assert clause_of("helper = 3.5", "3.5", OF, "number") == "a number of a step"
