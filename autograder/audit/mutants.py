"""Mutants of a reference answer, each wrong in one place.

In: a function. Out: functions, made by changing the syntax tree of the source. Touches nothing. What a mutant is worth is
found out elsewhere: some turn out to be equal to the reference.
"""

import ast
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import cast

from autograder.audit.slips import Site, variants
from autograder.audit.trees import compiled, parsed


@dataclass(frozen=True)
class Mutant:
    """A changed reference. ``line`` counts from the first line of its module; ``source`` is that line as it stands."""

    line: int
    source: str
    what: str
    function: Callable[..., object]
    in_place: bool = False  # nothing but an input is changed: the value is still right


def mutants(function: FunctionType, kind: str) -> tuple[Mutant, ...]:
    """Return the mutants of ``function``, a reference of an exercise of ``kind``; none has the text of another."""
    return tuple(_mutants(function, kind))


def _mutants(function, kind):
    text, tree, first = parsed(function)
    lines, seen = text.splitlines(), {ast.unparse(tree)}
    definition = cast("ast.FunctionDef", tree.body[0])  # the source of a function is one def
    modules = {name for name, item in function.__globals__.items() if isinstance(item, ModuleType)}
    site = Site(kind, [a.arg for a in definition.args.args], modules)
    for parent, name, place, node, line in _slots(definition):
        for what, new in variants(node, parent, site):
            with _put(parent, name, place, new):
                changed = ast.unparse(tree)
            if changed not in seen:
                seen.add(changed)
                yield Mutant(first + line - 1, lines[line - 1].strip(), what, compiled(changed, function))
    if kind == "code":
        for argument in site.arguments:
            changed = _spoiling(text, argument)
            yield Mutant(first, lines[0].strip(), f"{argument} is overwritten", compiled(changed, function), True)


def _slots(definition):
    """Yield ``(parent, field, place in a list or None, node, line)`` for everything in the body that may be changed."""
    waiting: list[tuple[ast.AST, str, int | None, ast.AST]]
    waiting = [(definition, "body", place, node) for place, node in enumerate(definition.body)]
    while waiting:
        parent, name, place, node = waiting.pop()
        yield parent, name, place, node, getattr(node, "lineno", getattr(parent, "lineno", 1))
        for field, value in ast.iter_fields(node):
            if isinstance(node, (ast.Assign, ast.AugAssign, ast.For, ast.comprehension)) and "target" in field:
                continue
            if isinstance(value, list):
                waiting += [(node, field, i, item) for i, item in enumerate(value) if isinstance(item, ast.AST)]
            elif isinstance(value, ast.AST):
                waiting.append((node, field, None, value))


class _put:
    """Puts ``new`` into a place of the tree, for as long as the ``with`` lasts. None takes a statement out."""

    def __init__(self, parent, field, place, new):
        self.parent, self.field, self.place, self.new = parent, field, place, new

    def __enter__(self):
        self.old = getattr(self.parent, self.field)
        if self.place is None:
            setattr(self.parent, self.field, self.new)
        else:
            changed = list(self.old)
            changed[self.place : self.place + 1] = [] if self.new is None else [self.new]
            setattr(self.parent, self.field, changed)

    def __exit__(self, *_):
        setattr(self.parent, self.field, self.old)


def _spoiling(text, argument):
    """Return the function of ``text``, changed so that it overwrites ``argument`` before it returns what it should."""
    tree = ast.parse(text)

    class Spoil(ast.NodeTransformer):
        def visit_Return(self, node):
            spoil = f"{argument}[...] = 0" if argument else ""
            return [
                ast.Assign([ast.Name("_right", ast.Store())], node.value or ast.Constant(None), lineno=1),
                *ast.parse(f"if {argument} is not None:\n    {spoil}").body,
                ast.Return(ast.Name("_right", ast.Load())),
            ]

    return ast.unparse(ast.fix_missing_locations(Spoil().visit(tree)))
