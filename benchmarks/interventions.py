"""Does the letter with the largest weight matter for the phoneme that the trained model of spelling writes?

    python -m benchmarks.interventions        write benchmarks/interventions.json; about two minutes of one core

**Forbidden.** For every phoneme that the model writes for the test words, right or wrong, each letter in turn gets no weight, at
that step only or at every step up to it; the phonemes before it stay as they were. Is another phoneme written, or none?

**Moved.** Without a letter whose weight is a, the context c moves by a / (1 - a) times the difference between c and the letter's
annotation: the larger the weight, the further. So each context is also moved as far in other directions: drawn uniformly from
all, or from those that lead from one annotation of some test word to another. How often is another phoneme written, or none?

**Exchanged.** For every test word and every other word of the dictionary that differs from it in one letter: where the model's two
pronunciations have equally many phonemes and differ in one of them, annotations of the test word are exchanged, at the step of
that phoneme, for those of the other word. Is the other word's phoneme written?

**Intervals.** They contain the middle 95% of 1000 bootstrap samples of the words that have such a phoneme. If none changed, the
upper end is that of the exact binomial interval for as many trials as there are words.

The model runs in double precision: the two largest logits never come closer to each other than 1e-6, so rounding decides nothing
and another machine gives the same record.
"""

import argparse
import json
from collections import defaultdict

import numpy as np
import torch
from torch import nn

from benchmarks.comparisons import ROOT
from solutions.in_numpy.alignment import hand_aligned
from solutions.in_numpy.spelling import (
    MOST_PHONEMES,
    PHONEMES,
    START,
    STOP,
    encode_letters,
    pronunciations,
    words_of,
)
from solutions.in_torch.spelling import pronounce
from solutions.trained import load_trained

RECORD = ROOT / "benchmarks" / "interventions.json"
BINS = {"any": (0, 2), "below 0.5": (0, 0.5), "0.5 to 0.9": (0.5, 0.9), "0.9 and above": (0.9, 2)}
FORBIDDEN = ("largest", "largest_until", "second", "other", "none")  # what a row says after its weight
MOVED = ("largest_uniform", "other_uniform", "largest_between", "other_between")  # and after that
DIRECTIONS = 8  # of either kind, for each letter at each step
EXCHANGED = ("differing", "largest", "all")
EVERY_WORD, EVERY_PAIR = 75, 140  # of those that are recorded one by one, for the tests


def load_model():
    """Return the model of the website in double precision."""
    return load_trained("spelling").double()


@torch.no_grad()
def forbid_letters(model, word):
    """Forbid each letter of ``word`` at each step.

    Returns
    -------
    tuple of str
        The phonemes that the model writes.
    (steps, source_len) float
        Their weights.
    (steps, source_len) bool
        Whether forbidding a letter at one step changes the phoneme written there.
    (steps, source_len) bool
        Whether it does if the letter was forbidden at all steps before, too.
    """
    state, keys, mask = model.read(*map(torch.from_numpy, encode_letters([word])))
    count = len(word)
    without = ~torch.eye(count, dtype=torch.bool)  # row j lacks letter j
    until, tokens = state.expand(count, -1), torch.tensor([START])
    steps = []
    while len(steps) < MOST_PHONEMES:
        read = tokens.expand(count), keys.expand(count, -1, -1)
        once, _, _ = model.decoder.step(read[0], state.expand(count, -1), read[1], without)
        all_along, until, _ = model.decoder.step(read[0], until, read[1], without)
        logits, state, weights = model.decoder.step(tokens, state, keys, mask)
        tokens = logits.argmax(dim=-1)
        if tokens.item() == STOP:
            break
        changed = [each.argmax(dim=-1) != tokens for each in (once, all_along)]
        steps.append((PHONEMES[tokens.item()], weights[0], *changed))
    phonemes, *arrays = zip(*steps, strict=True)
    return phonemes, *(torch.stack(array).numpy() for array in arrays)


def describe_steps(weights, once, until):
    """Return a row for each step: its largest weight, then what ``FORBIDDEN`` names, 1 for a change and 0 for none.

    "other" is the share of the letters but the largest that change the phoneme; "none" says that no letter alone does.
    """
    rows = []
    for weight, changed, changed_until in zip(weights, once, until, strict=True):
        first, *others = np.argsort(-weight, kind="stable")
        row = changed[first], changed_until[first], changed[others[0]], changed[others].mean(), not changed.any()
        rows.append([round(float(weight[first]), 6), *(round(float(each), 6) for each in row)])
    return rows


