"""The class report claims no more than the size of the class allows, and names nobody unless asked."""

import json
import os
import re
import shutil
from dataclasses import replace

import numpy as np
import pytest
from bs4 import BeautifulSoup

from autograder.gradebook.scores import load_results
from autograder.grading import grade, judge
from autograder.reports.analysis import MIN_STUDENTS, HintCount, analyse, discrimination, normalise_code, normalise_text
from autograder.reports.class_page import class_page
from tests.autograder.essays import ESSAY, copy_prepared, enrol, grade_quickly, hand_in
from tests.autograder.test_main import autograder, succeed

pytestmark = pytest.mark.suite("assignments")

HINT = "The tanh is missing: <b>look</b> at the line before v."
UPSIDE_DOWN = "scoring-batched_additive_shapes"
CODE = "scoring-additive_score"
ANSWER = """def additive_score(query, keys, W_query, W_key, v):
    {doc}
    {a} = query @ W_query.T
    {b} = keys @ W_key.T
    {c} = {a}[:, None, :] + {b}
    return (np.tanh({c}) * v).sum(-1)  {comment}
"""
FIRST = ANSWER.format(doc='"""Mine."""', a="q", b="k", c="s", comment="")
SECOND = ANSWER.format(doc="'''Not yours.'''", a="left", b="right", c="both", comment="# my own idea")
OTHER = FIRST.replace("np.tanh(", "np.sinh(")


def by_level(notebook, exercises, *rest):
    """Grade by the number that begins the essay: a higher one gets more exercises right, with one exception."""
    source = next(cell.source for cell in notebook.cells if cell.metadata.get("nbgrader", {}).get("grade_id") == ESSAY)
    level = int(source.split()[0])
    verdicts = []
    for number, exercise in enumerate(exercises):
        if not exercise.is_automatic:
            verdicts.append(judge.Verdict(exercise.name, None, exercise.points))
            continue
        right = level < 12 if exercise.name == UPSIDE_DOWN else level >= 2 * number
        earned = exercise.points if right else 0.0
        parts = tuple(judge.Part(name, points if right else 0.0, points, "") for name, points in exercise.parts.items())
        hints = () if right or exercise.name != CODE else (HINT,)
        verdicts.append(judge.Verdict(exercise.name, earned, exercise.points, parts, hints))
    return grade.Graded(tuple(verdicts), {}, reached={"call_seconds": 5.0} if level == 3 else {})


def with_answer(text):
    def change(data):
        next(c for c in data["cells"] if c["metadata"]["nbgrader"]["grade_id"] == CODE)["source"] = text

    return change


@pytest.fixture
def graded(released, tmp_path):
    """A class of 24; eve is on the roster but has not handed in. Students 0 and 1 spell one answer in two ways."""
    return copy_prepared("analysed", released, tmp_path, _grade_class)


def _grade_class(course):
    names = [f"student{number}" for number in range(24)]
    enrol(course, "id\n" + "\n".join([*names, "eve"]) + "\n", 'title = "Attention"\nroster = "students.csv"\n')
    answers = {0: FIRST, 1: SECOND, 2: OTHER}
    for number, name in enumerate(names):
        change = with_answer(answers[number]) if number in answers else None
        hand_in(course, name, essay=f"{number} because U h_j does not change.", change=change)
    grade_quickly(course, grade_one=by_level)


def items_of(study):
    return {item.name: item for item in study.exercises}


