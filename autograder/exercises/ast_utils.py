"""Read the syntax tree of a function, change it in one place, and compile it into a function again.

In: the source of a function. Out: its definition, the ``Slot`` of each node that may be changed, a function. Touches nothing.
"""

import ast
import contextlib
import inspect
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast


@dataclass(frozen=True, eq=False)
class Slot:
    """The position of a ``node``: ``field`` of ``parent``, at ``place`` if that is a list, in body statement ``statement``.

    ``inside`` is the variable, or the key of the returned dict, whose value the node is part of, otherwise "". ``in_index``
    says whether the node is part of an index or a slice.
    """

    parent: ast.AST
    field: str
    place: int | None
    node: ast.AST
    line: int
    statement: int
    inside: str = ""
    in_index: bool = False


def source_of(function: Callable[..., object]) -> str:
    return textwrap.dedent(inspect.getsource(function))


def parse_function(source: str) -> ast.FunctionDef:
    """Return the definition in ``source`` without its docstring."""
    definition = cast(
        "ast.FunctionDef", ast.parse(textwrap.dedent(source)).body[0]
    )  # the source of a function is one def
    if ast.get_docstring(definition) is not None and len(definition.body) > 1:
        del definition.body[0]
    return definition


def compile_function(code: str | ast.FunctionDef, scope: Mapping[str, object]) -> Callable[..., Any]:
    """Return the function that ``code``, a text or a tree, defines, with the names of ``scope`` as its globals."""
    module = ast.parse(code) if isinstance(code, str) else ast.fix_missing_locations(ast.Module([code], []))
    names: dict[str, Any] = dict(scope)
    exec(compile(module, "<reference>", "exec"), names)
    return names[cast("ast.FunctionDef", module.body[0]).name]


def arguments_of(definition: ast.FunctionDef) -> list[str]:
    return [argument.arg for argument in definition.args.args]


def slots(definition: ast.FunctionDef) -> Iterator[Slot]:
    """Yield the slot of every node in the body, except assignment targets; each comes before the slots of its parts."""
    for n, node in enumerate(definition.body):
        yield from _with_parts(Slot(definition, "body", n, node, _line(node, 1), n))


def _with_parts(slot):
    yield slot
    node = slot.node
    for field, value in ast.iter_fields(node):
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.For, ast.comprehension)) and "target" in field:
            continue
        for place, item in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if isinstance(item, ast.AST):
                line, in_index = _line(item, slot.line), slot.in_index or field == "slice"
                inside = _target_of(slot, place)
                yield from _with_parts(Slot(node, field, place, item, line, slot.statement, inside, in_index))


def _line(node, default):
    return getattr(node, "lineno", default)


def _target_of(slot, place):
    """Return ``inside`` of the child at ``place`` of the node in ``slot``: see ``Slot``."""
    node = slot.node
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id
    if isinstance(node, ast.Tuple) and isinstance(slot.parent, ast.Assign) and place is not None:
        target = slot.parent.targets[0]
        return getattr(target.elts[place], "id", "") if isinstance(target, ast.Tuple) else slot.inside
    if isinstance(node, ast.Dict) and isinstance(slot.parent, ast.Return) and place is not None:
        return str(getattr(node.keys[place], "value", ""))
    return slot.inside


def replace(slot: Slot, new: ast.AST | None) -> None:
    """Put ``new`` into ``slot``. None removes a statement."""
    changed: Any = new
    if slot.place is not None:
        old = getattr(slot.parent, slot.field)
        changed = [*old[: slot.place], *([] if new is None else [new]), *old[slot.place + 1 :]]
        if slot.field == "body" and not changed:
            changed = [ast.Pass()]  # the only statement of a block was removed
    setattr(slot.parent, slot.field, changed)


@contextlib.contextmanager
def temporarily_replace(slot: Slot, new: ast.AST | None) -> Iterator[None]:
    """``replace`` for as long as the context lasts."""
    old = getattr(slot.parent, slot.field)
    replace(slot, new)
    try:
        yield
    finally:
        setattr(slot.parent, slot.field, old)


def build(template: str, *nodes: ast.AST) -> ast.expr:
    """Return the expression ``template`` with ``nodes`` in place of the names ``_0``, ``_1``, ..."""
    return _Filled(nodes).visit(ast.parse(template, mode="eval").body)


class _Filled(ast.NodeTransformer):
    def __init__(self, nodes):
        self.nodes = nodes

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return self.nodes[int(node.id[1:])] if node.id[0] == "_" and node.id[1:].isdigit() else node


def root_name(node: ast.AST) -> str:
    """Return the name that a chain of attributes begins with: np of np.linalg.norm."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return getattr(node, "id", "")


def names_in(node: ast.AST) -> tuple[str, ...]:
    """Return the variables that are read in ``node``, each once."""
    names = [each.id for each in ast.walk(node) if isinstance(each, ast.Name)]
    return tuple(dict.fromkeys(name for name in names if name not in MODULES))


MODULES = ("np", "torch", "math", "nn")