@torch.no_grad()
def read_directions(model, words, size=1000):
    """Return (words, key_size) directions of length 1, from an annotation of each word to another, both drawn at random."""
    random, found = np.random.default_rng(0), []
    for start in range(0, len(words), size):
        batch = words[start : start + size]
        _, all_keys, _ = model.read(*map(torch.from_numpy, encode_letters(batch)))
        for word, keys in zip(batch, all_keys, strict=True):
            first, second = random.choice(len(word), 2, replace=False)
            found.append(keys[second] - keys[first])
    return nn.functional.normalize(torch.stack(found), dim=-1)


@torch.no_grad()
def move_contexts(model, word, between):
    """Move the context at each step of ``word`` as far as it moves without each letter, but in other directions.

    Returns
    -------
    (steps, source_len, 2) float
        The share of ``DIRECTIONS`` that change the phoneme: of directions drawn uniformly, and of those drawn from ``between``.
    """
    random = np.random.default_rng([*word.encode()])
    state, keys, mask = model.read(*map(torch.from_numpy, encode_letters([word])))
    token, count, steps = torch.tensor([START]), len(word), []
    while len(steps) < MOST_PHONEMES:
        before, embedded = state, model.decoder.embedding(token)
        context, (weight,) = model.decoder.attention(before, keys, mask)
        logits, state, _ = model.decoder.step(token, before, keys, mask)
        token = logits.argmax(dim=-1)
        if token.item() == STOP:
            break
        distances = weight / (1 - weight) * (context - keys[0]).norm(dim=-1)
        uniform = torch.from_numpy(random.standard_normal((count, DIRECTIONS, keys.shape[-1])))
        drawn = between[random.integers(0, len(between), (count, DIRECTIONS))]
        directions = torch.stack([nn.functional.normalize(uniform, dim=-1), drawn], dim=1)
        moved = (context + distances[:, None, None, None] * directions).flatten(0, 2)
        logits = _read_out(model.decoder, embedded.expand(len(moved), -1), before.expand(len(moved), -1), moved)
        changed = (logits.argmax(dim=-1) != token).view(count, 2, DIRECTIONS)
        steps.append(changed.double().mean(dim=-1))
    return torch.stack(steps).numpy()


def _read_out(decoder, embedded, state, context):
    """Return the logits of one step of the decoder with a given context."""
    state = decoder.cell(torch.cat([embedded, context], dim=-1), state)
    return decoder.output(torch.cat([state, embedded, context], dim=-1))


def describe_moves(weights, moved):
    """Return for each step what ``MOVED`` names; "other" is the mean over the letters but the largest."""
    rows = []
    for weight, shares in zip(weights, moved, strict=True):
        first, *others = np.argsort(-weight, kind="stable")
        row = [each for kind in shares.T for each in (kind[first], kind[others].mean())]
        rows.append([round(float(each), 6) for each in row])
    return rows


def describe_word(weights, once, until, moved):
    """Return a row for each step: its largest weight, what ``FORBIDDEN`` names, and what ``MOVED`` names."""
    rows = zip(describe_steps(weights, once, until), describe_moves(weights, moved), strict=True)
    return [step + move for step, move in rows]


def find_pairs(words, pronounced):
    """Return ``(word, other, letter, step)`` for the words of the dictionary that differ from one of ``words`` in one letter.

    Only those whose pronunciations, as ``pronounced(words)`` gives them, differ in one phoneme: that at ``step``.
    """
    by_pattern = defaultdict(list)
    for word in pronunciations():
        for letter in range(len(word)):
            by_pattern[word[:letter], word[letter + 1 :]].append(word)
    pairs = [
        (word, other, letter)
        for word in words
        for letter in range(len(word))
        for other in by_pattern[word[:letter], word[letter + 1 :]]
        if other != word
    ]
    spoken = sorted({word for pair in pairs for word in pair[:2]})
    said = dict(zip(spoken, pronounced(spoken), strict=True))
    found = []
    for word, other, letter in pairs:
        if len(said[word]) == len(said[other]):
            steps = [step for step, (a, b) in enumerate(zip(said[word], said[other], strict=True)) if a != b]
            found += [(word, other, letter, steps[0], said[other][steps[0]])] if len(steps) == 1 else []
    return found


@torch.no_grad()
def exchange_letters(model, word, other, letter, step, wanted):
    """Exchange annotations of ``word`` for those of ``other``, at one step.

    Returns
    -------
    list of int
        Whether the largest weight is on ``letter``; then, for each of ``EXCHANGED``, whether the phoneme ``wanted`` is written.
    """
    states, keys, _ = model.read(*map(torch.from_numpy, encode_letters([word, other])))
    state, own, token = states[:1], keys[:1], torch.tensor([START])
    for _ in range(step):
        logits, state, _ = model.decoder.step(token, state, own)
        token = logits.argmax(dim=-1)
    _, _, weights = model.decoder.step(token, state, own)
    largest = int(weights.argmax())
    exchanged = own.repeat(len(EXCHANGED), 1, 1)
    exchanged[0, letter], exchanged[1, largest], exchanged[2] = keys[1, letter], keys[1, largest], keys[1]
    count = len(exchanged)
    logits, _, _ = model.decoder.step(token.expand(count), state.expand(count, -1), exchanged)
    return [int(largest == letter), *(int(PHONEMES[each] == wanted) for each in logits.argmax(dim=-1))]


