"""Run a reference with one thing done otherwise: a value on its way changed, a function or an operation replaced.

In: the text of a reference. Out: its ``Sites``, and what it returns when some of them are changed. Touches nothing.
"""

import ast
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.MatMult)


@dataclass(frozen=True)
class Site:
    """One place of a reference. ``kind``: argument, value (assigned), result, use (a name read), number, index, operation, call.

    ``name`` is the variable, the operator or the function called; ``inside`` the variable that its statement assigns, ""
    for what is returned; ``names`` are the variables read in the operands of an operation, left and right.
    """

    number: int
    kind: str
    name: str = ""
    inside: str = ""
    names: tuple[tuple[str, ...], ...] = ()


Change = Callable[..., object]


class Traced:
    """A reference taken apart: its ``source``, with the names ``around`` it.

    ``run`` calls it with some of its ``sites`` changed, and keeps the values met in ``seen``.
    """

    def __init__(self, source: str, around: Mapping[str, object]):
        self.sites: list[Site] = []
        tree = ast.parse(textwrap.dedent(source))
        definition = cast("ast.FunctionDef", tree.body[0])  # the source of a function is one def
        body = definition.body[1:] if ast.get_docstring(definition) is not None else definition.body
        arguments = [argument.arg for argument in definition.args.args]
        heads = [self._assigned(name, "argument", name, ast.Name(name, ast.Load())) for name in arguments]
        definition.body = [*heads, *(self._statement(node) for node in body)]
        self._changes: Mapping[int, Change] = {}
        self.seen: dict[int, Any] = {}
        scope: dict[str, Any] = {**around, "_value": self._value, "_call": self._call}
        exec(compile(ast.fix_missing_locations(tree), "<reference>", "exec"), scope)
        self._function = scope[definition.name]

    def run(self, inputs: Mapping[str, object], changes: Mapping[int, Change]) -> object:
        """Call the reference; ``changes`` maps the number of a site to what is done there: see ``_value`` and ``_call``."""
        self._changes, self.seen = changes, {}
        return self._function(**inputs)

    def _value(self, number, value):
        if number in self._changes and value is not None:
            value = self._changes[number](value)
        self.seen[number] = value
        return value

    def _call(self, number, function, *given, **named):
        change = self._changes.get(number)
        value = change(function, *given, **named) if change else function(*given, **named)
        self.seen[number] = value
        return value

    # --- taking apart

    def _new(self, kind, name="", inside="", names=()):
        self.sites.append(Site(len(self.sites), kind, name, inside, names))
        return ast.Constant(len(self.sites) - 1)

    def _site(self, kind, value, name="", inside=""):
        return ast.Call(ast.Name("_value", ast.Load()), [self._new(kind, name, inside), value], [])

    def _assigned(self, target, kind, name, value):
        return ast.Assign([ast.Name(target, ast.Store())], self._site(kind, value, name, name))

    def _statement(self, node):
        """Return the statement ``node`` with its sites. What is no assignment, return or loop stays as it is."""
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target, value = node.targets[0], node.value
            if isinstance(target, ast.Name):
                node.value = self._site("value", self._expression(value, target.id), target.id, target.id)
            elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                for place, (one, item) in enumerate(zip(target.elts, value.elts, strict=True)):
                    if isinstance(one, ast.Name):
                        value.elts[place] = self._site("value", self._expression(item, one.id), one.id, one.id)
        elif isinstance(node, ast.Return) and isinstance(node.value, ast.Dict):
            node.value.values = [
                self._site("result", self._expression(item, key.value), key.value, key.value)
                if isinstance(key, ast.Constant) and isinstance(key.value, str)
                else item
                for key, item in zip(node.value.keys, node.value.values, strict=True)
            ]
        elif isinstance(node, ast.Return) and node.value is not None:
            node.value = self._site("result", self._expression(node.value, ""))
        elif isinstance(node, (ast.For, ast.If)):
            node.body = [self._statement(one) for one in node.body]
        return node

    def _expression(self, node, inside):
        return _Sites(self, inside).visit(node)


class _Sites(ast.NodeTransformer):
    """Puts the sites into one expression, which is assigned to the variable ``inside`` or returned."""

    def __init__(self, traced, inside):
        self.traced, self.inside, self.of_numbers = traced, inside, "number"

    def visit_BinOp(self, node: Any) -> ast.AST:
        if not isinstance(node.op, OPERATORS):
            return self.generic_visit(node)
        names = _names(node.left), _names(node.right)
        number = self.traced._new("operation", type(node.op).__name__, self.inside, names)
        return self._called(number, _operator(node.op), [self.visit(node.left), self.visit(node.right)], [])

    def visit_Call(self, node: Any) -> ast.AST:
        if any(isinstance(argument, ast.Starred) for argument in node.args):
            return self.generic_visit(node)
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        number = self.traced._new("call", name, self.inside)
        if isinstance(node.func, ast.Attribute):
            node.func.value = self.visit(node.func.value)
        given = [self.visit(argument) for argument in node.args]
        named = [ast.keyword(one.arg, self.visit(one.value)) for one in node.keywords]
        return self._called(number, node.func, given, named)

    def visit_Name(self, node: Any) -> ast.AST:
        if not isinstance(node.ctx, ast.Load) or node.id in ("np", "torch", "math", "nn"):
            return node
        return self.traced._site("use", node, node.id, self.inside)

    def visit_UnaryOp(self, node: Any) -> ast.AST:
        if isinstance(node.op, ast.USub) and _is_number(node.operand):
            return self.traced._site(self.of_numbers, node, "", self.inside)
        return self.generic_visit(node)

    def visit_Constant(self, node: Any) -> ast.AST:
        return self.traced._site(self.of_numbers, node, "", self.inside) if _is_number(node) else node

    def visit_Subscript(self, node: Any) -> ast.AST:
        node.value = self.visit(node.value)
        before, self.of_numbers = self.of_numbers, "index"
        node.slice = self.visit(node.slice)
        self.of_numbers = before
        return node

    def visit_keyword(self, node: Any) -> ast.AST:
        return node

    def visit_comprehension(self, node: Any) -> ast.AST:
        node.iter = self.visit(node.iter)
        return node

    def visit_Lambda(self, node: Any) -> ast.AST:
        return node

    def _called(self, number, function, given, named):
        return ast.Call(ast.Name("_call", ast.Load()), [number, function, *given], named)


def _operator(kind):
    left, right = (ast.Name(name, ast.Load()) for name in ("left", "right"))
    arguments = ast.arguments([], [ast.arg("left"), ast.arg("right")], kwonlyargs=[], kw_defaults=[], defaults=[])
    return ast.Lambda(arguments, ast.BinOp(left, kind, right))


def _names(node):
    found = [one.id for one in ast.walk(node) if isinstance(one, ast.Name) and one.id not in ("np", "torch", "math")]
    return tuple(dict.fromkeys(found))


def _is_number(node):
    return isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and not isinstance(node.value, bool)
