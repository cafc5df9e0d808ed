"""The slips: each way in which one place of a syntax tree can be wrong.

In: a node of the tree, its parent, the function around it. Out: new nodes, each with what was done. Touches nothing.
"""

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Site:
    """What a variant must know about the function around it."""

    kind: str
    arguments: list[str]
    modules: set[str]


OPERATORS = {
    ast.Add: (ast.Sub, ast.Mult),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Add, ast.Div),
    ast.Div: (ast.Mult,),
    ast.MatMult: (ast.Mult,),
    ast.FloorDiv: (ast.Mod,),
    ast.Mod: (ast.FloorDiv,),
    ast.BitAnd: (ast.BitOr,),
    ast.BitOr: (ast.BitAnd,),
}
COMPARISONS = {
    ast.Eq: (ast.NotEq, ast.LtE),
    ast.NotEq: (ast.Eq, ast.Gt),
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
RENAMED = {
    "max": ("min",),
    "min": ("max",),
    "sum": ("mean", "max"),
    "mean": ("sum",),
    "argmax": ("argmin",),
    "maximum": ("minimum",),
    "tanh": ("sigmoid", "sin"),
    "exp": ("exp2", "abs"),
    "log": ("log2", "log10"),
    "softmax": ("log_softmax", "sigmoid"),
    "log_softmax": ("softmax",),
    "zeros": ("ones",),
    "new_zeros": ("new_ones",),
    "stack": ("concatenate", "cat"),
}
# Calls that can be forgotten: what stays is their first argument, or what they were called on.
FORGOTTEN = {
    *("exp", "tanh", "log", "max", "maximum", "round", "argmax", "softmax", "log_softmax"),
    *("masked_fill", "reversed", "flatten", "unsqueeze"),
}


def variants(node: ast.AST, parent: ast.AST, site: Site) -> Iterator[tuple[str, ast.AST | None]]:
    """Yield ``(what, new node)`` for each way in which ``node`` can be wrong. New nodes may share parts with old ones."""
    kinds: dict[type[ast.AST], Callable[..., Iterator[tuple[str, ast.AST]]]] = {
        ast.BinOp: _of_operation,
        ast.UnaryOp: _of_sign,
        ast.Compare: _of_comparison,
        ast.BoolOp: _of_logic,
        ast.Attribute: _of_attribute,
        ast.Slice: _of_slice,
        ast.Tuple: _of_sequence,
        ast.List: _of_sequence,
        ast.Dict: _of_dict,
        ast.Call: _of_call,
        ast.Constant: _of_constant,
        ast.Name: _of_name,
        ast.IfExp: _of_choice,
        ast.Return: _of_return,
        ast.AugAssign: _of_update,
        ast.For: _of_loop,
    }
    if type(node) in kinds:
        yield from kinds[type(node)](node, parent, site)
    if isinstance(node, (ast.Assign, ast.AugAssign, ast.Expr, ast.If)):
        yield "statement dropped", None


def _of_operation(node, parent, site):
    left, right, operator = node.left, node.right, type(node.op)
    for other in OPERATORS.get(operator, ()):
        yield f"{operator.__name__} becomes {other.__name__}", ast.BinOp(left, other(), right)
    yield "right operand dropped", left
    yield "left operand dropped", right
    if operator in (ast.Sub, ast.Div, ast.MatMult, ast.FloorDiv, ast.Mod):
        yield "operands exchanged", ast.BinOp(right, node.op, left)
    if operator in (ast.Add, ast.Sub):
        yield "right term doubled", ast.BinOp(left, node.op, ast.BinOp(ast.Constant(2), ast.Mult(), right))
        yield "left term doubled", ast.BinOp(ast.BinOp(ast.Constant(2), ast.Mult(), left), node.op, right)
    if operator is ast.MatMult:
        yield "left operand transposed", ast.BinOp(_transposed(left), node.op, right)
        yield "right operand transposed", ast.BinOp(left, node.op, _transposed(right))


def _of_sign(node, parent, site):
    yield f"{type(node.op).__name__} dropped", node.operand


def _of_comparison(node, parent, site):
    for other in COMPARISONS.get(type(node.ops[0]), ()):
        what = f"{type(node.ops[0]).__name__} becomes {other.__name__}"
        yield what, ast.Compare(node.left, [other(), *node.ops[1:]], node.comparators)


def _of_logic(node, parent, site):
    other = ast.Or if isinstance(node.op, ast.And) else ast.And
    yield f"becomes {other.__name__}", ast.BoolOp(other(), node.values)
    for value in node.values:
        yield "a condition alone", value


def _of_attribute(node, parent, site):
    if node.attr == "T":
        yield "transpose dropped", node.value


def _of_slice(node, parent, site):
    for name in ("lower", "upper", "step"):
        bound = getattr(node, name)
        if bound is not None:
            yield f"{name} bound dropped", _bounded(node, name, None)
            if name != "step":
                for operator in (ast.Add, ast.Sub):
                    moved = ast.BinOp(bound, operator(), ast.Constant(1))
                    yield f"{name} bound off by one ({operator.__name__})", _bounded(node, name, moved)
        elif name != "step":
            yield f"{name} bound of 1", _bounded(node, name, ast.Constant(1 if name == "lower" else -1))
        else:
            yield "reversed", _bounded(node, name, ast.Constant(-1))


def _bounded(node, name, bound):
    """Return the slice ``node`` with ``bound`` in the place ``name``."""
    return ast.Slice(*(bound if each == name else getattr(node, each) for each in ("lower", "upper", "step")))


def _of_sequence(node, parent, site):
    items, kind = node.elts, type(node)

    def again(elements):
        return kind(elements, ast.Load())

    for place in range(len(items) - 1):
        changed = [*items[:place], items[place + 1], items[place], *items[place + 2 :]]
        yield f"entries {place + 1} and {place + 2} exchanged", again(changed)
    for place in range(len(items)):
        yield f"entry {place + 1} dropped", again([*items[:place], *items[place + 1 :]])
    if len(items) > 2:
        yield "reversed", again(items[::-1])
    if site.kind == "shape":
        yield "an axis of 1 in front", again([ast.Constant(1), *items])
        yield "an axis of 1 at the end", again([*items, ast.Constant(1)])


def _of_dict(node, parent, site):
    for place, key in enumerate(node.keys):
        if isinstance(key, ast.Constant):
            without = [i for i in range(len(node.keys)) if i != place]
            yield f"{key.value} left out", ast.Dict([node.keys[i] for i in without], [node.values[i] for i in without])
    for place in range(len(node.keys) - 1):
        values = list(node.values)
        values[place], values[place + 1] = values[place + 1], values[place]
        yield f"values {place + 1} and {place + 2} exchanged", ast.Dict(node.keys, values)


def _of_call(node, parent, site):
    of_module = isinstance(node.func, ast.Attribute) and _root(node.func) in site.modules
    method = isinstance(node.func, ast.Attribute) and not of_module
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    for other in RENAMED.get(name, ()):
        func = (
            ast.Attribute(node.func.value, other, ast.Load())
            if isinstance(node.func, ast.Attribute)
            else ast.Name(other, ast.Load())
        )
        yield f"{name} becomes {other}", ast.Call(func, node.args, node.keywords)
    receiver = node.func.value if method else node.args[0] if node.args else None
    if name in FORGOTTEN and receiver is not None:
        yield f"{name} forgotten", receiver
    if name == "where" and len(node.args) == 3:
        yield "the mask forgotten", node.args[1]
        yield "the branches exchanged", ast.Call(node.func, [node.args[0], node.args[2], node.args[1]], node.keywords)
    if len(node.args) >= 2:
        yield "arguments exchanged", ast.Call(node.func, [node.args[1], node.args[0], *node.args[2:]], node.keywords)
    if name in ("max", "min") and not isinstance(node.func, ast.Attribute):
        for argument in node.args:
            yield f"{name} forgotten", argument
    for place, keyword in enumerate(node.keywords):
        others = [*node.keywords[:place], *node.keywords[place + 1 :]]
        yield f"{keyword.arg} left out", ast.Call(node.func, node.args, others)
    if name == "einsum" and isinstance(node.args[0], ast.Constant):
        for what, subscripts in _of_subscripts(node.args[0].value):
            yield what, ast.Call(node.func, [ast.Constant(subscripts), *node.args[1:]], node.keywords)


def _of_subscripts(text):
    terms = text.replace("->", ",").split(",")
    for number, term in enumerate(terms):
        for place in range(len(term) - 1):
            swapped = term[:place] + term[place + 1] + term[place] + term[place + 2 :]
            changed = [*terms[:number], swapped, *terms[number + 1 :]]
            yield f"subscripts {term} become {swapped}", ",".join(changed[:-1]) + "->" + changed[-1]


def _of_constant(node, parent, site):
    value = node.value
    if isinstance(value, bool):
        yield f"{value} becomes {not value}", ast.Constant(not value)
    elif isinstance(value, int):
        others = {0: (1, -1), 1: (0, 2, -1), 2: (1, 3, 0, -2)}.get(value, (value + 1, value - 1, 2 * value, -value))
        for other in others:
            yield f"{value} becomes {other}", _number(other)
    elif isinstance(value, float):
        others = (1.0, -1.0) if value == 0 else (-value, 0.0, 2 * value)
        if site.kind == "code":
            others += (1.1 * value,)
        for other in others:
            yield f"{value:g} becomes {other:g}", _number(other)


def _of_name(node, parent, site):
    if not isinstance(node.ctx, ast.Load) or node.id not in site.arguments:
        return
    for other in site.arguments:
        if other != node.id:
            yield f"{other} in place of {node.id}", ast.Name(other, ast.Load())
    if site.kind == "shape":
        yield f"{node.id} doubled", ast.BinOp(ast.Constant(2), ast.Mult(), node)
        yield f"1 in place of {node.id}", ast.Constant(1)
        yield f"{node.id} off by one", ast.BinOp(node, ast.Add(), ast.Constant(1))
    elif site.kind == "code" and not isinstance(parent, ast.Attribute):
        first = ast.Slice(None, ast.Constant(1), None)
        yield f"only the first row of {node.id}", ast.Subscript(node, first, ast.Load())


def _of_choice(node, parent, site):
    yield "the condition turned round", ast.IfExp(node.test, node.orelse, node.body)
    yield "always the first", node.body
    yield "always the second", node.orelse


def _of_return(node, parent, site):
    if site.kind != "code":
        return
    value = node.value
    yield "sign turned round", ast.Return(ast.UnaryOp(ast.USub(), value))
    yield "a small factor", ast.Return(ast.BinOp(value, ast.Mult(), ast.Constant(1.001)))
    yield "transposed", ast.Return(_transposed(value))
    for method in ("squeeze", "ravel", "detach"):
        yield f"{method} at the end", ast.Return(ast.Call(ast.Attribute(value, method, ast.Load()), [], []))
    new_axis = ast.Tuple([ast.Constant(Ellipsis), ast.Constant(None)], ast.Load())
    yield "an axis too many", ast.Return(ast.Subscript(value, new_axis, ast.Load()))
    yield (
        "only the first sentence",
        ast.Return(ast.Subscript(value, ast.Slice(None, ast.Constant(1), None), ast.Load())),
    )


def _of_update(node, parent, site):
    for other in OPERATORS.get(type(node.op), ()):
        yield f"{type(node.op).__name__} becomes {other.__name__}", ast.AugAssign(node.target, other(), node.value)
    yield "not added up", ast.Assign([node.target], node.value, lineno=node.lineno)


def _of_loop(node, parent, site):
    turn = ast.Call(ast.Name("reversed", ast.Load()), [ast.Call(ast.Name("list", ast.Load()), [node.iter], [])], [])
    yield "the loop runs backwards", ast.For(node.target, turn, node.body, node.orelse, lineno=node.lineno)
    yield (
        "the loop leaves out the last",
        ast.For(
            node.target,
            ast.Subscript(
                ast.Call(ast.Name("list", ast.Load()), [node.iter], []),
                ast.Slice(None, ast.Constant(-1), None),
                ast.Load(),
            ),
            node.body,
            node.orelse,
            lineno=node.lineno,
        ),
    )


def _transposed(node):
    return ast.Attribute(node, "T", ast.Load())


def _number(value):
    return ast.Constant(value) if value >= 0 else ast.UnaryOp(ast.USub(), ast.Constant(-value))


def _root(node):
    while isinstance(node, ast.Attribute):
        node = node.value
    return getattr(node, "id", "")
