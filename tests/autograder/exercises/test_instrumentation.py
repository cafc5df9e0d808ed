"""Intermediate values of a function can be recorded and changed."""

import pytest
import torch

from autograder import exercises
from autograder.exercises import compare
from autograder.exercises.instrumentation import InstrumentedFunction
from tests.autograder.samples import ENTRIES, NAMES, exercise_named

WORKED = [name for name in NAMES if ENTRIES[name].kind in ("code", "number")]
FEW = 6  # hidden cases per exercise

SOURCE = '''
def mix(x, y):
    """Mix two numbers."""
    total = x + double(y)
    first, second = total, -x
    for n in range(2):
        first = first * 2
    return {"first": first, "second": second}
'''


@pytest.fixture
def mix():
    return InstrumentedFunction(SOURCE, {"double": lambda number: 2 * number})


def numbers(function, kind, name):
    return [node.number for node in function.nodes if (node.kind, node.name) == (kind, name)]


def test_nodes_are_arguments_assigned_and_returned_values_operations_calls_and_uses(mix):
    assert [node.number for node in mix.nodes] == list(range(len(mix.nodes)))
    names = {}
    for node in mix.nodes:
        names[node.kind] = f"{names.get(node.kind, '')} {node.name}".strip()
    assert names == {
        "argument": "x y",
        "value": "total first second first",
        "result": "first second",
        "operation": "Add Mult",
        "call": "double range",
        "use": "x y total x first first second",
    }


def test_a_node_knows_what_it_is_part_of_and_what_it_works_on(mix):
    (add,), (call,) = numbers(mix, "operation", "Add"), numbers(mix, "call", "double")
    assert mix.nodes[add].inside == "total"
    assert mix.nodes[add].operands == (numbers(mix, "use", "x")[0], call)
    assert mix.nodes[call].operands == tuple(numbers(mix, "use", "y"))
    (product,) = numbers(mix, "operation", "Mult")
    assert mix.nodes[product].operands[1] is None  # a literal number is not a node


def test_without_changes_it_returns_what_it_did_and_every_value_is_seen(mix):
    seen = {}
    assert mix.run({"x": 3, "y": 5}, {}, seen) == {"first": 52, "second": -3}
    assert seen[numbers(mix, "value", "total")[0]] == 13
    assert seen[numbers(mix, "call", "double")[0]] == 10
    assert set(seen) == {node.number for node in mix.nodes}


@pytest.mark.parametrize(
    ("kind", "name", "first", "second"),
    [
        ("argument", "x", 440, -100),
        ("value", "total", 400, -3),
        ("operation", "Add", 400, -3),
        ("call", "double", 412, -3),
    ],
)
def test_a_changed_value_is_carried_on(mix, kind, name, first, second):
    (number,) = numbers(mix, kind, name)
    assert mix.run({"x": 3, "y": 5}, {number: lambda value: 100}) == {"first": first, "second": second}
    assert mix.run({"x": 3, "y": 5}, {}) == {"first": 52, "second": -3}


def test_a_change_may_look_at_what_was_seen_before(mix):
    seen = {}
    (total,), (y,) = numbers(mix, "value", "total"), numbers(mix, "argument", "y")
    assert mix.run({"x": 3, "y": 5}, {total: lambda value: seen[y]}, seen)["first"] == 20


@pytest.mark.parametrize("name", WORKED)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_reference_taken_apart_still_gives_what_it_gave(name):
    exercise = exercise_named(name)
    instrumented = InstrumentedFunction(exercise.source, vars(exercises.module(exercise.entry.reference_module)))
    assert [node.number for node in instrumented.nodes] == list(range(len(instrumented.nodes)))
    for case in [case for case in exercise.hidden if not case.gradients][:FEW]:
        arguments = {n: torch.from_numpy(x.copy()) if exercise.in_torch else x for n, x in case.inputs.items()}
        value = compare.plain_value(instrumented.run(arguments, {}))
        assert not any(compare.mismatches(value, case.expected, exercise.kind, case.atol).values())
