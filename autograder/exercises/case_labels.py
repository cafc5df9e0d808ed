"""Say what kinds of hidden cases an exercise has, so that nobody mistakes a correct example for a correct answer.

In: an exercise. Out: words, derived from the cases themselves. Touches nothing.
"""

import re

import numpy as np

from autograder.exercises.families import LARGE_PARTS, WHERE_LARGE
from autograder.exercises.model import Case, Exercise
from autograder.exercises.numbers import largest

HUGE = 5e4  # only numbers at pads are so large
PROMISES = {  # a promise in a text, as a regular expression -> the kind of hidden case it requires
    r"(batch of )?one (sentence|position)|all sizes 1": "an axis of length 1",
    r"in the thousands|some thousands": "large numbers",
    r"mask` (.* )?(is|and is) true at": "padding",
    r"without (a|any) real (word|token)": "a sentence without a word",
    r"[Gg]radients (must )?reach": "gradients",
    r"anywhere in its row|need not stand together": "padding before a word",
}


def kinds_of_hidden(exercise: Exercise) -> list[str]:
    """Return the kinds of hidden cases that ``exercise`` has; a case may be of several kinds."""
    shown = [_sizes(case) for case in exercise.shown]
    kinds = {
        "other sizes": any(_sizes(case) not in shown for case in exercise.hidden),
        "padding": any(_pads(case).any() for case in exercise.hidden),
        "a sentence without a word": any(_pads(case).all(axis=-1).any() for case in exercise.hidden),
        "large numbers": any(map(is_large, exercise.hidden)),
        "an axis of length 1": any(1 in sizes for case in exercise.hidden for sizes in _sizes(case)),
        "gradients": any(case.gradients for case in exercise.hidden),
    }
    return [kind for kind, there in kinds.items() if there]


def is_large(case: Case) -> bool:
    """Return whether the numbers of ``case`` are large on purpose: its part says so, one of its families, or their size."""
    is_so_by_name = case.part in LARGE_PARTS or WHERE_LARGE in case.families.values()
    return is_so_by_name or largest(_inputs_of_dtype(case, "f")) >= HUGE


def families_of_hidden(exercise: Exercise) -> list[str]:
    """Return descriptions of the families that were drawn for the hidden cases of ``exercise``."""
    return list(dict.fromkeys(words for case in exercise.hidden for words in case.families))


def find_unmet_promises(exercise: Exercise, text: str) -> list[tuple[str, str]]:
    """Return ``(promise, kind)`` for each promise of ``text`` that no hidden case of ``exercise`` tests."""
    kept = {*kinds_of_hidden(exercise), *families_of_hidden(exercise)}
    matches = [(re.search(promise, text), kind) for promise, kind in PROMISES.items()]
    return [(match[0], kind) for match, kind in matches if match and kind not in kept]


def _sizes(case: Case):
    """Return the shapes of the inputs; an integer, as in the exercises on shapes, counts as a size itself."""
    return [np.shape(item) or ((item,) if isinstance(item, int) else ()) for item in case.inputs.values()]


def _pads(case: Case):
    """Return where the first mask of ``case`` is False, one row per sentence; a row without pads if it has no mask."""
    masks = [np.asarray(item) for item in _inputs_of_dtype(case, "b").values()]
    return ~masks[0].reshape(-1, masks[0].shape[-1]) if masks else np.zeros((1, 1), dtype=bool)


def _inputs_of_dtype(case: Case, kind: str):
    return {name: item for name, item in case.inputs.items() if np.asarray(item).dtype.kind == kind}
