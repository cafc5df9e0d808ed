"""Chains of steps: how each entry of a chain is computed from earlier entries.

In: an entry of the key, its reference. Out: ``ChainStep`` objects, whose source is taken from the reference. Touches nothing.
"""

import ast
from collections.abc import Callable, Mapping
from functools import cache

import numpy as np

from autograder.exercises.ast_utils import compile_function, parse_function, source_of
from autograder.exercises.model import ChainStep
from solutions.answer_key import AnswerKeyError, Entry


def steps_of(entry: Entry, reference: Callable[..., object]) -> dict[str, ChainStep]:
    """Return ``{entry: ChainStep}``: the lines of the reference that compute the entry from earlier steps, its arguments.

    So only the reference states the numbers of a chain. It must assign each step to a variable named after the step.
    """
    steps = {}
    for name, given in entry.follows.items():
        function = parse_function(source_of(reference))
        lines = [
            node
            for node in function.body
            if not (_find_assigned_names(node) and _find_assigned_names(node) <= set(given))
        ]
        count = len(function.body) - len(lines)
        if count != len(given) or not isinstance(last := lines[-1], ast.Return) or last.value is None:
            raise AnswerKeyError(
                f"{name} follows from {', '.join(given)}, but the reference does not have a separate line for each of them",
                entry.where,
                "make it assign each step once, to a variable named after the step, and return the steps in a dict.",
            )
        lines[-1] = ast.Return(_entry_of(last.value, name))
        lines = _select_needed(lines)
        function.name, function.body = f"_{name}_of_{'_'.join(given)}", lines
        function.args.args = [ast.arg(step) for step in given]
        steps[name] = ChainStep(tuple(given), function.name, ast.unparse(ast.fix_missing_locations(function)))
    return steps


def _entry_of(value, name):
    """Return the expression for the entry ``name`` of ``value``: its item in a dict display, or else a subscript."""
    if isinstance(value, ast.Dict):
        for key, item in zip(value.keys, value.values, strict=True):
            if isinstance(key, ast.Constant) and key.value == name:
                return item
    return ast.Subscript(value, ast.Constant(name), ast.Load())


def _select_needed(lines):
    """Return the ``lines`` that the last one depends on; this leaves out the other steps, and with them the answer."""
    used, kept = set(), []
    for line in reversed(lines):
        assigned = {
            node.id for node in ast.walk(line) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        if isinstance(line, ast.Assign) and not assigned & used:
            continue
        used |= {node.id for node in ast.walk(line) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
        kept.insert(0, line)
    return kept


def _find_assigned_names(node):
    return (
        {target.id for target in node.targets if isinstance(target, ast.Name)}
        if isinstance(node, ast.Assign)
        else set()
    )


def compile_steps(follows: Mapping[str, ChainStep]) -> dict[str, tuple[tuple[str, ...], Callable[..., object]]]:
    """Return ``{entry: (steps, function)}`` for the ``follows`` of a chain, as ``compare.follow_through`` takes it."""
    return {entry: (step.given, _function(step.source)) for entry, step in follows.items()}


@cache
def _function(source):
    return compile_function(source, {"np": np})
