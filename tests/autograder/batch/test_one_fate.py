"""Whatever a student hands in, all others are graded, and nobody sees anybody else's work."""

import hashlib
import json
import os
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import nbformat
import numpy as np
import pytest
from nbconvert.filters.ansi import ansi2html
from nbformat.v4 import new_output
from rich.console import Console
from traitlets.config import Config

from autograder import sandbox
from autograder.batch.context import GradingOptions
from autograder.batch.grade_class import grade_class, start_workers
from autograder.batch.results import PROVISIONAL_NOTE, SubmissionResult
from autograder.courses import demo, standing
from autograder.courses.course import Course
from autograder.errors import CourseError
from autograder.feedback import notices, page_settings, pages, sanitize
from autograder.grading import grade, submission, workers
from autograder.grading.fingerprint import fingerprint
from autograder.grading.workers import Workers
from autograder.notebooks import repair
from autograder.notebooks.cell_ids import code_cells
from autograder.notebooks.cell_ids import test_id as name_of_test
from autograder.notebooks.submitted_file import read_file
from autograder.reports import tables as report
from autograder.sandbox import Limits
from autograder.verdicts import Graded
from autograder.with_nbgrader.plugin import TAGS
from tests.autograder.samples import AUTOMATIC

pytestmark = pytest.mark.suite("sandbox")
LIMITS = Limits(cell_seconds=6, cell_idle_seconds=6, call_seconds=4, submission_seconds=30, submission_idle_seconds=12)
FULL = 'Additive scores</h3><span class="points full">3 of 3</span>'
ESSAY = "scoring-what_to_recompute"
WITH_BELL = "\x1b]52;c;cm0gLXJm\x07\x1b]0;pwned\x07\x1b[2J"


def essay(data):
    return next(cell for cell in data["cells"] if cell["metadata"].get("nbgrader", {}).get("grade_id") == ESSAY)


def code(source):
    return {"cell_type": "code", "metadata": {}, "source": source, "outputs": [], "execution_count": None}


def text(source, **more):
    return {"cell_type": "markdown", "metadata": {}, "source": source, **more}


def colour_without_number(data, folder):
    data["cells"].insert(3, code(r'print("\x1b[38mhello")'))


def picture_that_is_gone(data, folder):
    data["cells"].append(text("![x](attachment:gone.png)"))


def picture_as_svg(data, folder):
    data["cells"].append(text("![x](attachment:a.svg)", attachments={"a.svg": {"image/svg+xml": "<svg/>"}}))


def picture_with_a_lone_surrogate(data, folder):
    picture = {"a\ud800.png": {"image/png": "\ud800"}, "b.png": {"image/png": "aGk="}}
    data["cells"].append(text("![x](attachment:b.png) \udfff", attachments=picture))


def time_that_is_none(data, folder):
    (folder / "timestamp.txt").write_text("the day before yesterday, around noon, in no time zone at all")


def time_that_is_no_text(data, folder):
    (folder / "timestamp.txt").write_bytes(b"\xff\xfe\x00\xd8")


def time_that_is_too_late(data, folder):
    (folder / "timestamp.txt").write_text("9" * 30)


def brackets_in_an_answer(data, folder):
    essay(data)["source"] = "\\\\[" * 100_000


def stars_in_an_answer(data, folder):
    essay(data)["source"] = "*a " * 40_000


def nested_html(data, folder):
    data["cells"].insert(3, code("from IPython.display import HTML, display\ndisplay(HTML('<div>' * 50000))"))


def cells_that_sleep(data, folder):
    data["cells"][3:3] = [code("import time; time.sleep(5)") for _ in range(40)]


def steers_the_terminal(data, folder):
    for cell in data["cells"]:
        if cell["metadata"].get("nbgrader", {}).get("grade_id") == "scoring-additive_score":
            cell["source"] = f"def additive_score(*a):\n    return {{{WITH_BELL!r}: 1}}"


def other_assignment_with_a_bell(data, folder):
    for cell in data["cells"]:
        cell["metadata"]["nbgrader"]["grade_id"] = f"{WITH_BELL}-{cell['metadata']['nbgrader']['grade_id']}"


