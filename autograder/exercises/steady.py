"""Draw numbers that are nearly the same for every seed, so that an answer earns the same points in every release.

In: a seed, a name. Out: a generator. Whether an answer is wrong depends on sizes, masks, signs and which number is larger.
These are the same in all releases. The numbers differ by up to ``SHARE`` of their value, which is much more than the
tolerance, so that nobody can answer with the results of another release.
"""

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

SHARE = 0.01
Shape = int | Sequence[int] | None


class SteadyGenerator:
    """A random generator for the inputs of one exercise. Its attribute ``free`` is one that depends fully on the seed."""

    def __init__(self, seed: int, name: str):
        digest = int(hashlib.sha256(name.encode()).hexdigest()[:8], 16)
        self._steady = np.random.default_rng([0, digest])
        self.free = np.random.default_rng([seed, digest])
        self.integers, self.choice = self._steady.integers, self._steady.choice
        self.permutation, self.permuted = self._steady.permutation, self._steady.permuted

    def normal(self, size: Shape = None) -> Any:
        return self._steady.normal(size=size) * self._factor(size)

    def uniform(self, low: float = 0.0, high: float = 1.0, size: Shape = None) -> Any:
        return low + (high - low) * self._steady.uniform(size=size) ** self._factor(size)

    def _factor(self, size):
        return 1 + SHARE * self.free.uniform(-1, 1, size=size)
