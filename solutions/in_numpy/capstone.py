"""The capstone's small language: "X with Y" becomes "Y के साथ X", groups joined by "and" keep their order.

Chapter: book/capstone.md. The pattern is that of note D's sentence; the word list is ours.
"""

import math
import zlib

import numpy as np

PAD, START, STOP = 0, 1, 2
NOUNS = {
    "reason": "कारण",
    "logic": "तर्क",
    "tea": "चाय",
    "milk": "दूध",
    "water": "पानी",
    "bread": "रोटी",
    "rice": "चावल",
    "salt": "नमक",
    "sugar": "चीनी",
    "fruit": "फल",
    "book": "किताब",
    "pen": "कलम",
    "house": "घर",
    "tree": "पेड़",
    "river": "नदी",
    "mountain": "पहाड़",
    "sun": "सूरज",
    "moon": "चाँद",
    "rain": "बारिश",
    "wind": "हवा",
    "fire": "आग",
    "friend": "दोस्त",
    "mother": "माँ",
    "song": "गीत",
    "time": "समय",
    "work": "काम",
}
SOURCE_WORDS = ("<pad>", "<s>", "</s>", *NOUNS, "with", "and")
TARGET_WORDS = ("<pad>", "<s>", "</s>", *NOUNS.values(), "के", "साथ", "और")
HELD_OUT = "reason with logic"  # note D's sentence: never trained on


def translate(source):
    """Translate a sentence of the small language by its rule.

    Parameters
    ----------
    source : str
        Nouns, each alone or as "X with Y", joined by "and".

    Returns
    -------
    (str, list of int)
        The translation, and for each of its words the source position that it comes from, or -1 for के, साथ and और.
    """
    words, positions, start = [], [], 0
    for number, group in enumerate(source.split(" and ")):
        nouns = group.split(" with ")
        places = [start + 2 * k for k in range(len(nouns))]
        if number:
            words, positions = [*words, "और"], [*positions, -1]
        if len(nouns) == 2:
            words += [NOUNS[nouns[1]], "के", "साथ", NOUNS[nouns[0]]]
            positions += [places[1], -1, -1, places[0]]
        else:
            words, positions = [*words, NOUNS[nouns[0]]], [*positions, places[0]]
        start += 2 * len(nouns)
    return " ".join(words), positions


def is_kept_back(sentence):
    """Return whether ``sentence`` is never trained on: note D's, and a tenth of all others, by their checksum."""
    return sentence == HELD_OUT or zlib.crc32(sentence.encode()) % 10 == 0


def draw_sentences(count, seed, least=1, kept_back=False):
    """Draw different sentences of the small language, for training, or from those that are never trained on.

    Parameters
    ----------
    count : int
        How many.
    seed : int
        Of the draw.
    least : int
        The shortest sentence wanted, in words.
    kept_back : bool
        True for the sentences that are never trained on.

    Returns
    -------
    list of str
        From 1 to 15 words each: 1 to 4 groups of one noun or two.
    """
    rng = np.random.default_rng(seed)
    nouns, drawn = list(NOUNS), {}
    while len(drawn) < count:
        pairs = rng.integers(0, 2, size=rng.integers(1, 5))
        chosen = rng.permutation(nouns)[: int((pairs + 1).sum())].tolist()
        groups = [f"{chosen.pop()} with {chosen.pop()}" if pair else chosen.pop() for pair in pairs]
        sentence = " and ".join(groups)
        if is_kept_back(sentence) == kept_back and len(sentence.split()) >= least:
            drawn[sentence] = True
    return list(drawn)


def as_arrays(sentences):
    """Turn sentences into padded arrays of word numbers.

    Parameters
    ----------
    sentences : list of str

    Returns
    -------
    dict of int arrays
        ``source`` (batch, source_len); ``lengths`` (batch,); ``target`` (batch, target_len), ending in STOP;
        ``positions`` (batch, target_len), the source position of each target noun and -1 elsewhere.
    """
    numbers = {word: number for number, word in enumerate(SOURCE_WORDS)}
    target_numbers = {word: number for number, word in enumerate(TARGET_WORDS)}
    translated = [translate(sentence) for sentence in sentences]
    sources = [[numbers[word] for word in sentence.split()] for sentence in sentences]
    targets = [[target_numbers[word] for word in words.split()] + [STOP] for words, _ in translated]
    return {
        "source": _padded(sources, PAD),
        "lengths": np.array([len(source) for source in sources]),
        "target": _padded(targets, PAD),
        "positions": _padded([positions for _, positions in translated], -1, max(map(len, targets))),
    }


def _padded(rows, filler, width=0):
    array = np.full((len(rows), max(width, *map(len, rows))), filler)
    for row, numbers in enumerate(rows):
        array[row, : len(numbers)] = numbers
    return array


def count_parameters():
    """Count the parameters of the model's additive attention: in each matrix or vector, and in all.

    Returns
    -------
    dict of int
        ``W_query``, ``W_key``, ``v`` and ``all``.
    """
    ### BEGIN SOLUTION
    query_size, hidden_size, attention_size = 48, 48, 48
    counts = {
        "W_query": attention_size * query_size,
        "W_key": attention_size * 2 * hidden_size,
        "v": attention_size,
    }
    return {**counts, "all": sum(counts.values())}
    ### END SOLUTION


