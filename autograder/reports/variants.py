"""Say whether an exercise is as hard with some students' own numbers as with others'.

In: a release, the marks. Out: frozen records of numbers. Pure.

Source of the p-value: a permutation test of the variance between groups (Good, 2005), as exact for small groups as for large ones.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from nbformat import NotebookNode

from autograder.gradebook.scores import StudentResult
from autograder.notebooks.handout import handout, own_draws

MIN_STUDENTS = 20  # for a comparison
PERMUTATIONS = 2000


@dataclass(frozen=True)
class VariantAnalysis:
    """One exercise with own numbers: how many ``variants`` the ``marked`` students had, and how their marks compare.

    ``lowest`` and ``highest`` are the average shares of the points, 0 to 1, in the variants where they are least and most.
    ``p_value`` is how often chance alone makes the variants differ as much; None if too few students were marked, or all have the
    same points.
    """

    name: str
    marked: int
    variants: int
    lowest: float
    highest: float
    p_value: float | None


def analyse_variants(release: NotebookNode, everybody: Mapping[str, StudentResult]) -> Iterable[VariantAnalysis]:
    """Yield a ``VariantAnalysis`` for each exercise of ``release`` in which students have numbers of their own."""
    asked = handout(release)
    numbers = {student: own_draws(asked, student) for student in everybody}
    for name in own_draws(asked, ""):
        entries = {student: one.entries[name] for student, one in everybody.items() if name in one.entries}
        marked = {student: entry.score / entry.points for student, entry in entries.items() if not entry.waiting}
        if not marked:
            continue
        shares = np.array(list(marked.values()))
        _, groups = np.unique([numbers[student][name][0] for student in marked], axis=0, return_inverse=True)
        averages = _averages(shares, groups)
        p_value = compare_groups(shares, groups) if len(shares) >= MIN_STUDENTS else None
        yield VariantAnalysis(name, len(shares), len(averages), float(averages.min()), float(averages.max()), p_value)


def compare_groups(shares: np.ndarray, groups: np.ndarray) -> float | None:
    """Return how often groups of these sizes, drawn by chance, differ at least as much as ``groups``; None without a difference.

    Parameters
    ----------
    shares, groups : (students,)
        The share of an exercise's points, and the number of the student's group, from 0.
    """
    if not np.ptp(shares) or not np.ptp(groups):
        return None
    rng, observed = np.random.default_rng(0), _variance_between(shares, groups)
    drawn = [_variance_between(rng.permutation(shares), groups) for _ in range(PERMUTATIONS)]
    return (1 + sum(one >= observed - 1e-12 for one in drawn)) / (1 + PERMUTATIONS)


def _averages(shares, groups):
    return np.bincount(groups, shares) / np.bincount(groups)


def _variance_between(shares, groups):
    return float((np.bincount(groups) * (_averages(shares, groups) - shares.mean()) ** 2).sum())