def cells_without_number(data, folder):
    data["cells"] = [{"cell_type": "markdown", "metadata": {}, "source": ""} for _ in range(40_000)]


def numbers_without_end(data, folder):
    return '{"nbformat": 4, "cells": [' + "9" * 100_000 + "]}"


def lists_without_end(data, folder):
    return '{"nbformat": 4, "cells": [' + "[]," * 3_000_000 + "[]]}"


def a_text_without_end(data, folder):
    essay(data)["source"] = "a" * 2_000_000


GRADED = [colour_without_number, picture_that_is_gone, picture_as_svg, picture_with_a_lone_surrogate]
GRADED += [time_that_is_none, time_that_is_no_text, time_that_is_too_late, brackets_in_an_answer, stars_in_an_answer]
GRADED += [nested_html]
STOPPED = [cells_that_sleep, steers_the_terminal]
SET_ASIDE = [other_assignment_with_a_bell, cells_without_number, numbers_without_end, lists_without_end]
SET_ASIDE += [a_text_without_end]
LINKS = ["link_to_a_student", "link_to_the_source", "link_to_a_file"]


@pytest.fixture(scope="module")
def answers(released):
    """The right answers to scoring, as a student hands them in."""
    (ada,) = (student for student in demo.load_students() if student.name == "ada_loops")
    files = released.source("scoring"), released.releases("scoring").file
    source, handed_out = (nbformat.read(file, as_version=4) for file in files)
    return demo.make_submission(ada, "scoring", source, handed_out)


def hand_in(course, student, content):
    path = course.submission(student, "scoring")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


@pytest.fixture(scope="module")
def spoilt(released, answers, tmp_path_factory):
    """A class of honest and disruptive students: (course, rows by student)."""
    root = tmp_path_factory.mktemp("spoilt") / "course"
    shutil.copytree(released.root, root)
    course = Course.at(root)
    for student in ("aaron", "mia", "zoe"):
        hand_in(course, student, answers)
    for change in (*GRADED, *STOPPED, *SET_ASIDE):
        folder = hand_in(course, change.__name__, b"").parent
        data = json.loads(answers)
        content = change(data, folder) or json.dumps(data)
        hand_in(course, change.__name__, content.encode())
    (course.root / "submitted" / "link_to_a_student").symlink_to(course.root / "submitted" / "mia")
    for name in ("link_to_the_source", "link_to_a_file"):
        (course.root / "submitted" / name).mkdir()
    (course.root / "submitted" / "link_to_the_source" / "scoring").symlink_to(course.source("scoring").parent)
    (course.root / "submitted" / "link_to_a_file" / "scoring").mkdir()
    course.submission("link_to_a_file", "scoring").symlink_to(course.source("scoring"))
    rows = grade_class(course, "scoring", GradingOptions(LIMITS))
    return course, {row.student: row for row in rows}


@pytest.mark.parametrize("student", ["aaron", "mia", "zoe"])
def test_an_honest_neighbour_keeps_every_point_and_gets_a_page(spoilt, student):
    course, rows = spoilt
    assert (rows[student].failed, rows[student].set_aside, rows[student].total) == ("", "", AUTOMATIC)
    assert FULL in course.feedback(student, "scoring").read_text(encoding="utf-8")


@pytest.mark.parametrize("change", GRADED)
def test_what_is_odd_about_a_notebook_costs_its_right_answers_nothing(spoilt, change):
    course, rows = spoilt
    row = rows[change.__name__]
    assert (row.failed, row.set_aside, row.total) == ("", "", AUTOMATIC)
    page = course.feedback(change.__name__, "scoring").read_text(encoding="utf-8")
    assert FULL in page
    assert "could not be shown" not in page


@pytest.mark.parametrize("change", SET_ASIDE)
def test_what_is_too_much_to_read_is_set_aside_in_words(spoilt, change):
    course, rows = spoilt
    row = rows[change.__name__]
    assert "Remedy" in row.set_aside
    assert row.failed == ""
    assert "\x1b" not in row.set_aside + course.feedback(change.__name__, "scoring").read_text(encoding="utf-8")


