"""The language of dates: a day from 1950 to 2049, written in one of seven ways, becomes year-month-day, letter by letter.

Chapter: book/capstone.md, "Go on". The formats are ours.
"""

import datetime
import string
import zlib

import numpy as np

from solutions.in_numpy.capstone import STOP

FIRST, DAYS = datetime.date(1950, 1, 1), 36525  # a hundred years of days
HELD_OUT = datetime.date(2022, 5, 3)  # the chapter's example: never trained on
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
FORMATS = (
    "{weekday} {d} {month} {yyyy}",
    "the {dth} of {month} {yyyy}",
    "{month} {d}, {yyyy}",
    "{d} {month} {yyyy}",
    "{ddd} {dd}-{mmm}-{yy}",
    "{dd}.{mm}.{yyyy}",
    "{d}/{m}/{yy}",
)
TARGET_FIELDS = "yyyy-mm-dd"  # which field each target letter belongs to; "-" belongs to none
FIELDS = ".ymd"  # 0 for what belongs to no field, then year, month, day
SOURCE_LETTERS = ("<pad>", "<s>", "</s>", *" ,-./", *string.digits, *string.ascii_letters)
TARGET_LETTERS = ("<pad>", "<s>", "</s>", "-", *string.digits)


def write(date, form):
    """Write a date in one of the ``FORMATS``, and say which of its letters belong to which field.

    Parameters
    ----------
    date : datetime.date
    form : str
        Text with names in braces.

    Returns
    -------
    (str, str)
        The date as written. And for each of its letters y (year), m (month), d (day), or "." for what belongs to none:
        the weekday, words between, commas, spaces.
    """
    weekday, month = WEEKDAYS[date.weekday()], MONTHS[date.month - 1]
    ending = "th" if date.day in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(date.day % 10, "th")
    parts = {
        "weekday": (weekday, "."),
        "ddd": (weekday[:3], "."),
        "d": (f"{date.day}", "d"),
        "dd": (f"{date.day:02}", "d"),
        "dth": (f"{date.day}{ending}", "d"),
        "m": (f"{date.month}", "m"),
        "mm": (f"{date.month:02}", "m"),
        "mmm": (month[:3], "m"),
        "month": (month, "m"),
        "yy": (f"{date.year % 100:02}", "y"),
        "yyyy": (f"{date.year}", "y"),
    }
    text, fields = "", ""
    for between, name, _, _ in string.Formatter().parse(form):
        assert name is not None  # every format ends with a field
        part, field = parts[name]
        text += between + part
        fields += "." * len(between) + field * len(part)
    return text, fields


def is_kept_back(date):
    """Return whether ``date`` is never trained on, in any format: the example, and a tenth of all others, by checksum."""
    return date == HELD_OUT or zlib.crc32(date.isoformat().encode()) % 10 == 0


def draw_dates(count, seed, kept_back=False):
    """Draw different dates, for training, or from those that are never trained on.

    Parameters
    ----------
    count : int
        How many.
    seed : int
        Of the draw.
    kept_back : bool
        True for the dates that are never trained on.

    Returns
    -------
    list of datetime.date
    """
    every = [FIRST + datetime.timedelta(days=day) for day in range(DAYS)]
    possible = [date for date in every if is_kept_back(date) == kept_back]
    return [possible[i] for i in np.random.default_rng(seed).permutation(len(possible))[:count]]


def as_arrays(dates, forms):
    """Turn dates, each written in its own format, into padded arrays of letter numbers.

    Parameters
    ----------
    dates : list of datetime.date
    forms : list of str
        The format of each date, from ``FORMATS``.

    Returns
    -------
    dict of int arrays
        ``source`` (batch, source_len); ``lengths`` (batch,); ``target`` (batch, 11), ending in STOP;
        ``fields`` (batch, source_len), the field of each source letter as its place in ``FIELDS``, and 0 at pads.
    """
    written = [write(date, form) for date, form in zip(dates, forms, strict=True)]
    texts, fields = zip(*written, strict=True)
    target = _numbers([date.isoformat() for date in dates], TARGET_LETTERS)
    return {
        "source": _numbers(texts, SOURCE_LETTERS),
        "lengths": np.array([len(text) for text in texts]),
        "target": np.pad(target, ((0, 0), (0, 1)), constant_values=STOP),
        "fields": _numbers(fields, FIELDS),
    }


def weight_on_field(weights, fields):
    """Measure which share of the weight lies on the field that a target digit comes from: for 2022, on the year.

    Parameters
    ----------
    weights : (batch, length, source_len)
        Of every step that the model took. What it did not come to counts as 0.
    fields : (batch, source_len) int
        As ``as_arrays`` gives them.

    Returns
    -------
    float
        From 0 to 1, averaged over the eight digits of every date.
    """
    (wanted,) = _numbers([TARGET_FIELDS], FIELDS)
    steps = min(weights.shape[1], len(wanted))
    wanted, digits = wanted[:steps, None], (wanted > 0).sum()
    on_field = (fields[:, None] == wanted) & (wanted > 0)  # (batch, steps, source_len)
    return (weights[:, :steps] * on_field).sum() / (len(weights) * digits)


def _numbers(texts, letters):
    """Return the place in ``letters`` of each letter of each text, (batch, longest): 0 at pads and for no known letter."""
    places = np.zeros(128, dtype=int)
    for place, letter in enumerate(letters):
        if len(letter) == 1:
            places[ord(letter)] = place
    return places[np.array(texts, dtype=bytes)[:, None].view(np.uint8)]  # numpy fills short texts with zero bytes