def choose_rate():
    """Return which learning rates to choose, which to check next and when to stop, from the exercise's curves.

    Returns
    -------
    dict
        ``diverges``, ``short``, ``long``, ``stop_curve``, ``next``: numbers of curves, from 1 to 6;
        ``stop_column``: the number of a column, from 1 to 7.
    """
    ### BEGIN SOLUTION
    return {"diverges": 6, "short": 3, "long": 2, "stop_curve": 2, "stop_column": 6, "next": 3}
    ### END SOLUTION


def read_curves():
    """Return which bug produced each of the exercise's curves, two numbers that support the choice, and a cause.

    Returns
    -------
    dict
        ``A`` to ``E``: the number of a bug, a whole number from 1 to 6; ``floor``: a loss, in nats per word;
        ``words``: a number of words; ``jump``: the number of an explanation, from 1 to 4.
    """
    ### BEGIN SOLUTION
    floor = -np.log(np.e / (np.e + 31))  # the best that the model can do: a probability of 1 at the right word
    words = round(2488.694 / 3.505)
    return {"A": 4, "B": 2, "C": 5, "D": 1, "E": 3, "floor": floor, "words": words, "jump": 4}
    ### END SOLUTION


def exact_match(words, target):
    """Return the fraction of sentences that are right from the first word to the stop token.

    Parameters
    ----------
    words : (batch, length) int
        The model's output, without the start token. Anything after the first stop token (number 2) is ignored.
    target : (batch, target_len) int
        The target words, ending in the stop token, then padding (number 0).

    Returns
    -------
    float
        A fraction from 0 to 1.
    """
    ### BEGIN SOLUTION
    right = 0
    for row, wanted in zip(words.tolist(), target.tolist(), strict=True):
        wanted = wanted[: wanted.index(2) + 1]
        right += row[: len(wanted)] == wanted
    return right / len(words)
    ### END SOLUTION


def bleu_by_hand():
    """Return the BLEU of the exercise's two translations, with its parts, and its value with an unknown word.

    Returns
    -------
    dict
        ``found``: 4 whole numbers, the sequences of 1 to 4 words that count as found; ``brevity``: a factor from 0 to 1;
        ``bleu`` and ``unknown``: from 0 to 1.
    """
    ### BEGIN SOLUTION
    found = np.array([6, 5, 4, 3]) + np.array([4, 3, 2, 1])  # in the first sentence and in the second
    brevity = math.e ** (1 - 13 / 12)
    bleu = brevity * np.prod(found / [12, 10, 8, 6]) ** (1 / 4)
    unknown = brevity * np.prod(np.array([9, 6, 3, 1]) / [12, 10, 8, 6]) ** (1 / 4)
    return {"found": found.tolist(), "brevity": brevity, "bleu": bleu, "unknown": unknown}
    ### END SOLUTION


def corpus_bleu(words, target):
    """Return the BLEU of a batch of sentences, each compared with one target, without smoothing.

    BLEU = 100 * min(1, e ** (1 - target words / written words)) * (p_1 p_2 p_3 p_4) ** (1 / 4), where p_1 to p_4 are the
    fractions of the written sequences of 1 to 4 words that are found in their target, over the whole batch

    Parameters
    ----------
    words : (batch, length) int
        The model's output, without the start token. Anything after the first stop token (number 2) is ignored.
    target : (batch, target_len) int
        The target words, ending in the stop token, then padding (number 0).

    Returns
    -------
    float
        From 0 to 100.
    """
    ### BEGIN SOLUTION
    from collections import Counter

    found, written = np.zeros(4), np.zeros(4)
    written_words = target_words = 0
    for row, wanted in zip(words.tolist(), target.tolist(), strict=True):
        row = row[: row.index(2)] if 2 in row else row
        wanted = wanted[: wanted.index(2)]
        written_words += len(row)
        target_words += len(wanted)
        for size in range(1, 5):
            ours, theirs = (Counter(zip(*(s[i:] for i in range(size)), strict=False)) for s in (row, wanted))
            found[size - 1] += (ours & theirs).total()
            written[size - 1] += ours.total()
    brevity = min(1.0, math.e ** (1 - target_words / max(1, written_words)))
    return 100 * brevity * (found / np.maximum(1, written)).prod() ** (1 / 4)
    ### END SOLUTION


def noun_alignment(weights, positions):
    """Return the fraction of target nouns whose largest weight is on the source word that they translate.

    Parameters
    ----------
    weights : (batch, length, source_len)
        Weights of every step that the model took. After a sentence has stopped, its rows are all 0.
    positions : (batch, target_len) int
        The source position of each target noun; -1 where the target word is not a noun. A noun at a step that the model
        did not take counts as missed.

    Returns
    -------
    float
        A fraction from 0 to 1.
    """
    ### BEGIN SOLUTION
    steps = min(weights.shape[1], positions.shape[1])
    weights, wanted = weights[:, :steps], positions[:, :steps]
    taken = weights.sum(axis=-1) > 0.5  # the weights of a step add to 1; the largest of zeros would be the first
    hits = taken & (wanted >= 0) & (weights.argmax(axis=-1) == wanted)
    return hits.sum() / (positions >= 0).sum()
    ### END SOLUTION