@pytest.mark.parametrize("student", LINKS)
def test_what_a_link_leads_to_is_not_the_students(spoilt, student):
    course, rows = spoilt
    assert "there is a link" in rows[student].set_aside
    assert rows[student].points == {}
    assert not course.autograded(student, "scoring").exists()
    assert "tanh" not in course.feedback(student, "scoring").read_text(encoding="utf-8")


def test_a_time_that_cannot_be_read_is_told_and_counts_as_not_late(spoilt):
    for change in (time_that_is_none, time_that_is_too_late):
        assert any("timestamp.txt" in note for note in spoilt[1][change.__name__].notes)


def test_cells_that_sleep_end_with_the_submissions_idle_seconds(spoilt):
    notes = spoilt[1]["cells_that_sleep"].notes
    assert any("the notebook waited too long in all (submission_idle_seconds)" in note for note in notes)
    assert PROVISIONAL_NOTE in notes


def test_no_answer_steers_the_terminal(spoilt):
    released = spoilt[0].releases("scoring").load()
    rows = list(spoilt[1].values())
    for width in (80, 200):
        console = Console(width=width, force_terminal=True, color_system=None, record=True)
        with console.capture() as captured:
            console.print(report.grade_table(released.exercises, rows, width))
            console.print(report.hint_lines(rows), markup=False, highlight=False)
        assert "pwned" not in captured.get() or "\x1b]" not in captured.get()
        assert "\x07" not in captured.get()
    assert notices.plain(f"a{WITH_BELL}\u202eb\nक्‍ष").count("\N{REPLACEMENT CHARACTER}") == 6


def test_a_name_in_brackets_is_a_name(spoilt):
    console = Console(width=200, record=True)
    with console.capture() as captured:
        console.print(
            report.grade_table(spoilt[0].releases("scoring").load().exercises, [SubmissionResult("a[/b][red]c")], 200)
        )
    assert "a[/b][red]c" in captured.get()


def test_a_table_stays_small_whatever_is_said(spoilt):
    row = SubmissionResult("x", {}, hints=("h" * 10**6,), notes=("n" * 10**6, "m"))
    assert len(report.hint_lines([row])) < 2000


@pytest.fixture(scope="module")
def late_comers(spoilt, answers):
    """Two more students, graded when no page can be made in time: rows by student."""
    course, _ = spoilt
    data = json.loads(answers)
    data["cells"][1:1] = [text("a note of mine"), text("another one")]
    hand_in(course, "tess", json.dumps(data).encode())
    long = json.loads(answers)
    long["cells"] += [text("**a** `b` [c](d)\n\n" * 400) for _ in range(60)]  # many ticks of the clock that stops it
    hand_in(course, "slow_page", json.dumps(long).encode())
    with pytest.MonkeyPatch.context() as patched:
        for module in ("grade_class", "submission_steps"):
            patched.setattr(f"autograder.batch.{module}.PAGE_SECONDS", 0.001)  # too short for a page
        rows = grade_class(course, "scoring", GradingOptions(LIMITS, workers=1), students=["slow_page", "tess"])
    return {row.student: row for row in rows}


def test_same_code_between_other_texts_puts_outputs_on_their_own_cells(spoilt, late_comers):
    """One notebook's verdict is not used for another, and outputs are attached to the cells that made them."""
    course, row = spoilt[0], late_comers["tess"]
    assert (row.failed, row.total) == ("", AUTOMATIC)
    first, second = (nbformat.read(course.autograded(name, "scoring"), as_version=4) for name in ("mia", "tess"))
    assert [cell.outputs for cell in grade.code_cells(first)] == [cell.outputs for cell in grade.code_cells(second)]
    assert any(cell.outputs for cell in grade.code_cells(second))


def test_a_verdict_found_without_a_sandbox_is_not_reused_with_one():
    first, second = (fingerprint(b"{}", "v", 0, LIMITS, isolation) for isolation in ("none", "zygote"))
    assert first != second


