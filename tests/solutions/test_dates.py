"""Written dates mean what they say, and the test set stays apart."""

import datetime
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from solutions.in_numpy import dates as language
from solutions.in_numpy.capstone import STOP

# Each format in the codes of strptime, which knows no 3rd, so st, nd, rd and th are removed first.
READ_BY = {
    "{weekday} {d} {month} {yyyy}": "%A %d %B %Y",
    "the {dth} of {month} {yyyy}": "the %d of %B %Y",
    "{month} {d}, {yyyy}": "%B %d, %Y",
    "{d} {month} {yyyy}": "%d %B %Y",
    "{ddd} {dd}-{mmm}-{yy}": "%a %d-%b-%y",
    "{dd}.{mm}.{yyyy}": "%d.%m.%Y",
    "{d}/{m}/{yy}": "%d/%m/%y",
}
days = st.dates(datetime.date(1950, 1, 1), datetime.date(2049, 12, 31))
forms = st.sampled_from(language.FORMATS)


def test_the_example_is_written_in_seven_ways():
    assert [language.write(language.HELD_OUT, form) for form in language.FORMATS] == [
        "Tuesday 3 May 2022",
        "the 3rd of May 2022",
        "May 3, 2022",
        "3 May 2022",
        "Tue 03-May-22",
        "03.05.2022",
        "3/5/22",
    ]


@given(days, forms)
def test_a_written_date_reads_back_as_the_date(date, form):
    text = re.sub(r"(?<=\d)(st|nd|rd|th)\b", "", language.write(date, form))
    read = datetime.datetime.strptime(text, READ_BY[form]).date()
    if read.year > 2049:  # strptime reads 50 to 68 as 2050 to 2068
        read = read.replace(year=read.year - 100)
    assert read == date


@pytest.mark.parametrize(
    ("day", "written"),
    [
        (1, "1st"),
        (2, "2nd"),
        (3, "3rd"),
        (4, "4th"),
        (11, "11th"),
        (12, "12th"),
        (13, "13th"),
        (21, "21st"),
        (22, "22nd"),
    ],
)
def test_days_take_their_ending(day, written):
    assert language.write(datetime.date(1999, 12, day), language.FORMATS[1]) == f"the {written} of December 1999"


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_no_date_of_the_test_can_be_trained_on(seed):
    trained = language.draw_dates(2000, seed)
    unseen = language.draw_dates(1000, seed, kept_back=True)
    assert len(set(trained)) == 2000
    assert len(set(unseen)) == 1000
    assert not any(map(language.is_kept_back, trained))
    assert all(map(language.is_kept_back, unseen))


def test_the_dates_are_those_of_a_hundred_years_and_a_tenth_is_kept_back():
    trained = language.draw_dates(language.DAYS, seed=0)
    kept_back = language.draw_dates(language.DAYS, seed=0, kept_back=True)
    every = sorted(trained + kept_back)
    assert (every[0], every[-1]) == (datetime.date(1950, 1, 1), datetime.date(2049, 12, 31))
    assert len(set(every)) == language.DAYS
    assert len(kept_back) / language.DAYS == pytest.approx(0.1, abs=0.01)
    assert language.HELD_OUT in kept_back


def test_the_same_seed_draws_the_same_dates():
    assert language.draw_dates(5, seed=3) == language.draw_dates(5, seed=3)
    assert language.draw_dates(5, seed=3) != language.draw_dates(5, seed=4)


def test_arrays_spell_the_dates_end_in_stop_and_are_padded():
    date = datetime.date(1999, 12, 31)
    arrays = language.as_arrays([language.HELD_OUT, date], ["{d}/{m}/{yy}", "{dd}.{mm}.{yyyy}"])
    spelled = ["".join(language.SOURCE_LETTERS[number] for number in row) for row in arrays["source"]]
    assert spelled == ["3/5/22" + 4 * "<pad>", "31.12.1999"]
    assert arrays["lengths"].tolist() == [6, 10]
    written = ["".join(language.TARGET_LETTERS[number] for number in row) for row in arrays["target"]]
    assert written == ["2022-05-03</s>", "1999-12-31</s>"]
    assert (arrays["target"][:, -1] == STOP).all()


def test_every_letter_of_every_date_has_a_number():
    for number, form in enumerate(language.FORMATS):
        arrays = language.as_arrays(language.draw_dates(3000, seed=number), [form] * 3000)
        assert ((arrays["source"] > 0).sum(axis=1) == arrays["lengths"]).all()
        assert arrays["source"].max() < len(language.SOURCE_LETTERS)


def test_the_test_holds_each_of_its_dates_in_every_format():
    arrays = language.unseen_dates(seed=7, count=20)
    assert len(arrays["source"]) == 20 * len(language.FORMATS)
    targets, counts = np.unique(arrays["target"], axis=0, return_counts=True)
    assert len(targets) == 20
    assert (counts == len(language.FORMATS)).all()
