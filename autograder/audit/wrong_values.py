"""Wrong numbers close to the right ones, for exercises worked by hand.

In: a value. Out: wrong values, each with a description of what was done. Touches nothing.
"""

from collections.abc import Iterator

import numpy as np

SHIFTS = 1.5, 4.0  # of one number, in tolerances


def wrong_values(value: object, atol: float) -> Iterator[tuple[str, object]]:
    """Yield ``(what, wrong value)`` for the numbers that a hand calculation gives: an array, or a dict of arrays.

    Parameters
    ----------
    value : array or dict of arrays
    atol : float
        Every shift of a number is larger than this.
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