@pytest.mark.parametrize("pattern", ["\\\\[", "*a ", "[a](", "- a\n", "<div>", "![", "\\begin{a}", "**a", "`a``"])
def test_markdown_that_is_slow_to_read_is_shown_as_it_is(pattern):
    long = pattern * (10 * sanitize.MAX_MARKDOWN_CHARACTERS // len(pattern))
    page = sanitize.markdown({}, long)
    assert page.startswith("<pre>")
    assert "<div>" not in page


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("\x1b[38mx", "x"),
        ("\x1b[38;5mx", "x"),
        ("\x1b[48;2;1;2mx", "x"),
        ("\x1b[38;5;12mx\x1b[0m", "\x1b[38;5;12mx\x1b[0m"),
        ("\x1b[1;31mx\x1b[m", "\x1b[1;31mx\x1b[m"),
        ("\x1b]8;;javascript:x\x07x", "x"),
        ("a\rb\tc\b", "a\rb\tc\b"),
        ("\x00\x1b", ""),
    ],
)
def test_of_escape_sequences_only_colours_that_a_page_can_show_are_left(written, expected):
    assert sanitize.printable(written) == expected
    assert "x" in ansi2html(expected) or "x" not in expected


def test_many_ids_are_given_in_one_pass():
    cells = [{"cell_type": "markdown", "metadata": {}, "source": "", "id": "repaired-7"} for _ in range(900)]
    notebook = repair.rebuild({"cells": cells}, nbformat.v4.new_notebook())
    ids = [cell["id"] for cell in notebook.cells]
    assert len(set(ids)) == 900
    assert ids[0] == "repaired-7"


def test_a_page_that_cannot_be_made_in_time_is_replaced_by_the_words(spoilt, late_comers):
    course, row = spoilt[0], late_comers["slow_page"]
    assert (row.failed, row.total) == ("", AUTOMATIC)
    assert any("feedback page could not be generated (TimeoutError)" in note for note in row.notes)
    page = course.feedback("slow_page", "scoring").read_text(encoding="utf-8")
    assert "scoring-additive_score: 3 of 3 points" in page


def kills_its_worker(task):
    os.kill(os.getpid(), 9)


def never_ends(task):
    time.sleep(600)


@pytest.mark.parametrize(
    ("function", "message"), [(kills_its_worker, "crashed the grading process"), (never_ends, "took too long")]
)
def test_what_ends_or_holds_up_a_worker_fails_alone_and_in_words(course, answers, monkeypatch, function, message):
    hand_in(course, "mia", answers)
    monkeypatch.setattr("autograder.grading.submission.grade_task", function)
    with Workers(1, {function: (60.0, 3.0)}) as workers:
        (row,) = grade_class(course, "scoring", GradingOptions(LIMITS), executor=workers)
    assert message in row.failed
    assert not list(course.root.glob(".autograder/verdicts/**/*.json"))


def test_another_try_meets_other_hidden_cases(course, answers, monkeypatch):
    """The hidden inputs revealed by one feedback page do not help in the next attempt."""
    tasks = []
    honest = submission.grade_task

    def remember(task):
        tasks.append(task)
        raise RuntimeError("not run")

    monkeypatch.setattr("autograder.grading.submission.grade_task", remember)
    with ThreadPoolExecutor(1) as pool:
        for content, known in ((answers, []), (answers + b" ", ["first"]), (answers, ["first", "second"])):
            hand_in(course, "mia", content)
            if known:
                contents = {"first": answers, "second": answers + b" "}
                tries = [hashlib.sha256(contents[name]).hexdigest() for name in known]
                course.record.add("scoring", "mia", (standing.GRADED, {"tries": tries}))
            grade_class(course, "scoring", GradingOptions(LIMITS), executor=pool)
    assert [task.attempt for task in tasks] == [0, 1, 0]
    assert honest is not remember
    first_exercise, second_exercise = (
        next(e for e in submission._load_drawn("scoring", 0, attempt) if e.name == "scoring-additive_score")
        for attempt in (0, 1)
    )
    drawn = [case.name for case in first_exercise.hidden]
    assert drawn == [case.name for case in second_exercise.hidden]
    pairs = [
        (a.inputs["query"], b.inputs["query"])
        for a, b in zip(first_exercise.hidden, second_exercise.hidden, strict=True)
    ]
    same = [first for first, second in pairs if first.any() and np.array_equal(first, second)]
    assert len(same) == 1  # the case of whole numbers
    assert np.array_equal(same[0], same[0].round())


