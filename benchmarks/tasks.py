"""The translation tasks of ``benchmarks.comparisons``, with their training, validation and test data."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch

from solutions.in_numpy import spelling
from solutions.in_numpy.capstone import PAD, SOURCE_WORDS, START, STOP, TARGET_WORDS, draw_sentences
from solutions.in_torch.capstone import EMBEDDING_SIZE, MAX_LENGTH, as_tensors

Tensors = dict[str, torch.Tensor]


@dataclass(frozen=True)
class TranslationTask:
    """A source language and a target language.

    ``draw(count, seed)`` returns a training set, padded to the longest; ``unseen(part)`` the "validation" or "test" set.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    draw: Callable[[int, int], Tensors]
    unseen: Callable[[str], Tensors]
    longest: int  # the most that greedy search may write
    length_groups: tuple[tuple[int, int], ...] = ()  # of source sentences, for the results on the test set
    embedding_size: int = EMBEDDING_SIZE
    measured: int = 500  # training examples on which the training loss is measured
    score: Callable[[list[list[int]], str], dict] | None = None  # results from what was written for a part


def _draw_sentences(count, seed):
    return as_tensors(draw_sentences(count, seed))


@cache
def _unseen_sentences(part):
    """Return 2000 sentences for the "test" (the page on the capstone uses the first 500), or 500 others."""
    test = draw_sentences(2000, seed=7, least=5, kept_back=True)
    if part == "test":
        return as_tensors(test)
    return as_tensors([s for s in draw_sentences(1000, seed=8, least=5, kept_back=True) if s not in set(test)][:500])


@cache
def _words(part):
    return {name: torch.from_numpy(array) for name, array in spelling.as_arrays(spelling.words_of(part)).items()}


def _draw_words(count, seed):
    """Return ``count`` of the training words, in an order that does not depend on the seed."""
    order = torch.from_numpy(np.random.default_rng(0).permutation(len(spelling.words_of("training"))))
    return {name: tensor[order[:count]] for name, tensor in _words("training").items()}


def _score_words(written, part):
    """Return edits, phonemes and exact matches by word length; each word is compared with its nearest pronunciation."""
    words = spelling.words_of(part)
    counted = [spelling.count_edits(spelling.as_phonemes(row), word) for row, word in zip(written, words, strict=True)]
    groups = {"all": (0, spelling.LONGEST)} | {f"{a}-{b}": (a, b) for a, b in TASKS["spelling"].length_groups}
    inside = {
        name: [pair for pair, word in zip(counted, words, strict=True) if least <= len(word) <= most]
        for name, (least, most) in groups.items()
    }
    return {
        "edits_of": {name: [sum(edits for edits, _ in of), sum(size for _, size in of)] for name, of in inside.items()},
        "right_of": {name: [sum(edits == 0 for edits, _ in of), len(of)] for name, of in inside.items()},
    }


TASKS = {
    "sentences": TranslationTask(
        SOURCE_WORDS, TARGET_WORDS, _draw_sentences, _unseen_sentences, MAX_LENGTH, ((5, 7), (8, 10), (11, 15))
    ),
    "spelling": TranslationTask(
        spelling.LETTERS,
        spelling.PHONEMES,
        _draw_words,
        _words,
        spelling.MOST_PHONEMES,
        ((2, 5), (6, 7), (8, 9), (10, 16)),
        embedding_size=64,
        measured=3000,
        score=_score_words,
    ),
}


@cache
def training_set(task: str, count: int, seed: int) -> tuple[Tensors, torch.Tensor]:
    """Return ``count`` examples, and the lengths by which batches of them are sorted."""
    tensors = TASKS[task].draw(count, seed)
    return tensors, (tensors["target"] != PAD).sum(dim=1)


def draw_batch(task: str, count: int, seed: int, step: int, size: int = 64, pool: int = 20) -> tuple[torch.Tensor, ...]:
    """Return source, lengths, target_in and target of one step: they depend on the arguments alone.

    As in Bahdanau et al. (2015, App. B.2): examples for 20 batches are drawn, sorted by length and cut into batches, so that
    few positions are padding.
    """
    tensors, target_lengths = training_set(task, count, seed)
    rng = np.random.default_rng([seed, step // pool])
    drawn = torch.from_numpy(rng.integers(0, count, pool * size))
    batches = drawn[target_lengths[drawn].argsort(stable=True)].view(pool, size)
    chosen = batches[rng.permutation(pool)[step % pool]]
    lengths = tensors["lengths"][chosen]
    source_len, target_len = lengths.max(), target_lengths[chosen].max()
    source = tensors["source"][chosen, :source_len]
    return source, lengths, tensors["target_in"][chosen, :target_len], tensors["target"][chosen, :target_len]


__all__ = ["PAD", "START", "STOP", "TASKS", "TranslationTask", "draw_batch", "training_set"]
