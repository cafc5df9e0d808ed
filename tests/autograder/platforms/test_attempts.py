"""A student's attempts, replayed from events in any order, are those of a plain list that is changed step by step."""

from dataclasses import asdict
from functools import cmp_to_key

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.courses.record import Event
from autograder.platforms import attempts
from autograder.platforms.attempts import Attempt

pytestmark = pytest.mark.suite("assignments")
CONTENTS = st.sampled_from("abc")
ORDERS = st.integers(1, 5)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from([attempts.RECEIVED, attempts.KEPT, attempts.FOUND]), CONTENTS, ORDERS),
        st.tuples(st.just(attempts.TIMED), CONTENTS),
        st.tuples(st.sampled_from(["begin", attempts.UNDONE])),
    ),
    max_size=20,
)


def apply(known, kind, attempt):
    """Return the attempts ``known`` after one more event, as a person would change the list."""
    if kind == attempts.KEPT:
        earlier = [*known[:-1], attempt]
        return [*sorted(earlier, key=cmp_to_key(lambda a, b: (a.order > b.order) - (a.order < b.order))), *known[-1:]]
    if kind == attempts.FOUND:
        return [*(old for old in known if old.files != attempt.files), attempt]
    return [*known[:-1], attempt] if known and known[-1].files == attempt.files else [*known, attempt]


@given(STEPS)
def test_any_prefix_of_the_events_gives_the_attempts_of_that_moment(steps):
    events, states, known, number, before = [], [], [], 1, None
    for kind, *what in steps:
        if kind == "begin":  # another collection: the one before cannot be undone any more
            number, before = number + 1, None
            continue
        if kind == attempts.UNDONE:
            if before is None:
                continue
            data, known, before = {"collection": number}, before, None
        else:
            if kind == attempts.TIMED and not known:
                continue
            files = known[-1].files if kind == attempts.TIMED else {"scoring.ipynb": what[0]}
            order = what[1] if len(what) == 2 else known[-1].order
            attempt = Attempt(files, time=what[0] if kind == attempts.TIMED else "", order=order)
            if kind == attempts.FOUND and before is not None:
                continue  # files that somebody put there are found before the collection changes them
            data = asdict(attempt) | ({} if kind == attempts.FOUND else {"collection": number})
            before = known if kind != attempts.FOUND and before is None else before
            known = apply(known, kind, attempt)
        events.append(Event(len(events) + 1, "", "scoring", "ada", kind, data))
        states.append((list(known), number, before))
        number += kind == attempts.UNDONE
    for length, (wanted, last, undoable) in enumerate(states, 1):
        assert attempts._replay(events[:length]) == wanted
        assert attempts._attempts_before(events[:length], last) == undoable


def test_thousands_of_attempts_that_were_kept_are_sorted_only_once(monkeypatch):
    compared, is_before = [], Attempt.is_before
    monkeypatch.setattr(Attempt, "is_before", lambda one, other: compared.append(1) or is_before(one, other))
    kinds = [attempts.RECEIVED, *[attempts.KEPT] * 1000, attempts.RECEIVED, attempts.KEPT]
    events = [
        Event(number, "", "scoring", "mal", kind, asdict(Attempt({"scoring.ipynb": str(number)}, order=number)))
        for number, kind in enumerate(kinds, 1)
    ]
    assert [attempt.order for attempt in attempts._replay(events)] == [*range(1, 1002), 1003, 1002]
    assert len(compared) < 10 * len(events)


def test_undoing_many_collections_one_after_another_replays_none_of_them_again():
    """Otherwise the sixtieth would take 2 to the 60 steps, and this test would not end."""
    kinds = [attempts.RECEIVED, *[attempts.RECEIVED, attempts.UNDONE] * 60]
    events = []
    for place, kind in enumerate(kinds):
        data = asdict(Attempt({"scoring.ipynb": str(place)})) if kind == attempts.RECEIVED else {}
        collection = {"collection": (place + 1) // 2}
        events.append(Event(place + 1, "", "scoring", "ada", kind, data | collection))
    assert attempts._replay(events) == [Attempt({"scoring.ipynb": "0"})]
