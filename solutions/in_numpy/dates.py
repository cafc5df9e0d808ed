"""The language of dates: a day from 1950 to 2049, written in one of seven ways, becomes year-month-day, letter by letter.

Chapter: book/capstone.md, "Go on". The formats are ours.
"""

import datetime
import string
import zlib

import numpy as np

from solutions.in_numpy.capstone import STOP

FIRST, DAYS = datetime.date(1950, 1, 1), 36525  # a hundred years of days
HELD_OUT = datetime.date(2022, 5, 3)  # an example: never trained on
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
SOURCE_LETTERS = ("<pad>", "<s>", "</s>", *" ,-./", *string.digits, *string.ascii_letters)
TARGET_LETTERS = ("<pad>", "<s>", "</s>", "-", *string.digits)
MAX_LENGTH = len("yyyy-mm-dd") + 1  # and the stop token


def write(date, form):
    """Return ``date`` written in ``form``, one of the ``FORMATS``: a text with names in braces."""
    weekday, month = WEEKDAYS[date.weekday()], MONTHS[date.month - 1]
    ending = "th" if date.day in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(date.day % 10, "th")
    return form.format(
        weekday=weekday,
        ddd=weekday[:3],
        d=date.day,
        dd=f"{date.day:02}",
        dth=f"{date.day}{ending}",
        m=date.month,
        mm=f"{date.month:02}",
        mmm=month[:3],
        month=month,
        yy=f"{date.year % 100:02}",
        yyyy=date.year,
    )


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
        ``source`` (batch, source_len); ``lengths`` (batch,); ``target`` (batch, 11), ending in STOP.
    """
    texts = [write(date, form) for date, form in zip(dates, forms, strict=True)]
    target = _numbers([date.isoformat() for date in dates], TARGET_LETTERS)
    return {
        "source": _numbers(texts, SOURCE_LETTERS),
        "lengths": np.array([len(text) for text in texts]),
        "target": np.pad(target, ((0, 0), (0, 1)), constant_values=STOP),
    }


def unseen_dates(seed, count=1000):
    """Return the arrays of ``count`` dates that are never trained on, each in every format."""
    dates = draw_dates(count, seed, kept_back=True)
    return as_arrays([date for date in dates for _ in FORMATS], FORMATS * count)


def _numbers(texts, letters):
    """Return the place in ``letters`` of each letter of each text, (batch, longest): 0 in the padding and for no known letter."""
    places = np.zeros(128, dtype=int)
    for place, letter in enumerate(letters):
        if len(letter) == 1:
            places[ord(letter)] = place
    return places[np.array(texts, dtype=bytes)[:, None].view(np.uint8)]  # numpy fills short texts with zero bytes