def share(rows, words, column, chosen=lambda _row: True):
    """Return the mean of a ``column`` of the ``chosen`` rows of all words, and its 95% interval, in percent.

    ``rows`` maps some of the ``words`` to their rows.
    """
    kept = [[row[column] for row in rows.get(word, []) if chosen(row)] for word in words]
    sums, counts = np.array([(sum(each), len(each)) for each in kept if each]).T
    drawn = np.random.default_rng(0).integers(0, len(sums), (1000, len(sums)))
    low, high = np.quantile(sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1), [0.025, 0.975])
    if sums.sum() == 0:
        high = 1 - 0.025 ** (1 / len(sums))
    return [round(100 * float(number), 2) for number in (sums.sum() / counts.sum(), low, high)]


def tabulate(rows, words, names, groups):
    """Return a line for each of the ``groups`` of rows: how many there are, of how many words, and the shares ``names``."""
    lines = []
    for group, chosen in groups.items():
        counts = [sum(map(chosen, rows.get(word, []))) for word in words]
        line = {"group": group, "count": sum(counts), "words": sum(count > 0 for count in counts)}
        shares = {name: share(rows, words, column, chosen) for column, name in enumerate(names, 1)}
        lines.append(line | shares)
    return lines


def select_aligned(steps, rows):
    """Return those of the ``rows`` that belong to the words aligned by hand that the model pronounces as they are aligned there.

    They are in two parts: with the largest weight on a letter that is linked to the phoneme, and with it on another. Phonemes
    without a link are left out.
    """
    parts = {"on a letter linked by hand": {}, "on another letter": {}}
    words, hand = hand_aligned()
    for word, links in zip(words, hand, strict=True):
        phonemes, weights, *_ = steps[word]
        if phonemes != pronunciations()[word][0]:
            continue
        for row, weight, linked in zip(rows[word], weights, links, strict=False):
            if linked.any():
                place = "on a letter linked by hand" if linked[weight.argmax()] else "on another letter"
                parts[place].setdefault(word, []).append(row)
    return parts


def measure(model, words):
    """Return the record but for its command."""
    steps = {word: forbid_letters(model, word) for word in words}
    between = read_directions(model, words)
    rows = {word: describe_word(*of_word, move_contexts(model, word, between)) for word, (_, *of_word) in steps.items()}
    right = {word: rows[word] for word in words if steps[word][0] in pronunciations()[word]}
    bins = {name: lambda row, low=low, high=high: low <= row[0] < high for name, (low, high) in BINS.items()}
    last = {word: of_word[-1:] for word, of_word in rows.items()}
    names = FORBIDDEN + MOVED
    aligned = [
        tabulate(part, words, names, {name: bins["any"]})[0] for name, part in select_aligned(steps, rows).items()
    ]
    pairs = find_pairs(words, lambda spoken: pronounce_in_batches(model, spoken))
    exchanges = [exchange_letters(model, *pair) for pair in pairs]
    by_word = defaultdict(list)
    for (word, *_), row in zip(pairs, exchanges, strict=True):
        by_word[word].append(row)
    places = {"any": lambda row: True, "differing": lambda row: row[0] == 1, "another": lambda row: row[0] == 0}
    return {
        "words": len(words),
        "forbidden": tabulate(rows, words, names, bins),
        "forbidden_at_the_last": tabulate(last, words, names, {"any": bins["any"]}),
        "forbidden_where_right": tabulate(right, words, names, {"any": bins["any"]}),
        "forbidden_where_aligned": aligned,
        "exchanged": tabulate(by_word, words, EXCHANGED, places),
        "some_words": {word: rows[word] for word in words[::EVERY_WORD]},
        "some_pairs": [[*pair, exchange] for pair, exchange in zip(pairs, exchanges, strict=True)][::EVERY_PAIR],
    }


def pronounce_in_batches(model, words, size=1000):
    return [said for start in range(0, len(words), size) for said in pronounce(model, words[start : start + size])]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.parse_args()
    torch.set_num_threads(1)
    record = {"command": "python -m benchmarks.interventions"} | measure(load_model(), words_of("test"))
    text = (
        json.dumps(record)
        .replace('], "', '],\n"')
        .replace('[{"group"', '[\n{"group"')
        .replace(', {"group"', ',\n{"group"')
    )
    RECORD.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
