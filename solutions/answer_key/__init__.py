"""The answer key: one TOML file per topic, read into frozen records.

In: ``<topic>.toml``. Out: entries in the order of the file. Touches nothing else. Every error names file, place and
remedy.
"""

from dataclasses import replace
from pathlib import Path

from solutions.answer_key.domains import describe_inputs
from solutions.answer_key.reading import read
from solutions.answer_key.records import (
    KINDS,
    Argument,
    CaseRecord,
    Code,
    Criterion,
    Drawn,
    DrawnCase,
    Entry,
    FromEntry,
    HandWorked,
    Shape,
    ShownCase,
    ShownDrawnCase,
    StatedCase,
    Text,
    Trained,
    letters_of,
)
from solutions.errors import AnswerKeyError

__all__ = [
    "FOLDER",
    "KINDS",
    "LETTERS",
    "AnswerKeyError",
    "Argument",
    "CaseRecord",
    "Code",
    "Criterion",
    "Drawn",
    "DrawnCase",
    "Entry",
    "FromEntry",
    "HandWorked",
    "Shape",
    "ShownCase",
    "ShownDrawnCase",
    "StatedCase",
    "Text",
    "Trained",
    "describe_inputs",
    "letters_of",
    "load",
    "load_warm_ups",
    "minutes",
    "topics",
    "with_points",
    "worked_example",
]

FOLDER = Path(__file__).parent

# What the letters of the shape exercises count. An exercise whose text means another thing says so in its `letters`.
LETTERS = {
    "batch": "the number of sentences",
    "T_x": "the number of source positions",
    "T_y": "the number of decoder steps",
    "m": "the size of an annotation",
    "n": "the size of the decoder state",
    "a": "the size of the attention layer",
    "d": "the size of a word vector",
    "r": "the size of what the recurrent layer reads",
    "k": "the number of maxima",
    **dict.fromkeys(("V_y", "V_out"), "the number of target words"),
    "V_x": "the number of source words",
}

# How long a point takes, by kind: an estimate, worked out from the steps that an exercise asks for. A shape is two minutes'
# thought for four entries of half a point; by hand, each number is looked up or keyed in, and carried on.
MINUTES_A_POINT = {"shape": 2, "number": 4.5, "code": 4, "trained": 4, "text": 4}


def topics(folder=FOLDER):
    """Return the names of the topics that have a key, in alphabetical order."""
    return sorted(path.stem for path in Path(folder).glob("*.toml"))


def load(topic, folder=FOLDER):
    """Return the entries of ``topic`` that have points by name, in the order of the file.

    Raises
    ------
    AnswerKeyError
        If there is no such key, or something in it cannot be understood.
    """
    return {name: entry for name, entry in _read(topic, folder).items() if entry.points}


def load_warm_ups(topic, folder=FOLDER):
    """Return the entries of ``topic`` that have no points, like ``load``."""
    return {name: entry for name, entry in _read(topic, folder).items() if not entry.points}


def _read(topic, folder):
    path = Path(folder) / f"{topic}.toml"
    if not path.is_file():
        known = ", ".join(topics(folder)) or "none"
        raise AnswerKeyError(
            f"no topic {topic!r}", "the answer key", f"name one of the topics that have a key: {known}."
        )
    return read(path)


def minutes(entries):
    """Estimate how long some exercises take a reader of their chapter, a quick one and a slow one.

    Parameters
    ----------
    entries : iterable of Entry

    Returns
    -------
    (int, int)
        Minutes, a quarter less and a quarter more than the estimate, in tens and at least ten apart.
    """
    middle = sum(entry.minutes or MINUTES_A_POINT[entry.kind] * entry.points for entry in entries)
    least = max(10, round(0.75 * middle / 10) * 10)
    return least, max(least + 10, round(1.25 * middle / 10) * 10)


def with_points(entry, points):
    """Return ``entry`` worth ``points``, the lines of a marking scheme in proportion."""
    share = points / entry.points
    entry = replace(entry, points=points)
    if isinstance(entry, Text):
        entry = replace(
            entry, criteria=tuple(replace(each, points=round(each.points * share, 6)) for each in entry.criteria)
        )
    return entry


def worked_example(name, case=None):
    """Return a shown case of exercise ``name``, its inputs as arrays, for the pages of the book.

    Raises
    ------
    AnswerKeyError
        If the exercise or the case does not exist.
    """
    import numpy as np  # what only reads the key does without

    entry = load(name.split("-")[0]).get(name)
    for candidate in entry.cases if entry else ():
        if candidate.shown and candidate.inputs and case in (None, candidate.name):
            arrays = {key: np.array(value) for key, value in candidate.inputs.items()}
            return replace(candidate, inputs=arrays, expected=np.array(candidate.expected))
    raise AnswerKeyError(f"no shown case {case or ''} of {name}", f"{name.split('-')[0]}.toml", "name a case it has.")
