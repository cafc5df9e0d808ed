"""Mutants of a reference answer, each wrong in one place, and equivalents of it, each right in another style.

In: a function, or a value that it returned. Out: functions and values, made by changing the syntax tree of the source.
Touches nothing. What a mutant is worth is found out elsewhere: some turn out to be equal to the reference.
"""

import ast
import inspect
import textwrap
import types
from dataclasses import dataclass

import numpy as np

SHIFTS = 1.5, 4.0  # of one number, in tolerances


@dataclass(frozen=True)
class Mutant:
    """A changed reference. ``line`` counts from the first line of its module; ``source`` is that line as it stands."""

    line: int
    source: str
    what: str
    function: object
    in_place: bool = False  # nothing but an input is changed: the value is still right


@dataclass(frozen=True)
class Equivalent:
    """The reference in another style: as right as the reference itself."""

    what: str
    function: object


def mutants(function, kind):
    """Return the mutants of ``function``, a reference of an exercise of ``kind``; none has the text of another."""
    return tuple(_mutants(function, kind))


def wrong_values(value, atol):
    """Yield ``(what, wrong value)`` for the numbers that a hand calculation gives: an array, or a dict of arrays.

    Parameters
    ----------
    value : array or dict of arrays
    atol : float
        Every number that is shifted is shifted by more than this.
    """
    if isinstance(value, dict):
        for entry, numbers in value.items():
            for what, wrong in wrong_values(numbers, atol):
                yield f"{entry}: {what}", {**value, entry: wrong}
            yield f"{entry} left out", {name: item for name, item in value.items() if name != entry}
        for one, other in zip(list(value), list(value)[1:], strict=False):
            if value[one].shape == value[other].shape:
                yield f"{one} and {other} exchanged", {**value, one: value[other], other: value[one]}
        return
    value = np.asarray(value, dtype=float)
    yield from (("sign turned round", -value), ("doubled", 2 * value), ("halved", value / 2))
    yield from (("an axis too many", value[None]), ("nothing", None), ("all 0", 0 * value))
    for index in np.ndindex(value.shape):
        place = f"number {index[0] + 1}" if index else "the number"
        for factor in SHIFTS:
            for sign in (1, -1):
                wrong = value.copy()
                wrong[index] += sign * factor * atol
                yield f"{place} off by {sign * factor:g} tolerances", wrong
    if value.ndim == 1:
        yield from (("in the reverse order", value[::-1]), ("the last one left out", value[:-1]))
        yield "one too many", np.append(value, value[-1])
        for place in range(len(value) - 1):
            order = list(range(len(value)))
            order[place], order[place + 1] = order[place + 1], order[place]
            yield f"numbers {place + 1} and {place + 2} exchanged", value[order]


# --- mutants ---------------------------------------------------------------------------------------------------------


def _mutants(function, kind):
    text, tree, first = _parsed(function)
    lines, seen = text.splitlines(), {ast.unparse(tree)}
    definition = tree.body[0]
    modules = {name for name, item in function.__globals__.items() if isinstance(item, types.ModuleType)}
    site = _Site(kind, [a.arg for a in definition.args.args], modules)
    for parent, name, place, node, line in _slots(definition):
        for what, new in _variants(node, parent, site):
            with _put(parent, name, place, new):
                changed = ast.unparse(tree)
            if changed not in seen:
                seen.add(changed)
                yield Mutant(first + line - 1, lines[line - 1].strip(), what, _compiled(changed, function))
    if kind == "code":
        for argument in site.arguments:
            changed = _spoiling(text, argument)
            yield Mutant(first, lines[0].strip(), f"{argument} is overwritten", _compiled(changed, function), True)


@dataclass(frozen=True)
class _Site:
    """What a variant must know about the function around it."""

    kind: str
    arguments: list
    modules: set


