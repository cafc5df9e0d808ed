"""The audit finds no fault in the course's graders, and finds every fault that is put into one."""

import dataclasses
import io
import json
import math
import types

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from autograder import audit, exercises
from autograder.audit import Rates, Report
from autograder.errors import CourseError
from solutions.in_numpy.scoring import additive_score
from tests.autograder.samples import TOPICS, exercise_named

KEY = """
[toy-mix]
kind = "code"
points = 2

[[toy-mix.case]]
name = "worked example"
shown = true
inputs.x = [[1.0, 2.0]]
inputs.y = [[3.0, 5.0]]
expected = [[0.0, 2.0]]
atol = 1e-9

[[toy-mix.case]]
name = "drawn"
CASE
"""
ONE_ROW = '[[toy-mix.case]]\nname = "one row"\nshapes = { x = [1, 3], y = [1, 3] }\n'
STRONG = f"shapes = {{ x = [3, 4], y = [3, 4] }}\n{ONE_ROW}"
WEAK = "inputs.x = [[1.0, 1.0], [1.0, 1.0]]\ninputs.y = [[2.0, 2.0], [2.0, 2.0]]"


def mix(x, y):
    """Return twice x, less a quarter of the sums of y."""
    ### BEGIN SOLUTION
    double = 2 * x
    return double - y.sum(axis=1, keepdims=True) / 4
    ### END SOLUTION


def mix__added(x, y):
    """You added."""
    return x + y


def mix__said_elsewhere(x, y):
    """You returned x."""
    return x


@pytest.mark.suite("audit")
@pytest.mark.parametrize("topic", TOPICS)
@pytest.mark.filterwarnings("ignore")
def test_the_grader_of_every_exercise_stands_the_audit(topic, request):
    audited = list(audit.audit_topic(topic, full=request.config.getoption("--full")))
    assert audited
    report = Report(tuple(audited))
    assert report.passed, "\n".join(audit.details(report))
    assert sum(one.tried for one in audited) > 50


@pytest.mark.suite("audit")
@pytest.mark.filterwarnings("ignore")
def test_every_held_out_answer_can_be_graded():
    report = audit.measure()
    assert {row.topic for row in report.now} == set(TOPICS)
    for row in report.now:
        assert row.wrong + row.moved >= 20
        assert row.right >= 10
    assert all(answer.truth for answer in report.answers)
    assert all(answer.hint for answer in report.answers if not answer.accepted)


def toy(folder, case, reference=mix, mistakes=()):
    (folder / "toy.toml").write_text(KEY.replace("CASE", case), encoding="utf-8")
    named = types.SimpleNamespace(__name__="mistakes", **{f.__name__: f for f in mistakes})
    references = types.SimpleNamespace(__name__="toy", mix=reference)
    return exercises.load_from(folder, "toy", 0, references, named)


def audited(folder, case, reference=mix, **more):
    return audit.audit_exercise(toy(folder, case, reference), reference, full=True, **more)


def test_a_weak_key_has_survivors_with_the_line_of_the_reference(tmp_path):
    one = audited(tmp_path, WEAK)
    assert not one.passed
    first = mix.__code__.co_firstlineno
    assert {found.line for found in one.survivors} <= {first + 3, first + 4}
    assert {"Mult becomes Div", "1 becomes 0", "transposed"} <= {found.what for found in one.survivors}
    assert {found.source for found in one.survivors} == {
        "double = 2 * x",
        "return double - y.sum(axis=1, keepdims=True) / 4",
    }


def test_a_strong_key_has_none_and_what_is_equal_is_set_aside_with_its_reason(tmp_path):
    one = audited(tmp_path, STRONG)
    assert one.passed
    assert one.tried == one.mutants
    reasons = {found.reason for found in one.aside}
    assert reasons == {audit.EQUAL.format(1000), audit.IN_PLACE}


def test_a_sample_says_its_size_and_is_the_same_for_the_same_seed(tmp_path):
    versions = toy(tmp_path, STRONG)
    one, again = (audit.audit_exercise(versions, mix, seed=3) for _ in range(2))
    assert one == again
    assert one.tried == min(audit.SAMPLE, one.mutants)
    assert f"at most {audit.SAMPLE} an exercise, seed 3" in audit.summary(Report((one,), seed=3))
    assert "all of them" in audit.summary(Report((one,), full=True))


def test_a_tolerance_that_is_too_narrow_rejects_equivalents(tmp_path):
    one = audited(tmp_path, STRONG + "atol = 1e-13")
    assert "in single precision" in one.equivalents_rejected
    assert not one.passed


