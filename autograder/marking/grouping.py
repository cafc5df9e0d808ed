"""Group similar answers, so that a marker gives them the same marks. Pure."""

import re
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from autograder.marking.answers import Answer

PUNCTUATION = """.,;:!?…"'“”‘’«»()"""  # at the edges of a word: inside one, they may be part of a formula
WORD = re.compile(r"[^\W\d_]{2,}")
MIN_SHARED_FRACTION = 0.6  # share of words that near-identical answers have in common
BINS = 4096  # words are counted by their hash, so that a matrix of answers and words stays small


@dataclass(frozen=True)
class Group:
    """Answers that say the same and have the same marks. ``near``: similar to one of the groups right before."""

    answers: tuple[Answer, ...]
    near: bool = False

    @property
    def waiting(self) -> bool:
        return any(answer.held.waiting for answer in self.answers)


def normalise(text: str) -> str:
    """Normalise white space, punctuation around words, and case in ``text``; single letters and formulas keep their case."""
    words = [word for part in text.split() if (word := part.strip(PUNCTUATION))]
    return " ".join(word.casefold() if WORD.fullmatch(word) else word for word in words)


def group_similar(answers: Sequence[Answer], key: Callable[[Answer], str]) -> list[Group]:
    """Return ``answers`` in groups: first those waiting to be marked, then the others; similar groups are adjacent.

    ``key`` breaks ties; for anonymous marking it must not reveal the student. Answers with different marks are in
    different groups.
    """
    together: dict[tuple, list[Answer]] = {}
    for answer in sorted(answers, key=key):
        held = answer.held
        same = normalise(answer.text), answer.drawn, held.waiting, held.points, held.comment
        together.setdefault(same, []).append(answer)
    groups = [Group(tuple(members)) for members in together.values()]
    waiting = [group for group in groups if group.waiting]
    return [*_order_by_likeness(waiting), *_order_by_likeness([group for group in groups if not group.waiting])]


def _order_by_likeness(groups: list[Group]) -> list[Group]:
    """Order ``groups`` by size, each followed by those that are similar to it."""
    groups = sorted(groups, key=lambda group: -len(group.answers))
    if not groups:
        return []
    words = np.zeros((len(groups), BINS), dtype=np.float32)  # (groups, words)
    for row, group in zip(words, groups, strict=True):
        own = normalise(group.answers[0].text).encode("utf-8", "replace").split()
        row[[zlib.crc32(word) % BINS for word in own]] = 1
    sizes = words.sum(axis=1)
    common = words @ words.T  # (groups, groups)
    ordered, left = [], np.ones(len(groups), dtype=bool)
    for first in range(len(groups)):
        best, at = np.zeros(len(groups), dtype=np.float32), first if left[first] else None
        while at is not None:
            ordered.append(Group(groups[at].answers, near=bool(best[at] > 0)))
            left[at] = False
            either = np.maximum(sizes + sizes[at] - common[at], 1)
            best = np.maximum(best, common[at] / either) * left  # Jaccard similarity
            at = int(best.argmax()) if best.max() >= MIN_SHARED_FRACTION else None
    return ordered
