"""Equivalents of a reference: right answers in other styles, derived from it.

In: a reference, its exercise. Out: functions, some made by changing the syntax tree of the source. Touches nothing.
"""

import ast
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType

import numpy as np
import torch  # imported here so that it does not use up the time limit of a call

from autograder.exercises import Exercise
from autograder.exercises.ast_utils import compile_function, source_of


@dataclass(frozen=True)
class Equivalent:
    """The reference in another style, and equally right."""

    what: str
    function: Callable[..., object]


def equivalents(function: FunctionType, exercise: Exercise) -> tuple[Equivalent, ...]:
    """Return the equivalents of ``function``, the reference of ``exercise``, in the styles that its kind allows.

    If gradients are graded, the result stays a tensor: a list would cut the gradient off.
    """
    return tuple(Equivalent(what, made) for what, made in _equivalents(function, exercise))


def _equivalents(function, exercise):
    styles = dict(SHAPE_STYLES if exercise.kind == "shape" else NUMBER_STYLES)
    if any(case.gradients for case in exercise.cases):
        styles = GRADIENT_STYLES
    for what, turn in styles.items():
        yield what, _style_result(function, turn)
    if exercise.kind == "number":
        decimals = int(np.ceil(-np.log10(exercise.entry.atol)))  # half a unit of the last is well within atol
        yield f"rounded to {decimals} decimals", _style_result(function, lambda item: np.round(_array(item), decimals))
    yield "through a helper function", _wrap_in_helper(function)
    if exercise.kind == "code":
        for what, turn in INPUT_STYLES.items():
            yield what, _style_inputs(function, turn)
        yield from _rewrite(function)


def _style_result(function, turn):
    def styled(*arguments):
        value = function(*arguments)
        return {key: turn(item) for key, item in value.items()} if isinstance(value, dict) else turn(value)

    return styled


def _style_inputs(function, turn):
    def styled(*arguments):
        return function(*(turn(item) if hasattr(item, "shape") and item.ndim > 1 else item for item in arguments))

    return styled


def _wrap_in_helper(function):
    def styled(*arguments):
        def helper(*again):
            return function(*again)

        return helper(*arguments)

    return styled


def _array(item):
    return item.detach().numpy() if hasattr(item, "detach") else np.asarray(item)


def _tensor(item):
    return torch.as_tensor(item)


def _copy_with_gaps(item):
    """Return the same numbers in memory that is not contiguous."""
    if hasattr(item, "detach"):
        return torch.stack([item, item], dim=-1)[..., 0]
    return np.stack([item, item], axis=-1)[..., 0]


def _torch_size(item):
    return torch.Size(item)


def _rows(item):
    array = _array(item)
    return tuple(array) if array.ndim else array[()]


SHAPE_STYLES = {
    "a list": list,
    "a torch.Size": _torch_size,
    "an array of whole numbers": np.array,
    "sizes of another integer type": lambda item: tuple(np.int32(size) for size in item),
}
NUMBER_STYLES = {
    "a list of Python numbers": lambda item: _array(item).tolist(),
    "a tuple of rows": _rows,
    "an array": _array,
    "a tensor": lambda item: _tensor(_array(item)),
    "not contiguous in memory": lambda item: _copy_with_gaps(_array(item)),
    "in column order": lambda item: np.asfortranarray(_array(item)) if np.ndim(item) else item,
}
GRADIENT_STYLES = {
    "not contiguous in memory": _copy_with_gaps,
    "a copy": lambda item: item.clone(),
}
INPUT_STYLES = {"inputs that are not contiguous in memory": _copy_with_gaps}


def _rewrite(function):
    """Yield ``(what, function)`` for each way of rearranging the reference's arithmetic that changes it."""
    text = source_of(function)
    unchanged = ast.unparse(ast.parse(text))
    for what, transformer in (
        ("sums in the reverse order", _ReverseSums()),
        ("terms and factors exchanged", _SwapOperands()),
        ("multiplication by the inverse instead of division", _MultiplyByInverse()),
    ):
        changed = ast.unparse(ast.fix_missing_locations(transformer.visit(ast.parse(text))))
        if changed != unchanged:
            helpers = {"_inverse": _inverse, "_product": _product, "_sum": _sum}
            yield what, compile_function(changed, {**function.__globals__, **helpers})


class _ReverseSums(ast.NodeTransformer):
    def visit_BinOp(self, node):
        self.generic_visit(node)
        if not isinstance(node.op, ast.MatMult):
            return node
        return ast.Call(ast.Name("_product", ast.Load()), [node.left, node.right], [])

    def visit_Call(self, node):
        self.generic_visit(node)
        if not (isinstance(node.func, ast.Attribute) and node.func.attr == "sum"):
            return node
        return ast.Call(ast.Name("_sum", ast.Load()), [node.func.value, *node.args], node.keywords)


class _SwapOperands(ast.NodeTransformer):
    def visit_BinOp(self, node):
        self.generic_visit(node)
        if not isinstance(node.op, (ast.Add, ast.Mult)) or isinstance(node.left, ast.List):
            return node
        return ast.BinOp(node.right, node.op, node.left)


class _MultiplyByInverse(ast.NodeTransformer):
    def visit_BinOp(self, node):
        self.generic_visit(node)
        if not isinstance(node.op, ast.Div):
            return node
        return ast.BinOp(node.left, ast.Mult(), ast.Call(ast.Name("_inverse", ast.Load()), [node.right], []))


def _inverse(item):
    """Return 1 divided by ``item``, in double precision: torch divides whole numbers in single precision."""
    return 1 / (item.double() if hasattr(item, "detach") else item)


def _product(left, right):
    """Return ``left @ right``, with its sums taken in the reverse order."""
    return _flip(left, -1) @ _flip(right, -2 if right.ndim > 1 else -1)


def _sum(value, *axes, **options):
    for axis in range(value.ndim):
        value = _flip(value, axis)
    total = value.sum(*axes, **options)
    for axis in range(total.ndim):
        total = _flip(total, axis)
    return total


def _flip(item, axis):
    return item.flip(axis) if hasattr(item, "detach") else np.flip(item, axis)
