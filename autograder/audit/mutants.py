"""Mutants of a reference answer, each changed in one place.

In: a function. Out: functions, made by changing the syntax tree of the source. Touches nothing. Whether a mutant is really
wrong is decided elsewhere: some turn out to be equal to the reference.
"""

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import FunctionType, ModuleType

from autograder.audit.outcomes import Version
from autograder.exercises.ast_utils import (
    arguments_of,
    compile_function,
    parse_function,
    slots,
    source_of,
    temporarily_replace,
)
from autograder.exercises.mutation_operators import FunctionContext, rewrites


@dataclass(frozen=True)
class Mutant:
    """A changed reference. ``line`` is the changed line of its module, from 1; ``source`` is the original text of that line."""

    line: int
    source: str
    what: str
    text: str
    scope: Mapping[str, object] = field(repr=False)  # the globals of the reference
    in_place: bool = False  # it only overwrites an input: the value is still right

    @cached_property
    def function(self) -> Callable[..., object]:
        return compile_function(self.text, self.scope)

    @property
    def version(self) -> Version:
        return Version(f"line {self.line}, {self.what}", self.function, self.text)


def mutants(function: FunctionType, kind: str) -> tuple[Mutant, ...]:
    """Return the mutants of ``function``, the reference of an exercise of ``kind``; no two have the same text."""
    return tuple(_mutants(function, kind))


def _mutants(function, kind):
    source = source_of(function)
    definition, lines, first = parse_function(source), source.splitlines(), function.__code__.co_firstlineno

    def mutant(line, what, text, in_place=False):
        return Mutant(first + line - 1, lines[line - 1].strip(), what, text, function.__globals__, in_place)

    head = _text(definition, [])
    statements = [_text(definition, [statement]).removeprefix(head) for statement in definition.body]
    seen = {head + "".join(statements)}
    modules = {name for name, item in function.__globals__.items() if isinstance(item, ModuleType)}
    around = FunctionContext(kind, arguments_of(definition), modules)
    for slot in slots(definition):
        number = slot.statement
        for rewrite in rewrites(slot, around):
            with temporarily_replace(slot, rewrite.new):  # all other statements stay unchanged
                dropped = slot.parent is definition and rewrite.new is None
                changed = "" if dropped else _text(definition, [definition.body[number]]).removeprefix(head)
            text = "".join([head, *statements[:number], changed, *statements[number + 1 :]])
            if text not in seen:
                seen.add(text)
                yield mutant(slot.line, rewrite.what, text)
    if kind == "code":
        for argument in around.arguments:
            yield mutant(1, f"{argument} is overwritten", _overwrite_argument(source, argument), in_place=True)


def _text(definition, body):
    """Return the text of ``definition`` with the statements ``body`` instead of its own."""
    return ast.unparse(ast.FunctionDef(**{**dict(ast.iter_fields(definition)), "body": body}, lineno=1))


def _overwrite_argument(source, argument):
    """Return the function of ``source``, changed to overwrite ``argument`` before it returns the correct result."""

    class Overwrite(ast.NodeTransformer):
        def visit_Return(self, node):
            spoil = f"if {argument} is not None:\n    {argument}[...] = 0"
            value = ast.Assign([ast.Name("_right", ast.Store())], node.value or ast.Constant(None), lineno=1)
            return [value, *ast.parse(spoil).body, ast.Return(ast.Name("_right", ast.Load()))]

    return ast.unparse(ast.fix_missing_locations(Overwrite().visit(ast.parse(source))))