def test_a_mutant_that_never_ends_is_rejected(tmp_path, monkeypatch):
    monkeypatch.setattr(audit, "SECONDS", 0.2)

    def endless(x, y):
        while True:
            x = x + 0

    (exercise,) = toy(tmp_path, STRONG)
    assert audit.reply_to(endless, exercise, exercise.hidden[0]).raised == "TookTooLong"
    assert audit.verdict_on(endless, exercise).earned == 0


FAULTS = {
    "a right answer that is rejected": ({"right": {"mix__late": mix__added}}, "right_rejected", ("mix__late",)),
    "a mistake that is accepted": ({"mistakes": {"mix__right": mix}}, "mistakes_accepted", ("mix__right",)),
    "a mistake without its hint": ({"mistakes": {"mix__x": mix__said_elsewhere}}, "hints_missed", ("mix__x",)),
    "a weak key": ({"problems": ("no case",)}, "problems", ("no case",)),
}


@pytest.mark.parametrize(("more", "name", "found"), FAULTS.values(), ids=FAULTS)
def test_each_fault_is_found_and_told(tmp_path, more, name, found):
    one = audited(tmp_path, STRONG, **more)
    assert getattr(one, name) == found
    assert not one.passed
    assert any(found[0] in line for line in audit.details(Report((one,))))


def test_a_starter_that_answers_and_a_reference_that_fails_are_told(tmp_path):
    (exercise,) = toy(tmp_path, STRONG)
    answered = dataclasses.replace(exercise, source=exercise.source.replace("###", "#"))
    one = audit.audit_exercise((answered,), mix__added)
    told = "\n".join(audit.details(Report((one,))))
    assert "the untouched starter earns 2 points" in told
    assert "the reference earns 0 of 2 points" in told


@given(st.integers(1, 500).flatmap(lambda count: st.tuples(st.integers(0, count), st.just(count))))
def test_a_wilson_interval_holds_the_rate_and_mirrors(pair):
    hits, count = pair
    low, high = audit.wilson(hits, count)
    assert 0 <= low <= hits / count <= high <= 1
    mirrored = audit.wilson(count - hits, count)
    assert (1 - high, 1 - low) == pytest.approx(mirrored)


@pytest.mark.parametrize(
    ("hits", "count", "interval"), [(0, 10, (0, 0.2775)), (5, 10, (0.2366, 0.7634)), (1, 100, (0.0018, 0.0545))]
)
def test_wilson_intervals_are_those_of_the_tables(hits, count, interval):
    assert audit.wilson(hits, count) == pytest.approx(interval, abs=1e-4)


def test_nothing_counted_says_nothing():
    assert audit.wilson(0, 0) == (0.0, 1.0)


ANSWERS = '''
def dot_product_score__wrong_summed_all(query, keys):
    """Sums over everything."""
    return (keys * query[:, None, :]).sum()


def dot_product_score__wrong_not_really(query, keys):
    """Is right, in fact."""
    return _right(query, keys)


def dot_product_score__right_matmul(query, keys):
    """A matrix product."""
    return _right(query, keys)


def dot_product_score__right_not_really(query, keys):
    """Is wrong, in fact."""
    print("noise")
    return None


def _right(query, keys):
    return (keys @ query[:, :, None])[:, :, 0] * math.cos(0) * np.ones(1)
'''
FIRST = "[first]\nwrong = 3\nright = 2\nfalse_accepts = 2\nnamed = 1\n"


@pytest.fixture
def held_out(tmp_path):
    (tmp_path / "scoring.py").write_text(ANSWERS, encoding="utf-8")
    return tmp_path


def test_held_out_answers_are_counted(held_out):
    report = audit.measure(["scoring"], folder=held_out)
    (row,) = report.now
    assert (row.wrong, row.right, row.false_accepts, row.false_rejects, row.unjudged) == (2, 2, 1, 1, 1)
    assert row.judged == 0
    assert not report.first
    assert {answer.name: answer.accepted for answer in report.answers} == {
        "dot_product_score__wrong_summed_all": False,
        "dot_product_score__wrong_not_really": True,
        "dot_product_score__right_matmul": True,
        "dot_product_score__right_not_really": False,
    }
    told = list(audit.details(report))
    assert any("held-out wrong answer accepted: dot_product_score__wrong_not_really" in line for line in told)
    assert any("held-out right answer rejected: dot_product_score__right_not_really" in line for line in told)


