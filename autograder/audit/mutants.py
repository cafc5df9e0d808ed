"""Mutants of a reference answer, each wrong in one place.

In: a function. Out: functions, made by changing the syntax tree of the source. Touches nothing. What a mutant is worth is
found out elsewhere: some turn out to be equal to the reference.
"""

import ast
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import cast

from autograder.audit.outcomes import Version
from autograder.audit.slips import Site, variants
from autograder.audit.trees import compiled, parsed


@dataclass(frozen=True)
class Mutant:
    """A changed reference. ``line`` counts from the first line of its module; ``source`` is that line as it stands."""

    line: int
    source: str
    what: str
    function: Callable[..., object]
    text: str
    in_place: bool = False  # nothing but an input is changed: the value is still right

    @property
    def version(self) -> Version:
        return Version(f"line {self.line}, {self.what}", self.function, self.text)


def mutants(function: FunctionType, kind: str) -> tuple[Mutant, ...]:
    """Return the mutants of ``function``, a reference of an exercise of ``kind``; none has the text of another."""
    return tuple(_mutants(function, kind))


def _mutants(function, kind):
    text, tree, first = parsed(function)
    definition = cast("ast.FunctionDef", tree.body[0])  # the source of a function is one def
    head = _text(definition, [])
    statements = [_text(definition, [statement]).removeprefix(head) for statement in definition.body]
    lines, seen = text.splitlines(), {head + "".join(statements)}
    modules = {name for name, item in function.__globals__.items() if isinstance(item, ModuleType)}
    site = Site(kind, [a.arg for a in definition.args.args], modules)
    for parent, name, place, node, line, number in _slots(definition):
        for what, new in variants(node, parent, site):
            with _put(parent, name, place, new):  # all other statements stay as they are
                body = definition.body[number : number + 1] if parent is not definition or new else []
                other = _text(definition, body).removeprefix(head)
            changed = "".join([head, *statements[:number], other, *statements[number + 1 :]])
            if changed not in seen:
                seen.add(changed)
                yield Mutant(first + line - 1, lines[line - 1].strip(), what, compiled(changed, function), changed)
    if kind == "code":
        for argument in site.arguments:
            changed = _spoiling(text, argument)
            yield Mutant(
                first, lines[0].strip(), f"{argument} is overwritten", compiled(changed, function), changed, True
            )


def _text(definition, body):
    """Return the text of ``definition`` with the statements ``body`` instead of its own."""
    return ast.unparse(ast.FunctionDef(**{**dict(ast.iter_fields(definition)), "body": body}, lineno=1))


def _slots(definition):
    """Yield ``(parent, field, place in a list or None, node, line, number of the statement it stands in)`` for everything in
    the body that may be changed."""
    waiting: list[tuple[ast.AST, str, int | None, ast.AST, int]]
    waiting = [(definition, "body", place, node, place) for place, node in enumerate(definition.body)]
    while waiting:
        parent, name, place, node, number = waiting.pop()
        yield parent, name, place, node, getattr(node, "lineno", getattr(parent, "lineno", 1)), number
        for field, value in ast.iter_fields(node):
            if isinstance(node, (ast.Assign, ast.AugAssign, ast.For, ast.comprehension)) and "target" in field:
                continue
            if isinstance(value, list):
                waiting += [(node, field, i, item, number) for i, item in enumerate(value) if isinstance(item, ast.AST)]
            elif isinstance(value, ast.AST):
                waiting.append((node, field, None, value, number))


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
