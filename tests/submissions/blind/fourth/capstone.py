import itertools
from fractions import Fraction

import numpy as np


# 7.4 exact_match


def exact_match__wrong_beginning_is_enough(words, target):
    """The student compares what stands before the model's stop word only, so that a beginning counts as all."""
    right = 0
    for wrote, goal in zip(words.tolist(), target.tolist()):
        if 2 in wrote:
            wrote = wrote[: wrote.index(2)]
            right += wrote == goal[: len(wrote)]
    return right / len(words)


def exact_match__right_text(words, target):
    """Both rows become text, and one must begin with the other up to its stop word."""
    def text(row):
        return "".join(f"{int(word)} " for word in row)

    hits = [text(wrote).startswith(text(goal[: list(goal).index(2) + 1])) for wrote, goal in zip(words, target)]
    return hits.count(True) / len(hits)


def exact_match__right_no_difference(words, target):
    """A difference counts where the target has no pad; missing columns are filled with a number that is no word."""
    wrote = np.full(target.shape, -7)
    width = min(words.shape[1], target.shape[1])
    wrote[:, :width] = words[:, :width]
    return 1 - np.count_nonzero(np.any((wrote != target) & (target > 0), axis=1)) / target.shape[0]


def exact_match__right_zip_longest(words, target):
    """Step by step through all sentences together, with those still alive in a set."""
    alive, done = set(range(len(words))), set()
    for i in range(max(words.shape[1], target.shape[1])):
        for b in sorted(alive):
            wrote = words[b, i] if i < words.shape[1] else None
            goal = target[b, i] if i < target.shape[1] else None
            if wrote is None or goal is None or wrote != goal:
                alive.discard(b)
            elif goal == 2:
                alive.discard(b)
                done.add(b)
    return float(Fraction(len(done), len(words)))


def exact_match__right_recursion(words, target):
    """A recursion over two rows that ends at the first stop word."""
    def same(wrote, goal):
        return bool(wrote) and wrote[0] == goal[0] and (goal[0] == 2 or same(wrote[1:], goal[1:]))

    return np.mean([same(*rows) for rows in zip(words.tolist(), target.tolist())])


# 7.5 noun_alignment


def noun_alignment__wrong_more_than_half(weights, positions):
    """The student asks for more than half of the weight, where the largest is enough."""
    b, i = np.nonzero(positions >= 0)
    taken = i < weights.shape[1]
    return float((weights[b[taken], i[taken], positions[b, i][taken]] > 0.5).sum() / len(b))


def noun_alignment__wrong_zero_means_stopped(weights, positions):
    """The student takes a step for not taken where any of its weights is 0."""
    b, i = np.nonzero(positions >= 0)
    hits = 0
    for sentence, step in zip(b, i):
        if step < weights.shape[1] and np.all(weights[sentence, step] > 0):
            hits += int(weights[sentence, step].argmax() == positions[sentence, step])
    return hits / len(b)


def noun_alignment__wrong_flat_rows(weights, positions):
    """The student flattens sentences and steps of both arrays, which fit each other only if they have equally many steps."""
    rows = weights.reshape(-1, weights.shape[2])
    places = positions.reshape(-1)
    nouns = np.flatnonzero(places >= 0)
    hits = [k < len(rows) and rows[k].any() and rows[k].argmax() == places[k] for k in nouns]
    return float(sum(hits) / len(hits))


def noun_alignment__right_sorted(weights, positions):
    """Pairs of weight and place are sorted, and the last one tells, if its weight is above 0."""
    hits = []
    for rows, places in zip(weights.tolist(), positions.tolist()):
        for row, place in itertools.zip_longest(rows[: len(places)], places, fillvalue=[0.0]):
            if place >= 0:
                weight, best = max((w, j) for j, w in enumerate(row))
                hits.append(weight > 0 and best == place)
    return hits.count(True) / len(hits)


def noun_alignment__right_extra_source(weights, positions):
    """A source place more, with a very small weight, is the largest where a step was not taken."""
    b, i = np.nonzero(positions + 1)
    steps = max(weights.shape[1], positions.shape[1])
    wide = np.zeros((len(weights), steps, weights.shape[2] + 1))
    wide[..., -1] = 1e-300
    wide[:, : weights.shape[1], :-1] = weights
    return np.equal(wide.argmax(-1)[b, i], positions[b, i]).mean()


def noun_alignment__right_rivals(weights, positions):
    """A noun is hit where its weight is above 0 and no other weight of the step is as large."""
    steps = min(weights.shape[1], positions.shape[1])
    w, p = weights[:, :steps], positions[:, :steps, None]
    own = np.take_along_axis(w, np.maximum(p, 0), axis=2)
    hit = (own > 0) & (p >= 0) & ((w >= own).sum(2, keepdims=True) == 1)
    return np.count_nonzero(hit) / np.count_nonzero(positions >= 0)


def noun_alignment__right_generator(weights, positions):
    """A generator over the nouns, whose mean is exact as a fraction."""
    def hits():
        for (b, i), place in np.ndenumerate(positions):
            if place != -1:
                row = dict(enumerate(weights[b, i])) if i < weights.shape[1] else {}
                yield int(sum(row.values()) > 0.5 and max(row, key=row.get) == place)

    found = list(hits())
    return float(Fraction(sum(found), len(found)))