def test_a_judgement_holds_for_the_words_that_it_was_said_of(held_out):
    (answer,) = [a for a in audit.measure(["scoring"], folder=held_out).answers if "summed_all" in a.name]
    entry = f'moved = ["dot_product_score__wrong_other"]\n{FIRST}[hint.{answer.name}]\nverdict = "general"\n'
    for words, counts in ((answer.hint, (1, 0)), ("Something that was said before.", (0, 1))):
        (held_out / "scoring.toml").write_text(f"{entry}on = {json.dumps(words)}\n", encoding="utf-8")
        report = audit.measure(["scoring"], folder=held_out)
        assert (report.now[0].general, report.now[0].unjudged) == counts
    assert report.now[0].moved == 1
    assert report.first == (Rates("scoring", wrong=3, right=2, false_accepts=2, named=1),)


def test_a_topic_without_held_out_answers_is_said(tmp_path):
    report = audit.measure(["scoring"], folder=tmp_path)
    assert report.notes == ("scoring: no held-out answers.",)
    assert not report.now


@pytest.mark.parametrize(
    ("answers", "judged", "what"),
    [
        ("def nothing__wrong_x():\n    pass\n", "", r"nothing__wrong_x answers no exercise"),
        ("def dot_product_score__odd(query, keys):\n    pass\n", "", "dot_product_score__odd answers no exercise"),
        (ANSWERS, '[hint.a]\nverdict = "good"\non = ""\n', "the hint of a is judged 'good'"),
        (ANSWERS, '[hint.a]\nverdict = "named"\n', "the hint of a is judged 'named'"),
    ],
)
def test_held_out_files_with_a_fault_are_refused_with_place_and_remedy(tmp_path, answers, judged, what):
    (tmp_path / "scoring.py").write_text(answers, encoding="utf-8")
    (tmp_path / "scoring.toml").write_text(judged, encoding="utf-8")
    with pytest.raises(CourseError, match=rf"heldout/scoring\..*{what}.*\n  Remedy: "):
        audit.measure(["scoring"], folder=tmp_path)


def test_the_rates_of_all_topics_are_sums():
    total = audit.totals([Rates("a", 3, 2, 1, 0, named=2), Rates("b", 4, 1, 0, 1, misled=1, moved=2)])
    assert total == Rates("all topics", 7, 3, 1, 1, named=2, misled=1, moved=2)
    assert total.judged == 3


@pytest.mark.parametrize("first", [(), (Rates("scoring", 20, 10, 2, 1, named=9, misled=1, general=6),)])
def test_what_is_saved_can_be_read_and_the_picture_has_a_panel_for_each_rate(tmp_path, first):
    now = (Rates("scoring", 20, 10, 0, 0, named=12, general=8),)
    path = audit.save(Report(now=now, first=first, notes=("a note",)), tmp_path)
    data = json.loads(path.read_text(encoding="utf-8"))
    assert data["now"][0]["named"] == 12
    assert data["passed"]
    assert {row["rate"] for row in data["intervals"]} == {title for title, _, _ in audit.RATES}
    assert (tmp_path / "heldout.svg").stat().st_size > 1000
    rows = (tmp_path / "heldout.md").read_text(encoding="utf-8").splitlines()
    assert len(rows) == 2 + 2 * (1 + bool(first))
    assert all(row.count("|") == len(audit.RATES) + 2 for row in rows)
    figure = audit.picture(Report(now=now, first=first))
    assert len(figure.axes) == len(audit.RATES)


def test_the_tables_have_a_row_for_each_exercise_and_topic(tmp_path):
    one = audited(tmp_path, STRONG)
    now = (Rates("scoring", 20, 10, 0, 0, named=12, general=8),)
    report = Report((one,), now=now, first=now)
    assert audit.exercises_table(report).row_count == 1
    assert audit.held_out_table(report).row_count == 4
    assert math.isclose(sum(one.reference_earned), one.points)


def test_what_is_shown_ends_with_what_was_tried(tmp_path):
    out = Console(file=io.StringIO(), width=200)
    assert audit.show(out, ["scoring"], held_out_only=True, save_to=tmp_path / "saved")
    assert "held-out answers were graded." in out.file.getvalue()
    assert (tmp_path / "saved" / "audit.json").is_file()


def test_a_reply_is_what_the_sandbox_would_say():
    exercise = exercise_named("scoring-additive_score")
    case = exercise.hidden[0]

    def overwrites(query, keys, W_query, W_key, v):
        keys *= 0
        return additive_score(query, keys, W_query, W_key, v)

    assert audit.reply_to(overwrites, exercise, case).changed == ("keys",)
    assert audit.reply_to(lambda *_: object(), exercise, case).value.kind == "object"
    assert audit.reply_to(lambda *_: 1 / 0, exercise, case).raised == "ZeroDivisionError"
    assert np.allclose(audit.reply_to(additive_score, exercise, case).value, case.expected)