def test_a_cell_that_an_old_release_lacked_earns_nothing_and_stops_nothing(released):
    handed_out = nbformat.read(released.releases("scoring").file, as_version=4)
    shorter = nbformat.from_dict(
        {**handed_out, "cells": [c for c in handed_out.cells if "additive_score" not in c.metadata.nbgrader.grade_id]}
    )
    graded = Graded((), {})
    results = pages.enter_results(shorter, graded, handed_out, {})
    name = name_of_test("scoring-additive_score")
    assert {result.name: result.auto_score for result in results}[name] == 0.0


def test_a_written_exercise_added_after_a_notebook_was_handed_out_waits_for_a_person_without_a_comment(released):
    handed_out = nbformat.read(released.releases("scoring").file, as_version=4)
    cells = [cell for cell in handed_out.cells if cell.metadata.nbgrader.grade_id != ESSAY]
    older = nbformat.from_dict({**handed_out, "cells": cells})
    results = pages.enter_results(older, Graded((), {}), handed_out, {}, later=[ESSAY])
    (added,) = (result for result in results if result.name == ESSAY)
    assert (added.auto_score, added.comment) == (None, None)


def test_an_output_is_bounded_in_every_kind():
    cell = nbformat.v4.new_code_cell("x", outputs=[new_output("display_data", data={"text/html": "<b>" * 10**5})])
    cell, _ = sanitize.Outputs(enabled=True, tags=TAGS).preprocess_cell(cell, {}, 0)
    assert "text/html" not in cell.outputs[0].data


def test_outputs_are_cut_at_the_length_that_the_course_has_configured(released):
    handed_out = nbformat.read(released.releases("scoring").file, as_version=4)
    printed = new_output("stream", text="a line\n" * 100)
    settings = page_settings.from_config(Config({"LimitOutput": {"max_lines": 7}}))
    pages.enter_results(handed_out, Graded((), {0: (1, [printed])}), handed_out, settings)
    (output,) = code_cells(handed_out)[0].outputs
    assert output.text.count("a line") < 7
    assert "truncated" in output.text


def test_a_table_whose_html_is_too_long_is_shown_as_its_plain_text():
    data = {"text/html": "<td>1</td>" * 10**4, "text/plain": "   a  b\n0  1  2"}
    cell = nbformat.v4.new_code_cell("x", outputs=[new_output("display_data", data=data)])
    cell, _ = sanitize.Outputs(enabled=True, tags=TAGS).preprocess_cell(cell, {}, 0)
    assert cell.outputs[0].data == {"text/plain": data["text/plain"]}


def test_a_file_that_is_a_pipe_does_not_hold_anybody_up(tmp_path):
    os.mkfifo(tmp_path / "scoring.ipynb")
    with pytest.raises(CourseError, match="missing"):
        read_file(tmp_path / "scoring.ipynb")


def test_a_worker_may_take_longer_than_a_submission_may_run(tmp_path, monkeypatch):
    seconds = {}

    class NoWorkers(Exception):
        pass

    def refuse(count, limits):
        seconds.update(limits)
        raise NoWorkers

    monkeypatch.setattr(workers, "Workers", refuse)
    monkeypatch.setattr(grade, "sources_to_prepare", lambda notebook: sandbox.Prepared())
    run = SimpleNamespace(
        options=GradingOptions(Limits(submission_seconds=100)),
        course=Course(tmp_path),
        released=SimpleNamespace(notebooks=[None]),
    )
    with pytest.raises(NoWorkers), start_workers([run], 1):
        pass
    cpu, clock = seconds[submission.grade_task]
    assert clock > 2 * Limits(submission_seconds=100).brake_seconds
    assert 0 < cpu < clock / 20
