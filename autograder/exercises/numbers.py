"""Properties of a value that is made of numbers, or of a dict of such values, whatever its shape.

In: an array, anything that numpy turns into one, or a dict of them. Out: a number or a bool. Touches nothing.
"""

import numpy as np


def largest(value: object) -> float:
    """Return the largest absolute value in ``value``; 0 if it has no numbers."""
    if isinstance(value, dict):
        return max(map(largest, value.values()), default=0.0)
    return float(np.abs(np.asarray(value, dtype=float)).max(initial=0.0))


def is_finite(value: object) -> bool:
    """Return whether every number in ``value`` is neither infinite nor nan."""
    if isinstance(value, dict):
        return all(map(is_finite, value.values()))
    return bool(np.isfinite(np.asarray(value, dtype=float)).all())
