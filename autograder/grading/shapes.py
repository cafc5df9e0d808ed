"""Explain a wrong shape by looking its sizes up among the letters of the exercise, their products and sums.

The sentence names the letters that the student used, and what the axis should count, but never the right letters.
"""

import ast
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, combinations_with_replacement, product

import numpy as np

MAX_AXES = 9


def explain(
    entry: str,
    values: Sequence[Sequence[int]],
    expected: Sequence[Sequence[int]],
    sizes: Sequence[Mapping[str, int]],
    roles: Mapping[str, str],
    equations: Iterable[str] = (),
) -> str:
    """Return a sentence on the wrong shapes ``values`` of ``entry``, or "" if they differ in length or are too long.

    Shapes that are right for some sizes get one only if they choose between two sizes. ``values``, ``expected`` and ``sizes``
    (letter -> number) hold one item for each set of sizes; ``roles`` says what each letter counts.
    """
    names = _name_sizes(sizes)
    right = _name_axes(expected, names)
    names = {**_name_choices(sizes, expected), **names}
    yours = _name_axes(values, names)
    if yours is None or right is None:
        return ""
    wrong = [axis for axis, (one, other) in enumerate(zip(yours, right, strict=False)) if one != other]
    is_right_somewhere = any(tuple(mine) == tuple(other) for mine, other in zip(values, expected, strict=True))
    if is_right_somewhere and not all(_is_choice(yours[axis]) for axis in wrong):
        return ""  # only a choice between two sizes is right in some calls
    written = _format_tuple(yours)
    if sorted(map(str, yours)) == sorted(map(str, right)):
        return f"{written} has the right sizes in the wrong order: it looks transposed"
    if len(yours) != len(right):
        return f"{written} {_explain_axis_count(entry, yours, right, equations)}"
    return f"{written}: " + ", and ".join(_explain_axis(entry, n, yours, right, roles, equations) for n in wrong[:2])


def _name_sizes(sizes):
    """Return ``{values over the sets of sizes: name}``, the simplest name for each: letters, multiples, sums, products."""
    letters = {letter: np.array([row[letter] for row in sizes]) for letter in sizes[0]}

    def times(factor, letter):
        return f"{factor} * {letter}" if factor > 1 else letter, factor * letters[letter]

    terms = [times(factor, letter) for factor in (1, 2, 3, 4) for letter in letters]
    named = [*terms, *((f"{a} + {b}", x + y) for (a, x), (b, y) in combinations(terms, 2))]
    named += [(f"{a} * {b}", letters[a] * letters[b]) for a, b in combinations_with_replacement(letters, 2)]
    for letter, values in letters.items():
        named += [(f"{letter} + 1", values + 1), (f"{letter} - 1", values - 1)]
    for trio in combinations(letters, 3):
        for factors in product((1, 2), repeat=3):
            parts = [times(factor, letter) for factor, letter in zip(factors, trio, strict=True)]
            named.append((" + ".join(name for name, _ in parts), sum(values for _, values in parts)))
    return {tuple(values.tolist()): name for name, values in reversed(named)}  # the first of several names wins


def _name_choices(sizes, expected):
    """Return ``{values: name}`` of the larger and the smaller of two terms: letters, twice a letter, axes of ``expected``."""
    letters = {letter: np.array([row[letter] for row in sizes]) for letter in sizes[0]}
    terms = {**letters, **{f"2 * {letter}": 2 * values for letter, values in letters.items()}}
    named = _name_sizes(sizes)
    axes = [tuple(map(int, axis)) for axis in zip(*expected, strict=True)]
    terms |= {named[axis]: np.array(axis) for axis in axes if axis in named}
    return {
        tuple(choice(x, y).tolist()): f"the {which} of {a} and {b}"
        for (a, x), (b, y) in combinations(terms.items(), 2)
        for choice, which in ((np.maximum, "larger"), (np.minimum, "smaller"))
    }


def _is_choice(name):
    """Return whether ``name`` is one of ``_name_choices``."""
    return name is not None and " of " in name


def explain_size_one(
    values: Sequence[Sequence[int]], expected: Sequence[Sequence[int]], sizes: Sequence[Mapping[str, int]]
) -> str:
    """Return a sentence if the shapes ``values`` are wrong exactly where one letter, or one of several, is 1; else ""."""
    wrong = [tuple(value) != tuple(right) for value, right in zip(values, expected, strict=True)]
    fatal = [
        letter
        for letter in sizes[0]
        if all(is_wrong for is_wrong, row in zip(wrong, sizes, strict=True) if row[letter] == 1)
    ]
    if not any(wrong) or wrong != [any(row[letter] == 1 for letter in fatal) for row in sizes]:
        return ""
    is_short = any(len(value) < len(right) for value, right in zip(values, expected, strict=True))
    lost = ": an axis of length 1 is lost there, as by `squeeze`" if is_short else ""
    return f"it is wrong only where {' or '.join(fatal)} is 1{lost}"