def test_difficulty_discrimination_parts_mistakes_and_time_outs_are_counted(graded):
    study = analyse(graded, "scoring")
    items = items_of(study)
    exercises = list(graded.releases("scoring").load().load_exercises())
    for number, exercise in enumerate(exercises):
        if exercise.is_automatic and exercise.name != UPSIDE_DOWN:
            assert items[exercise.name].difficulty == pytest.approx(sum(n >= 2 * number for n in range(24)) / 24)
    assert items[UPSIDE_DOWN].discrimination[2] < 0
    (last,) = (item for item in study.exercises if item.name == exercises[len(exercises) // 2].name)
    assert last.discrimination[1] > 0
    place = [exercise.name for exercise in exercises].index(CODE)
    wrong = sum(n < 2 * place for n in range(24))
    assert items[CODE].mistakes == (HintCount(HINT, wrong, 0, 0),)
    assert items[CODE].parts == tuple((name, 24 - wrong, 24) for name in exercises[place].parts)
    assert (study.stopped, study.waiting, study.missing) == (1, 24, ("eve",))
    assert (items[ESSAY].marked, items[ESSAY].difficulty) == (0, None)


def test_a_hint_is_counted_with_what_the_next_try_made_of_it(graded):
    """Students 3 to 5 hand in twice more: the first gets it right, the second never, the third only the second time."""
    for levels in ((23, 1, 2), (23, 1, 23)):
        for number, level in zip((3, 4, 5), levels, strict=True):
            hand_in(graded, f"student{number}", essay=f"{level} because of the other state.")
        grade_quickly(graded, grade_one=by_level)
    before = items_of(analyse(graded, "scoring"))[CODE]
    grade_quickly(graded, grade_one=by_level)  # grading again is not another attempt
    study = analyse(graded, "scoring")
    wrong = 2 * [exercise.name for exercise in graded.releases("scoring").load().exercises].index(CODE)
    assert items_of(study)[CODE] == before
    assert before.mistakes == (HintCount(HINT, wrong - 2, 3, 2),)
    assert f'>2 of 3</td><th scope="row">{CODE}</th>' in class_page("", [study])


def test_a_try_that_was_killed_counts_for_nothing_and_no_earlier_one_in_its_place(graded):
    before = items_of(analyse(graded, "scoring"))[CODE]
    hand_in(graded, "student3", essay="23 because of the other state.")
    grade_quickly(graded, grade_one=lambda *args: replace(by_level(*args), killed=True))
    study = analyse(graded, "scoring")
    now = items_of(study)[CODE]
    assert [count for _, _, count in now.parts] == [count - 1 for _, _, count in before.parts]
    assert now.mistakes[0].now == before.mistakes[0].now - 1
    assert study.stopped == 0  # only an earlier attempt reached a limit


def test_answers_that_differ_in_names_and_layout_only_are_one_group_and_the_starter_is_none(graded):
    assert analyse(graded, "scoring").alike == ((CODE, ("student0", "student1")),)


def test_the_page_names_nobody_unless_it_is_asked_and_needs_nothing_from_elsewhere(graded):
    succeed("report", "scoring", "--course", graded.root)
    page = (graded.root / "report.html").read_text(encoding="utf-8")
    assert not re.search(r"student\d|eve\b", page)
    assert not re.findall(r"https?://|src=|@import|url\(", page)
    assert "<b>look</b>" not in page
    assert "1 on the roster did not hand in" in page
    read = BeautifulSoup(page, "html.parser")
    assert [read.html["lang"], read.title.string] == ["en", "Attention: report"]
    assert all(svg["aria-label"] for svg in read.find_all("svg"))
    assert [heading.name for heading in read.find_all(re.compile(r"h\d"))] == ["h1", "h2", *["h3"] * 5]
    assert len(page.encode()) < 60_000
    autograder("report", "--names", "--output", graded.root / "named.html", "--course", graded.root)
    named = (graded.root / "named.html").read_text(encoding="utf-8")
    assert "student0, student1" in named
    assert "did not hand in: eve" in named


def test_of_a_small_class_no_correlation_is_said(course):
    for number in range(3):
        hand_in(course, f"student{number}", essay=f"{9 * number} because.")
    grade_quickly(course, grade_one=by_level)
    assert {item.discrimination for item in analyse(course, "scoring").exercises} == {None}
    autograder("report", "--course", course.root)
    assert "too few students to say" in (course.root / "report.html").read_text(encoding="utf-8")


def test_a_class_that_was_not_graded_has_a_page_that_says_so(course):
    hand_in(course, "ada")
    succeed("report", "--course", course.root)
    assert "Nothing has been graded." in (course.root / "report.html").read_text(encoding="utf-8")


def test_the_correlation_is_numpys_and_lies_in_its_interval():
    rng = np.random.default_rng(1)
    ability = rng.normal(size=200)
    shares, rest = ability + rng.normal(size=200), ability + rng.normal(size=200)
    middle, low, high = discrimination(shares, rest)
    assert middle == pytest.approx(np.corrcoef(shares, rest)[0, 1])
    assert -1 <= low < middle < high <= 1
    assert low < 0.5 < high  # the correlation of the distribution that they are drawn from
    assert discrimination(np.ones(200), rest) is None
    assert discrimination(shares[: MIN_STUDENTS - 1], rest[: MIN_STUDENTS - 1]) is None


@pytest.mark.parametrize(
    "text", ["", "def f(:", "x = 1", "x = " + "-" * 19_000 + "1", "x = '\\d'\n" * 3_000, "(" * 500]
)
def test_what_is_no_program_or_too_short_or_too_much_is_like_nothing(text):
    assert normalise_code(text) == ""


def test_what_a_name_means_stays():
    assert normalise_code(FIRST) == normalise_code(SECOND) != normalise_code(OTHER)
    assert normalise_code(FIRST.replace("(-1)", "(-2)")) != normalise_code(FIRST)
    assert normalise_text(
        "Because U h_j does not change: it is the same in every step, so once will do!"
    ) == normalise_text("because U h_j\n does not change; it is the same, in every step. So ONCE will do")
    assert normalise_text("Because.") == ""


@pytest.mark.parametrize("content", ["no notebook", json.dumps({"cells": [{"source": 3}]}), "[" * 100_000])
def test_what_cannot_be_read_stops_no_report(course, content):
    hand_in(course, "ada").write_text(content)
    assert analyse(course, "scoring").alike == ()


def test_a_pipe_and_a_folder_that_is_a_link_are_nobodys_answers_and_hold_no_report_up(course, tmp_path):
    hand_in(course, "ada", change=with_answer(FIRST))
    shutil.copytree(course.root / "submitted" / "ada", tmp_path / "elsewhere")
    (course.root / "submitted" / "ben").symlink_to(tmp_path / "elsewhere")
    pipe = course.submission("cem", "scoring")
    pipe.parent.mkdir(parents=True)
    os.mkfifo(pipe)
    succeed("report", "scoring", "--course", course.root)
    assert analyse(course, "scoring").alike == ()
    (course.root / "submitted" / "ben").unlink()
    shutil.copytree(tmp_path / "elsewhere", course.root / "submitted" / "ben")
    assert [names for _, names in analyse(course, "scoring").alike] == [("ada", "ben")]


def test_an_exercise_is_compared_with_the_points_of_all_others_and_not_with_its_own(graded):
    everybody = load_results(graded, "scoring")
    study = analyse(graded, "scoring")
    for item in study.exercises:
        if item.discrimination is None:
            continue
        own = np.array([result.entries[item.name].score for result in everybody.values()])
        rest = np.array([result.earned for result in everybody.values()]) - own
        assert item.discrimination[0] == pytest.approx(np.corrcoef(own, rest)[0, 1])
