"""Check whether shapes fit together in an equation, and say which product or sum does not fit, and why.

In: an equation in Python's notation, shapes by name. Out: the shape of the whole, or ``Misfit`` with a sentence. Uses only the
standard library: notebooks of assignments with equations contain this source, below that of ``compare``.
"""

import ast
import math

from autograder.exercises.compare import NotYet


class Misfit(ValueError):
    """Raised if two shapes in an equation do not fit together: the sentence says where, and why."""


def shape_of(equation, shapes):
    """Return the shape of ``equation``; ``shapes`` has the shape of each name in it. A size of None matches any.

    ``x @ y`` is a product of matrices, of a matrix and a vector, or of two vectors; ``x + y``, ``x * y`` and ``x / y`` are
    elementwise; ``x.T`` swaps rows and columns; ``flat(x)`` flattens ``x`` into a vector, and any other function acts
    elementwise. In ``name = ...`` and in ``x == y``, both sides must have the same shape. Raises ``Misfit`` at the first
    place where two shapes do not fit.
    """
    (line,) = ast.parse(equation).body
    whole, other = line.value, None
    if isinstance(line, ast.Assign):
        (other,) = line.targets
    elif isinstance(whole, ast.Compare):
        whole, (other,) = whole.left, whole.comparators
    shape = _shape(whole, shapes)
    if other is not None and not _alike(shape, wanted := _shape(other, shapes)):
        left, right = (f"{ast.unparse(node)} has {_describe_shape(s)}" for node, s in ((whole, shape), (other, wanted)))
        raise Misfit(f"{left}, but {right}.")
    return shape


def compose(function, equations, inputs, given):
    """Raise ``NotYet`` if the shapes that ``function`` returns, right or wrong, do not fit together in ``equations``."""
    answer = {name: tuple(map(int, shape)) for name, shape in function(*inputs.values()).items()}
    for equation in equations:
        try:
            shape_of(equation, {**given, **answer})
        except Misfit as misfit:
            sizes = ", ".join(f"{letter}={size}" for letter, size in inputs.items())
            what = f"your shapes do not fit together in {equation}. With {sizes}: {misfit}"
            raise NotYet(f"{function.__name__}: {what}") from None


def _shape(node, shapes):
    if isinstance(node, ast.Name):
        return shapes[node.id]
    if isinstance(node, ast.Call):
        inner = _shape(node.args[0], shapes)
        if ast.unparse(node.func) != "flat":
            return inner
        return (None if None in inner else math.prod(inner),)
    if isinstance(node, ast.Attribute):
        return _transpose(_shape(node.value, shapes), ast.unparse(node.value))
    left, right = _shape(node.left, shapes), _shape(node.right, shapes)
    join = _product if isinstance(node.op, ast.MatMult) else _entry_by_entry
    return join(left, right, ast.unparse(node.left), ast.unparse(node.right), ast.unparse(node))


def _transpose(shape, name):
    if len(shape) < 2:
        raise Misfit(f"{name} has {_describe_shape(shape)}: only a matrix has rows and columns to swap.")
    return (*shape[:-2], shape[-1], shape[-2])


def _product(left, right, left_name, right_name, whole):
    for shape, name in ((left, left_name), (right, right_name)):
        if not shape:
            raise Misfit(f"In {whole}, {name} is a single number: it has no axis to multiply along.")
    inner, outer = left[-1], right[-2:][0]  # the columns of the left meet the rows of the right
    if not _alike((inner,), (outer,)):
        columns = _count(inner, "column" if len(left) > 1 else "number")
        rows = _count(outer, "row" if len(right) > 1 else "number")
        raise Misfit(f"In {whole}, {left_name} has {columns} and {right_name} has {rows}.")
    before = left[:-2], right[:-2]
    if all(before) and not _alike(*before):
        raise _misfit(left, right, left_name, right_name, whole)
    return (*_leading_axes(*before), *left[-2:-1], *right[-1:][: len(right) - 1])


def _entry_by_entry(left, right, left_name, right_name, whole):
    length = max(len(left), len(right))
    padded = [(1,) * (length - len(shape)) + shape for shape in (left, right)]
    joined = tuple(map(_broadcast_size, *padded))
    # numpy would also broadcast both at once, or a scalar over a whole vector, but no equation here means that
    if 0 in joined or not (_alike(joined, left) or _alike(joined, right)) or bool(left) != bool(right):
        raise _misfit(left, right, left_name, right_name, whole)
    return joined


def _misfit(left, right, left_name, right_name, whole):
    shapes = f"{left_name} has {_describe_shape(left)} and {right_name} has {_describe_shape(right)}"
    return Misfit(f"In {whole}, {shapes}.")


def _broadcast_size(one, other):
    """Return the size of an axis after broadcasting the two sizes, or 0 if they do not fit."""
    if one == other or other == 1:
        return one
    if one == 1 or one is None:
        return other
    return one if other is None else 0


def _alike(one, other):
    return len(one) == len(other) and all(
        size in (None, other[axis]) or other[axis] is None for axis, size in enumerate(one)
    )


def _leading_axes(one, other):
    """Return the batch axes of a product: those of the operand that has them, preferring known sizes."""
    if not (one and other):
        return one or other
    return tuple(other[axis] if size is None else size for axis, size in enumerate(one))


def _describe_shape(shape):
    if not shape:
        return "no axes: it is a single number"
    if len(shape) == 1:
        return _count(shape[0], "number")
    return f"the shape ({', '.join('any' if size is None else str(size) for size in shape)})"


def _count(size, what):
    if size is None:
        return f"some {what}s"
    return f"{size} {what}{'' if size == 1 else 's'}"
