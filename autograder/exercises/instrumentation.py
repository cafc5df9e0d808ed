"""Run a function while changing the values of some of its expressions.

In: the source of a function. Out: its ``Node`` objects, and what it returns when the values of some are changed. Touches
nothing.
"""

import ast
import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from autograder.exercises.ast_utils import MODULES, arguments_of, compile_function, parse_function, replace, slots

WATCHED = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.MatMult)
WATCH = "_watch"
Change = Callable[[Any], object]


@dataclass(frozen=True)
class Node:
    """One expression of a function. ``kind``: argument, value (assigned), result, use (a name read), operation, call.

    ``name`` is the variable, the operator or the function called; ``inside`` the variable that its statement assigns, or the
    key of the returned dict, else "". ``operands`` are the numbers of the nodes that are operands of an operation or
    arguments of a call, None for operands that are not nodes.
    """

    number: int
    kind: str
    name: str = ""
    inside: str = ""
    operands: tuple[int | None, ...] = ()


class InstrumentedFunction:
    """A function whose ``nodes`` can be watched and changed. ``scope`` holds its global names."""

    def __init__(self, source: str, scope: Mapping[str, object]):
        definition = parse_function(source)
        self.nodes = [Node(n, "argument", name, name) for n, name in enumerate(arguments_of(definition))]
        self._watch_expressions(definition)
        heads = [
            ast.Assign([ast.Name(node.name, ast.Store())], _watch(node.number, ast.Name(node.name, ast.Load())))
            for node in self.nodes
            if node.kind == "argument"
        ]
        definition.body = [*heads, *definition.body]
        self._function = compile_function(definition, {**scope, WATCH: self._watch})
        self._changes: Mapping[int, Change] = {}
        self._seen: dict[int, Any] = {}

    def run(
        self, inputs: Mapping[str, object], changes: Mapping[int, Change], seen: dict[int, Any] | None = None
    ) -> object:
        """Call the function; ``changes`` maps the number of a node to a change of its value. ``seen`` records all values."""
        self._changes, self._seen = changes, {} if seen is None else seen
        return self._function(**inputs)

    def _watch(self, number, value):
        if number in self._changes and value is not None:
            value = self._changes[number](value)
        self._seen[number] = value
        return value

    def _watch_expressions(self, definition):
        """Wrap each expression that is a node in a call of ``_watch``, and each assigned or returned one in another."""
        numbers: dict[ast.AST, int] = {}
        operands: dict[int, list[Any]] = {}
        groups: dict[ast.AST, str] = {}  # assigned tuples and returned dicts -> the kind of their parts
        for slot in list(slots(definition)):
            node: Any = slot.node
            groups |= _group_in(node)
            expression, (kind, name) = node, _kind_and_name(slot)
            if kind:
                numbers[node] = len(self.nodes)
                operands[len(self.nodes)] = _operands(node)
                expression = self._new_node(expression, kind, name, slot.inside)
            if outer := _outer_kind(slot, groups):
                expression = self._new_node(expression, outer, slot.inside, slot.inside)
            if expression is not node:
                replace(slot, expression)
        for number, parts in operands.items():
            self.nodes[number] = dataclasses.replace(self.nodes[number], operands=tuple(map(numbers.get, parts)))

    def _new_node(self, expression, *described):
        self.nodes.append(Node(len(self.nodes), *described))
        return _watch(len(self.nodes) - 1, expression)


def _kind_and_name(slot):
    node, is_callee = slot.node, isinstance(slot.parent, ast.Call) and slot.field == "func"
    if isinstance(node, ast.BinOp) and isinstance(node.op, WATCHED):
        return "operation", type(node.op).__name__
    if isinstance(node, ast.Call):
        return "call", node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in MODULES and not is_callee:
        return "use", node.id
    return "", ""


def _operands(node):
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    return node.args if isinstance(node, ast.Call) else []


def _group_in(node):
    """Return ``{expression: kind of its parts}`` for a tuple that is assigned or a dict that is returned, else {}."""
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple) and isinstance(node.value, ast.Tuple):
        return {node.value: "value"}
    return {node.value: "result"} if isinstance(node, ast.Return) and isinstance(node.value, ast.Dict) else {}


def _outer_kind(slot, groups):
    """Return "value" for an assigned expression, "result" for a returned one, "" for any other."""
    if slot.parent in groups:
        return groups[slot.parent] if slot.inside and slot.field != "keys" else ""
    if isinstance(slot.parent, ast.Assign) and isinstance(slot.parent.targets[0], ast.Name):
        return "value"
    return "result" if isinstance(slot.parent, ast.Return) and slot.node not in groups else ""


def _watch(number, expression):
    return ast.Call(ast.Name(WATCH, ast.Load()), [ast.Constant(number), expression], [])