def _name_axes(shapes, names):
    """Return the name of each axis, or None if it has none; None for all if their number varies or exceeds ``MAX_AXES``."""
    if len({len(shape) for shape in shapes}) != 1 or len(shapes[0]) > MAX_AXES:
        return None
    axes = [tuple(map(int, axis)) for axis in zip(*shapes, strict=True)]
    return [names.get(axis) or (str(axis[0]) if len(set(axis)) == 1 else None) for axis in axes]


def _format_tuple(axes):
    inside = ", ".join(name or "something else" for name in axes)
    return f"({inside},)" if len(axes) == 1 else f"({inside})"


def _explain_axis_count(entry, yours, right, equations):
    vector = _find_multiplied(entry, equations)
    if len(yours) == 1 and len(right) == 2 and vector:
        if yours[0] == right[1]:
            return f"is the shape of {vector} itself: a matrix that multiplies it has two axes"
        return f"is the shape of a vector: a matrix that multiplies {vector} has two axes"
    if len(yours) > len(right):
        sizes = "the right sizes, but" if _is_subsequence(right, yours) else "the wrong sizes, and"
        return f"has {sizes} {_format_axis_count(len(yours) - len(right))} too many"
    sizes = "sizes that belong there, but" if _is_subsequence(yours, right) else "the wrong sizes, and"
    return f"has {sizes} {_format_axis_count(len(right) - len(yours))} too few"


def _format_axis_count(count):
    return "one axis" if count == 1 else f"{count} axes"


def _is_subsequence(few, many):
    """Return whether the axes ``few`` occur in ``many`` in the same order."""
    rest = iter(many)
    return all(axis in rest for axis in few)


def _explain_axis(entry, axis, yours, right, roles, equations):
    mine, belongs = yours[axis], right[axis]
    if _is_choice(mine):
        return f"axis {axis} is {mine}, but the right size does not depend on which is larger"
    if mine is None:
        return f"axis {axis} is neither a letter nor a simple product or sum of letters"
    if mine.isdigit():
        return f"axis {axis} is {mine} whatever the sizes are, but something else belongs there"
    text = f"axis {axis} is {mine}" + (f", {roles[mine]}" if mine in roles else "")
    more, less = _compare_sums(mine, belongs)
    if more and not less and belongs not in roles:
        letter = next(iter(more))
        where = "too many times" if letter in belongs.split() else "in addition to what belongs there"
        return f"{text}: {letter}{f', {roles[letter]},' if letter in roles else ''} is counted {where}"
    if less and not more:
        return f"{text}, which is only part of what belongs there"
    if belongs in roles:
        if mine.startswith(f"{belongs} - "):
            return f"{text}, which is less than what belongs there"
        if mine not in roles and belongs in mine.split() and "-" not in mine.split():
            return f"{text}, which is more than what belongs there"
        vector = _find_multiplied(entry, equations) if len(right) == 2 and axis == 1 else ""
        reason = f": this matrix multiplies {vector}" if vector else ""
        return f"{text}, where {roles[belongs]} belongs{reason}"
    if mine in belongs.split():
        return f"{text}, which is only part of what belongs there"
    return f"{text}, but something else belongs there"


def _compare_sums(mine, belongs):
    """Return which letters the sum ``mine`` has more of than ``belongs``, and fewer of; none if either is not a sum."""
    here, there = _summands(mine), _summands(belongs)
    if here is None or there is None:
        return Counter(), Counter()
    return here - there, there - here


def _summands(name):
    """Return how often each letter occurs in the sum ``name``, such as "2 * m + d"; None for a product of letters."""
    counts = Counter()
    for term in name.split(" + "):
        times, _, letter = term.rpartition(" * ")
        if not letter.isidentifier() or (times and not times.isdigit()):
            return None
        counts[letter] += int(times or 1)
    return counts


def _find_multiplied(entry, equations):
    """Return what the matrix ``entry`` multiplies in the equations, as written there, or ""."""
    for equation in equations:
        for node in ast.walk(ast.parse(equation)):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult) and ast.unparse(node.left) == entry:
                return ast.unparse(node.right)
    return ""