def _parsed(function):
    text = textwrap.dedent(inspect.getsource(function))
    tree = ast.parse(text)
    body = tree.body[0].body
    if ast.get_docstring(tree.body[0]) is not None and len(body) > 1:
        del body[0]
    return text, tree, function.__code__.co_firstlineno


def _compiled(text, function, **names):
    """Return the function in ``text``, with the globals of ``function`` around it."""
    scope = {**function.__globals__, **names}
    exec(compile(text, "<mutant>", "exec"), scope)
    return scope[function.__name__]


def _slots(definition):
    """Yield ``(parent, field, place in a list or None, node, line)`` for everything in the body that may be changed."""
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


def _variants(node, parent, site):
    """Yield ``(what, new node)`` for each way in which ``node`` can be wrong. New nodes may share parts with old ones."""
    kinds = {
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
        bound, rest = getattr(node, name), {n: getattr(node, n) for n in ("lower", "upper", "step")}
        if bound is not None:
            yield f"{name} bound dropped", ast.Slice(**{**rest, name: None})
            if name != "step":
                for operator in (ast.Add, ast.Sub):
                    moved = ast.BinOp(bound, operator(), ast.Constant(1))
                    yield f"{name} bound off by one ({operator.__name__})", ast.Slice(**{**rest, name: moved})
        elif name != "step":
            yield f"{name} bound of 1", ast.Slice(**{**rest, name: ast.Constant(1 if name == "lower" else -1)})
        else:
            yield "reversed", ast.Slice(**{**rest, name: ast.Constant(-1)})


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


def _spoiling(text, argument):
    """Return the function of ``text``, changed so that it overwrites ``argument`` before it returns what it should."""
    tree = ast.parse(text)

    class Spoil(ast.NodeTransformer):
        def visit_Return(self, node):
            spoil = f"{argument}[...] = 0" if argument else ""
            return [
                ast.Assign([ast.Name("_right", ast.Store())], node.value, lineno=1),
                *ast.parse(f"if {argument} is not None:\n    {spoil}").body,
                ast.Return(ast.Name("_right", ast.Load())),
            ]

    return ast.unparse(ast.fix_missing_locations(Spoil().visit(tree)))


# --- equivalents -----------------------------------------------------------------------------------------------------


def equivalents(function, exercise):
    """Return the equivalents of ``function``, the reference of ``exercise``, in the styles that its kind allows.

    A tensor whose gradient is asked for stays a tensor: a list would cut it off.
    """
    return tuple(Equivalent(what, made) for what, made in _equivalents(function, exercise))


def _equivalents(function, exercise):
    styles = dict(SHAPE_STYLES if exercise.kind == "shape" else NUMBER_STYLES)
    if any(case.gradients for case in exercise.cases):
        styles = GRADIENT_STYLES
    for what, turn in styles.items():
        yield what, _after(function, turn)
    if exercise.kind == "number":
        decimals = int(np.ceil(-np.log10(exercise.entry.atol)))  # half a unit is well within
        yield f"rounded to {decimals} decimals", _after(function, lambda item: np.round(_array(item), decimals))
    yield "through a helper function", _through_helper(function)
    if exercise.kind == "code":
        for what, turn in INPUT_STYLES.items():
            yield what, _before(function, turn)
        yield from _rewritten(function)


def _after(function, turn):
    def styled(*arguments):
        value = function(*arguments)
        return {key: turn(item) for key, item in value.items()} if isinstance(value, dict) else turn(value)

    return styled


def _before(function, turn):
    def styled(*arguments):
        return function(*(turn(item) if hasattr(item, "shape") and item.ndim > 1 else item for item in arguments))

    return styled


def _through_helper(function):
    def styled(*arguments):
        def helper(*again):
            return function(*again)

        return helper(*arguments)

    return styled


def _array(item):
    return item.detach().numpy() if hasattr(item, "detach") else np.asarray(item)


def _tensor(item):
    import torch

    return torch.as_tensor(item)


def _single(item):
    if hasattr(item, "float"):
        return item.float() if item.is_floating_point() else item
    array = _array(item)
    return array.astype(np.float32) if array.dtype.kind == "f" else array


def _strided(item):
    """Return the same numbers in memory that has gaps."""
    if hasattr(item, "detach"):
        import torch

        return torch.stack([item, item], dim=-1)[..., 0]
    return np.stack([item, item], axis=-1)[..., 0]


def _torch_size(item):
    import torch

    return torch.Size(item)


def _rows(item):
    array = _array(item)
    return tuple(array) if array.ndim else array[()]


SHAPE_STYLES = {
    "a list": list,
    "a torch.Size": _torch_size,
    "an array of whole numbers": np.array,
    "sizes of another integer type": lambda item: tuple(np.int16(size) for size in item),
}
NUMBER_STYLES = {
    "a list of Python numbers": lambda item: _array(item).tolist(),
    "a tuple of rows": _rows,
    "an array": _array,
    "a tensor": lambda item: _tensor(_array(item)),
    "in single precision": lambda item: _single(_array(item)),
    "a tensor in single precision": lambda item: _single(_tensor(_array(item))),
    "in memory with gaps": lambda item: _strided(_array(item)),
    "in column order": lambda item: np.asfortranarray(_array(item)) if np.ndim(item) else item,
}
GRADIENT_STYLES = {
    "in single precision": _single,
    "in memory with gaps": _strided,
    "a copy": lambda item: item.clone(),
}
INPUT_STYLES = {"inputs in memory with gaps": _strided}


def _rewritten(function):
    """Yield the reference with its sums taken in another order."""
    text, _, _ = _parsed(function)
    for what, transformer in (
        ("sums in the reverse order", _Reverse()),
        ("terms and factors exchanged", _Exchange()),
        ("a product with the inverse for a quotient", _Invert()),
    ):
        tree = ast.parse(text)
        changed = ast.unparse(ast.fix_missing_locations(transformer.visit(tree)))
        if transformer.found:
            yield what, _compiled(changed, function, _product=_product, _sum=_sum)


class _Reverse(ast.NodeTransformer):
    found = False

    def visit_BinOp(self, node):
        self.generic_visit(node)
        if not isinstance(node.op, ast.MatMult):
            return node
        self.found = True
        return ast.Call(ast.Name("_product", ast.Load()), [node.left, node.right], [])

    def visit_Call(self, node):
        self.generic_visit(node)
        if not (isinstance(node.func, ast.Attribute) and node.func.attr == "sum"):
            return node
        self.found = True
        return ast.Call(ast.Name("_sum", ast.Load()), [node.func.value, *node.args], node.keywords)


class _Exchange(ast.NodeTransformer):
    found = False

    def visit_BinOp(self, node):
        self.generic_visit(node)
        if not isinstance(node.op, (ast.Add, ast.Mult)) or isinstance(node.left, ast.List):
            return node
        self.found = True
        return ast.BinOp(node.right, node.op, node.left)


class _Invert(ast.NodeTransformer):
    found = False

    def visit_BinOp(self, node):
        self.generic_visit(node)
        if not isinstance(node.op, ast.Div):
            return node
        self.found = True
        return ast.BinOp(node.left, ast.Mult(), ast.BinOp(ast.Constant(1), ast.Div(), node.right))


def _product(left, right):
    """Return ``left @ right``, with the terms of its sums in the reverse order."""
    return _flipped(left, -1) @ _flipped(right, -2 if right.ndim > 1 else -1)


def _sum(value, *axes, **options):
    for axis in range(value.ndim):
        value = _flipped(value, axis)
    total = value.sum(*axes, **options)
    for axis in range(total.ndim):
        total = _flipped(total, axis)
    return total


def _flipped(item, axis):
    return item.flip(axis) if hasattr(item, "detach") else np.flip(item, axis)
