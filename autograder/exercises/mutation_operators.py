"""The mutation operators: each way in which one node of a reference can be wrong, as tables of templates.

In: the slot of a node, the context of its function. Out: ``Rewrite`` objects. The audit turns all of them into mutants;
those with a clause may also explain a student's numbers.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from autograder.exercises.ast_utils import Slot, build, root_name


@dataclass(frozen=True)
class FunctionContext:
    """The function around a node: the kind of its exercise, and the names that an operator may use."""

    kind: str
    arguments: list[str]
    modules: set[str]


@dataclass(frozen=True)
class Rewrite:
    """Put ``new`` in place of a node; None drops a statement. ``what`` is for maintainers. ``new`` may share nodes.

    A ``clause`` completes "We get exactly your numbers if". In it, {of} is what the node is part of, {where} is " in the
    computation of" that, {left} and {right} are the variables in two operands. A lower ``rank`` means simpler.
    """

    what: str
    new: ast.AST | None
    clause: str = ""
    rank: int = 5


# --- tables: what -> template, or a template and a clause. _0 is the (left) operand, _1 the right one ------------------

MISSING = "the term with {%s} is missing"
BINARY: dict[type[ast.operator], dict[str, str | tuple[str, str]]] = {
    ast.Add: {
        "Add becomes Sub": ("_0 - _1", "the term with {right} is subtracted instead of added"),
        "Add becomes Mult": "_0 * _1",
        "right term doubled": "_0 + 2 * _1",
        "left term doubled": "2 * _0 + _1",
        "right term without effect": ("_0 + 0 * _1", MISSING % "right"),
        "left term without effect": ("0 * _0 + _1", MISSING % "left"),
    },
    ast.Sub: {
        "Sub becomes Add": ("_0 + _1", "the term with {right} is added instead of subtracted"),
        "operands exchanged": "_1 - _0",
        "right term doubled": "_0 - 2 * _1",
        "left term doubled": "2 * _0 - _1",
        "right term without effect": ("_0 - 0 * _1", MISSING % "right"),
        "left term without effect": ("0 * _0 - _1", MISSING % "left"),
    },
    ast.Mult: {"Mult becomes Add": "_0 + _1", "Mult becomes Div": "_0 / _1"},
    ast.Div: {
        "Div becomes Mult": "_0 * _1",
        "operands exchanged": "_1 / _0",
        "Div becomes FloorDiv": ("_0 // _1", "an integer division drops the fraction"),
    },
    ast.MatMult: {
        "MatMult becomes Mult": "_0 * _1",
        "operands exchanged": "_1 @ _0",
        "left operand transposed": "_0.T @ _1",
        "right operand transposed": "_0 @ _1.T",
    },
    ast.FloorDiv: {"FloorDiv becomes Mod": "_0 % _1", "operands exchanged": "_1 // _0"},
    ast.Mod: {"Mod becomes FloorDiv": "_0 // _1", "operands exchanged": "_1 % _0"},
    ast.BitAnd: {"BitAnd becomes BitOr": "_0 | _1"},
    ast.BitOr: {"BitOr becomes BitAnd": "_0 & _1"},
}
DROPPED = {"right operand dropped": "_0", "left operand dropped": "_1"}
COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Eq: (ast.NotEq, ast.LtE),
    ast.NotEq: (ast.Eq, ast.Gt),
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
# Calls, by the name of the function. _0 is the first argument of a function, or the object that a method is called on.
RENAMED: dict[str, dict[str, str]] = {
    "max": {"min": ""},
    "min": {"max": ""},
    "sum": {"mean": "", "max": "the maximum is used instead of a sum{where}"},
    "mean": {"sum": ""},
    "argmax": {"argmin": ""},
    "maximum": {"minimum": ""},
    "tanh": {"sigmoid": "", "sin": ""},
    "exp": {"exp2": "the exponential has base 2 instead of e{where}", "abs": ""},
    "log": {f"log{base}": f"the logarithm is taken to base {base}{{where}}" for base in (2, 10)},
    "softmax": {"log_softmax": "", "sigmoid": ""},
    "log_softmax": {"softmax": ""},
    "zeros": {"ones": ""},
    "new_zeros": {"new_ones": ""},
    "stack": {"concatenate": "", "cat": ""},
}
FORGOTTEN = {  # only the first argument is left, or the object that the method was called on
    **dict.fromkeys(("max", "round", "argmax", "softmax", "log_softmax"), ""),
    **dict.fromkeys(("masked_fill", "reversed", "flatten", "unsqueeze"), ""),
    "exp": "an exponential is missing{where}",
    "tanh": "a tanh is missing{where}",
    "log": "a logarithm is missing{where}",
    "sqrt": "a square root is missing{where}",
    "maximum": "the ReLU is missing",
}
LOGISTIC = "1 / (1 + library.exp(-_0))"
SLOPES = (0.01, 0.05, 0.1, 0.2, 0.3)  # of a leaky ReLU
LEAKY = "negative values are only scaled down instead of set to 0"
BOUNDED = "the ReLU is also bounded from above"
SOFTPLUS = "a smooth softplus is used instead of the ReLU: it is not 0 for negative inputs"
ABSOLUTE = "the absolute value is used instead of the ReLU, so negative values count too"
CALLS: dict[str, dict[str, tuple[str, str]]] = {  # _1 is the call itself, library the module of the function
    "tanh": {
        "tanh becomes logistic": (LOGISTIC, "a logistic function is used instead of a tanh{where}"),
        "tanh becomes ReLU": ("_0 * (_0 > 0)", "a ReLU is used instead of a tanh{where}"),
    },
    "sqrt": {
        f"sqrt {rounded}": (f"library.{function}(_1)", f"a square root is {rounded} to an integer{{where}}")
        for rounded, function in (("rounded down", "floor"), ("rounded up", "ceil"), ("rounded", "round"))
    },
    "maximum": {
        **{f"negative values multiplied by {x}": (f"library.where(_0 > 0, _0, {x} * _0)", LEAKY) for x in SLOPES},
        "maximum becomes softplus": ("library.log1p(library.exp(-abs(_0))) + _0.clip(0)", SOFTPLUS),
        "maximum becomes abs": ("abs(_0)", ABSOLUTE),
        "maximum becomes tanh": ("library.tanh(_0)", "a tanh is used instead of the ReLU"),
        "maximum becomes logistic": (LOGISTIC, "a logistic function is used instead of the ReLU"),
        "at most 1": ("_0.clip(0, 1)", BOUNDED),
        "at most 6": ("_0.clip(0, 6)", BOUNDED),
    },
}
ARTICLES = {"tanh": "a tanh", "exp": "an exponential", "log": "a logarithm"}
OTHER_AXIS = "a step runs along the wrong axis{where}"
RETURNED = {
    "sign turned round": "-_0",
    "a small factor": "_0 * 1.001",
    "transposed": "_0.T",
    "squeeze at the end": "_0.squeeze()",
    "ravel at the end": "_0.ravel()",
    "detach at the end": "_0.detach()",
    "an axis too many": "_0[..., None]",
    "only the first sentence": "_0[:1]",
}
ITERATED = {"the loop runs backwards": "reversed(list(_0))", "the loop leaves out the last": "list(_0)[:-1]"}
NAMES = {
    "shape": {"{} doubled": "2 * _0", "1 in place of {}": "1", "{} off by one": "_0 + 1"},
    "code": {"only the first row of {}": "_0[:1]"},
}
SIGN = "one of the numbers used for {of} has the wrong sign"


def rewrites(slot: Slot, around: FunctionContext) -> Iterator[Rewrite]:
    """Yield a ``Rewrite`` for each way in which the node in ``slot`` can be wrong."""
    if mutate := OPERATORS.get(type(slot.node)):
        yield from mutate(slot.node, slot, around)
    if isinstance(slot.node, (ast.Assign, ast.AugAssign, ast.Expr, ast.If)):
        yield Rewrite("statement dropped", None)


def _mutate_bin_op(node, slot, around):
    for what, entry in {**BINARY.get(type(node.op), {}), **DROPPED}.items():
        template, clause = entry if isinstance(entry, tuple) else (entry, "")
        if what != "Div becomes FloorDiv" or around.kind == "code":
            yield Rewrite(what, build(template, node.left, node.right), clause)


def _mutate_unary_op(node, slot, around):
    clause, rank = "", 7
    if isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        clause, rank = (OTHER_AXIS, 6) if _is_axis(slot) else (SIGN if around.kind == "number" else "", 7)
    yield Rewrite(f"{type(node.op).__name__} dropped", node.operand, clause, rank)
    if _is_axis(slot):
        yield Rewrite("axis becomes 0", ast.Constant(0), OTHER_AXIS, 6)


def _is_axis(slot):
    return isinstance(slot.parent, ast.keyword) and slot.parent.arg in ("axis", "dim")


def _mutate_compare(node, slot, around):
    for other in COMPARISONS.get(type(node.ops[0]), ()):
        what = f"{type(node.ops[0]).__name__} becomes {other.__name__}"
        yield Rewrite(what, ast.Compare(node.left, [other(), *node.ops[1:]], node.comparators))


def _mutate_bool_op(node, slot, around):
    other = ast.Or if isinstance(node.op, ast.And) else ast.And
    yield Rewrite(f"becomes {other.__name__}", ast.BoolOp(other(), node.values))
    for value in node.values:
        yield Rewrite("a condition alone", value)


def _mutate_attribute(node, slot, around):
    if node.attr == "T":
        yield Rewrite("transpose dropped", node.value)


def _mutate_slice(node, slot, around):
    def replace_bound(name, bound):
        return ast.Slice(*(bound if each == name else getattr(node, each) for each in ("lower", "upper", "step")))

    for name, first in (("lower", "1"), ("upper", "-1")):
        bound = getattr(node, name)
        if bound is None:
            yield Rewrite(f"{name} bound of 1", replace_bound(name, build(first)))
            continue
        yield Rewrite(f"{name} bound dropped", replace_bound(name, None))
        for what, template in (("Add", "_0 + 1"), ("Sub", "_0 - 1")):
            yield Rewrite(f"{name} bound off by one ({what})", replace_bound(name, build(template, bound)))
    what, step = ("reversed", build("-1")) if node.step is None else ("step bound dropped", None)
    yield Rewrite(what, replace_bound("step", step))


def _mutate_sequence(node, slot, around):
    items = node.elts

    def sequence(*elements):
        return type(node)(list(elements), ast.Load())

    for n in range(len(items) - 1):
        exchanged = sequence(*items[:n], items[n + 1], items[n], *items[n + 2 :])
        yield Rewrite(f"entries {n + 1} and {n + 2} exchanged", exchanged)
    for n in range(len(items)):
        yield Rewrite(f"entry {n + 1} dropped", sequence(*items[:n], *items[n + 1 :]))
    if len(items) > 2:
        yield Rewrite("reversed", sequence(*items[::-1]))
    if around.kind == "shape":
        yield Rewrite("an axis of 1 in front", sequence(ast.Constant(1), *items))
        yield Rewrite("an axis of 1 at the end", sequence(*items, ast.Constant(1)))


def _mutate_dict(node, slot, around):
    keys, values = node.keys, node.values
    for n, key in enumerate(keys):
        if isinstance(key, ast.Constant):
            rest = ast.Dict([*keys[:n], *keys[n + 1 :]], [*values[:n], *values[n + 1 :]])
            yield Rewrite(f"{key.value} left out", rest)
    for n in range(len(keys) - 1):
        exchanged = [*values[:n], values[n + 1], values[n], *values[n + 2 :]]
        yield Rewrite(f"values {n + 1} and {n + 2} exchanged", ast.Dict(keys, exchanged))


def _mutate_call(node, slot, around):
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    yield from _mutate_function(name, node, around)
    yield from _mutate_arguments(name, node)


def _mutate_function(name, node, around):
    """Yield rewrites that replace the function of a call, or leave it out and keep what it is called on."""
    function, args = node.func, node.args
    is_attribute = isinstance(function, ast.Attribute)
    is_method = is_attribute and root_name(function) not in around.modules
    for other, clause in RENAMED.get(name, {}).items():
        renamed = ast.Attribute(function.value, other, ast.Load()) if is_attribute else ast.Name(other, ast.Load())
        yield Rewrite(f"{name} becomes {other}", ast.Call(renamed, args, node.keywords), clause)
    if not is_method and not args:
        return
    receiver = function.value if is_method else args[0]
    if name in FORGOTTEN:
        yield Rewrite(f"{name} forgotten", receiver, FORGOTTEN[name])
    library = "torch" if is_method else root_name(function)
    for what, (template, clause) in CALLS.get(name, {}).items():
        yield Rewrite(what, build(template.replace("library", library), receiver, node), clause)
    yield from _apply_to_terms(name, node, receiver, is_method)
    for argument in args if name in ("max", "min") and not is_attribute else ():
        yield Rewrite(f"{name} forgotten", argument)


def _mutate_constant(node, slot, around):
    value = node.value
    if isinstance(value, bool):
        yield Rewrite(f"{value} becomes {not value}", ast.Constant(not value))
        return
    if isinstance(value, int):
        small = {0: (1, -1), 1: (0, 2, -1), 2: (1, 3, 0, -2, 4)}
        others = small.get(value, (value + 1, value - 1, 2 * value, -value, 0))
    elif isinstance(value, float):
        others = (1.0, -1.0) if value == 0 else (-value, 0.0, 2 * value)
        others += (1.1 * value,) if around.kind == "code" and value else ()
    else:
        return
    clauses: dict[float, tuple[str, int]] = {}
    if _is_axis(slot):
        clauses = dict.fromkeys(others, (OTHER_AXIS, 6))
    elif around.kind == "number" and value:
        clauses = {
            -value: (SIGN, 7),
            0: ("one of the numbers used for {of} is left out", 8),
            2 * value: ("one of the numbers used for {of} is counted twice", 8),
        }
    elif around.kind == "number":
        clauses = {1: ("one of the zeros used for {of} counts as 1", 8)}
    for other in others:
        new = ast.Constant(other) if other >= 0 else ast.UnaryOp(ast.USub(), ast.Constant(-other))
        clause, rank = clauses.get(other, ("", 5))
        yield Rewrite(f"{value:g} becomes {other:g}", new, clause, rank)


def _mutate_name(node, slot, around):
    if not isinstance(node.ctx, ast.Load) or node.id not in around.arguments:
        return
    for other in around.arguments:
        if other != node.id:
            yield Rewrite(f"{other} in place of {node.id}", ast.Name(other, ast.Load()))
    if around.kind != "code" or not isinstance(slot.parent, ast.Attribute):
        for what, template in NAMES.get(around.kind, {}).items():
            yield Rewrite(what.format(node.id), build(template, node))


def _mutate_if_exp(node, slot, around):
    yield Rewrite("the condition negated", ast.IfExp(node.test, node.orelse, node.body))
    yield Rewrite("always the first", node.body)
    yield Rewrite("always the second", node.orelse)


def _mutate_return(node, slot, around):
    if around.kind == "code" and node.value is not None:
        for what, template in RETURNED.items():
            yield Rewrite(what, ast.Return(build(template, node.value)))


def _mutate_aug_assign(node, slot, around):
    for what, entry in BINARY.get(type(node.op), {}).items():
        if " becomes " in what:
            template, _ = entry if isinstance(entry, tuple) else (entry, "")
            operation = cast("ast.BinOp", build(template, node.target, node.value))
            yield Rewrite(what, ast.AugAssign(node.target, operation.op, node.value))
    yield Rewrite("not added up", ast.Assign([node.target], node.value, lineno=node.lineno))


def _mutate_for(node, slot, around):
    for what, template in ITERATED.items():
        iterated = build(template, node.iter)
        yield Rewrite(what, ast.For(node.target, iterated, node.body, node.orelse, lineno=node.lineno))


def _mutate_arguments(name, node):
    """Yield rewrites that change the arguments of a call."""
    function, args, keywords = node.func, node.args, node.keywords
    if name == "where" and len(args) == 3:
        yield Rewrite("the mask forgotten", args[1])
        yield Rewrite("the branches exchanged", ast.Call(function, [args[0], args[2], args[1]], keywords))
    if len(args) >= 2:
        yield Rewrite("arguments exchanged", ast.Call(function, [args[1], args[0], *args[2:]], keywords))
    for n, keyword in enumerate(keywords):
        yield Rewrite(f"{keyword.arg} left out", ast.Call(function, args, [*keywords[:n], *keywords[n + 1 :]]))
    if name == "einsum" and isinstance(args[0], ast.Constant):
        for what, subscripts in _exchange_subscripts(args[0].value):
            yield Rewrite(what, ast.Call(function, [ast.Constant(subscripts), *args[1:]], keywords))


def _apply_to_terms(name, node, argument, is_method):
    """Yield a rewrite that applies the function to each term of a sum separately."""
    if name in ARTICLES and isinstance(argument, ast.BinOp) and isinstance(argument.op, ast.Add):
        called = f"_0.{name}() + _1.{name}()" if is_method else "_2(_0) + _2(_1)"
        clause = f"{ARTICLES[name]} is applied to each of two terms instead of to their sum"
        yield Rewrite(f"{name} of each term", build(called, argument.left, argument.right, node.func), clause, 6)


def _exchange_subscripts(text):
    terms = text.replace("->", ",").split(",")
    for number, term in enumerate(terms):
        for place in range(len(term) - 1):
            swapped = term[:place] + term[place + 1] + term[place] + term[place + 2 :]
            changed = [*terms[:number], swapped, *terms[number + 1 :]]
            yield f"subscripts {term} become {swapped}", ",".join(changed[:-1]) + "->" + changed[-1]


OPERATORS = {  # by type of node: each yields the rewrites of the node itself, not of its parts
    ast.BinOp: _mutate_bin_op,
    ast.UnaryOp: _mutate_unary_op,
    ast.Compare: _mutate_compare,
    ast.BoolOp: _mutate_bool_op,
    ast.Attribute: _mutate_attribute,
    ast.Slice: _mutate_slice,
    ast.Dict: _mutate_dict,
    ast.Call: _mutate_call,
    ast.Constant: _mutate_constant,
    ast.Name: _mutate_name,
    ast.IfExp: _mutate_if_exp,
    ast.Return: _mutate_return,
    ast.AugAssign: _mutate_aug_assign,
    ast.For: _mutate_for,
    ast.Tuple: _mutate_sequence,
    ast.List: _mutate_sequence,
}
