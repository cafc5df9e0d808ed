"""A request for another look waits for a person, is listed with verdict and points, and its answer reaches the student."""

import base64
import re

import pytest

from autograder.errors import CourseError
from autograder.gradebook.requests import answer_request, load_replies, load_requests
from autograder.gradebook.scores import load_results
from autograder.grading import grade, judge
from autograder.marking.override import override
from autograder.notebooks.cell_ids import id_of
from autograder.reports.requests import request_rows
from tests.autograder.essays import ESSAY, all_right, copy_prepared, enrol, grade_quickly, hand_in, mark, page
from tests.autograder.test_main import assert_refused, autograder, succeed
from tests.autograder.with_nbgrader.test_nbgrader_plugin import nbgrader

pytestmark = pytest.mark.suite("assignments")

CODE, WARM_UP = "scoring-additive_score", "scoring-scores_by_hand"
WORDS = "Please look again at additive_score: <b>my loop</b> is right.\x1b[31m"
HINT = "The tanh is missing."


def without_tanh(notebook, exercises, *rest):
    graded = all_right(notebook, exercises, *rest)
    wrong = {CODE: judge.Verdict(CODE, 1.0, 3.0, (), (HINT,))}
    return grade.Graded(tuple(wrong.get(verdict.exercise, verdict) for verdict in graded.verdicts), {})


def cell_of(data, grade_id):
    return next(cell for cell in data["cells"] if id_of(cell) == grade_id)


def asking(*texts):
    def change(data):
        data["cells"] += [
            {"cell_type": "markdown", "id": f"ask{n}", "metadata": {}, "source": t} for n, t in enumerate(texts)
        ]

    return change


def completing(text):
    """Return a function that completes the last cell of a notebook with ``text``."""

    def change(data):
        assert data["cells"][-1]["metadata"]["nbgrader"]["grade_id"] == "request"
        data["cells"][-1]["source"] = "".join(data["cells"][-1]["source"]).replace("…", text)

    return change


@pytest.fixture
def asked(released, tmp_path):
    """A course in which ada and ben have asked for another look."""
    return copy_prepared("asked", released, tmp_path, _ask)


def _ask(course):
    enrol(course, "id,name,section\nada,Ada King,A\nben,Ben Ito,B\n")
    hand_in(course, "ada", change=asking(WORDS))
    hand_in(
        course, "ben", change=asking("Please look again at all of it.", "Please look again at batched_additive_shapes.")
    )
    hand_in(course, "cem")
    grade_quickly(course, grade_one=without_tanh)


def test_requests_are_listed_with_name_exercise_words_verdict_and_points(asked):
    rows, waiting = request_rows(asked, "scoring")
    assert waiting == 3
    (ada, *_) = rows
    most = asked.releases("scoring").load().points[CODE]
    assert ada[:2] == ["Ada King (ada)", "additive_score"]
    assert "my loop" in ada[2]
    assert ada[3:] == [HINT, f"1 of {most:g}", ""]
    output = succeed("requests", "scoring", "--section", "A", "--course", asked.root)
    assert "Ada King (ada)" in output
    assert "Ben Ito" not in output
    assert "\x1b" not in output
    answer = f"requests scoring --student ID --answer '…' --course {asked.root}`"
    assert output.splitlines()[-1].startswith(f"Next: `python -m autograder {answer}; `mark` changes points.")


def test_an_answer_is_given_by_command_and_mark_knows_no_requests(asked):
    words = ["requests", "scoring", "--student", "ada", "--answer", "It was right.", "--course", asked.root]
    assert_refused(autograder("mark", *words[:2], "--course", asked.root), "requests")
    output = succeed(*words)
    assert output.startswith("Answered: Ada King (ada), scoring-additive_score."), output


def test_the_last_cell_of_the_notebook_is_a_request_once_it_is_completed(course):
    hand_in(course, "mia")
    grade_quickly(course)
    assert load_requests(course, "scoring", ["mia"]) == []
    assert "Please look again" not in page(course, "mia")
    hand_in(course, "mia", change=completing("additive_score: my loop is right."))
    row = grade_quickly(course)["mia"]
    assert not row.notes
    (request,) = load_requests(course, "scoring", ["mia"])
    assert (request.exercise, request.words) == (CODE, "Please look again at additive_score: my loop is right.")
    assert page(course, "mia").count("Please look again at additive_score: my loop is right.") == 1
    assert "leave this cell as it is" not in page(course, "mia")
    answer_request(course, "scoring", "mia", "", "It was counted.")
    grade_quickly(course)
    assert "It was counted." in page(course, "mia")


def test_a_request_under_a_warm_up_is_listed_and_answered_like_any_other(course):
    def ask(data):
        place = data["cells"].index(cell_of(data, WARM_UP))
        cell = {"cell_type": "markdown", "id": "ask", "metadata": {}, "source": "Please look again at my numbers."}
        data["cells"].insert(place + 1, cell)

    hand_in(course, "mia", change=ask)
    grade_quickly(course)
    rows, waiting = request_rows(course, "scoring")
    assert (rows, waiting) == ([["mia", "", "Please look again at my numbers.", "", "", ""]], 1)
    assert "Please look again at my numbers." in succeed("requests", "scoring", "--course", course.root)
    assert page(course, "mia").count("Please look again at my numbers.") == 1
    succeed("requests", "scoring", "--student", "mia", "--answer", "They are right.", "--course", course.root)
    grade_quickly(course)
    assert "They are right." in page(course, "mia")


def test_a_last_cell_that_was_deleted_or_copied_needs_no_repair_and_loses_no_request(course):
    def delete(data):
        del data["cells"][-1]

    def copy_it(data):
        completing("additive_score.")(data)
        data["cells"].append(
            {**data["cells"][-1], "id": "copy", "source": "Please look again at batched_additive_shapes."}
        )

    hand_in(course, "mia", change=delete)
    hand_in(course, "noa", change=copy_it)
    rows = grade_quickly(course)
    assert rows["mia"].notes == ()
    assert load_requests(course, "scoring", ["mia"]) == []
    assert {request.exercise for request in load_requests(course, "scoring", ["noa"])} == {
        CODE,
        "scoring-batched_additive_shapes",
    }


def test_completing_the_last_cell_after_the_due_date_costs_no_late_penalty(course):
    rules = "[late]\npercent_a_day = 10\n[assignment.scoring]\ndue = 2025-12-01T00:00:00Z\n"
    (course.root / "course.toml").write_text(rules, encoding="utf-8")
    place = course.submission("mia", "scoring").with_name("timestamp.txt")
    hand_in(course, "mia")
    place.write_text("2025-11-30 20:00:00.000000 UTC")
    grade_quickly(course)
    hand_in(course, "mia", change=completing("additive_score."))
    place.write_text("2025-12-05 20:00:00.000000 UTC")
    grade_quickly(course)
    assert load_results(course, "scoring")["mia"].penalty == 0
    assert "(on time)" in page(course, "mia")


def test_nbgraders_own_commands_cope_with_the_last_cell(course):
    for student, change in (("mia", None), ("noa", completing("additive_score."))):
        hand_in(course, student, change=change)
    output = nbgrader("autograde", "scoring", "--force", cwd=course.root)
    assert "does not exist in the database" not in output
    nbgrader("generate_feedback", "scoring", cwd=course.root)
    assert "Please look again" not in page(course, "mia")
    assert page(course, "noa").count("Please look again at additive_score.") == 1
    output = nbgrader("validate", course.releases("scoring").file, cwd=course.root)
    assert "request" not in output
    assert "not answered yet" in output
    count = len(course.releases("scoring").load().exercises)  # the unanswered exercises, and nothing else
    assert f"VALIDATION FAILED ON {count} CELL(S)" in output


def test_grade_says_that_requests_wait(asked):
    done = autograder("grade", "scoring", "--course", asked.root)
    command = f"`python -m autograder requests scoring --course {asked.root}`"
    assert f"Students have asked for another look: 3. {command} lists them." in done.stdout


def test_a_request_costs_no_points_and_moves_no_marks(asked):
    before = load_results(asked, "scoring")
    assert before["ada"].earned == before["cem"].earned
    mark(asked, "cem", 2.0)
    hand_in(asked, "cem", change=asking("Please look again at what_to_recompute."))
    grade_quickly(asked, grade_one=without_tanh)
    assert load_results(asked, "scoring")["cem"].waiting == ()  # the answer itself keeps its mark


@pytest.mark.parametrize("time", ["2025-11-30 20:00:00.000000 UTC", None])
def test_asking_after_the_due_date_costs_no_late_penalty_and_other_work_does(course, time):
    rules = "[late]\npercent_a_day = 10\n[assignment.scoring]\ndue = 2025-12-01T00:00:00Z\n"
    (course.root / "course.toml").write_text(rules, encoding="utf-8")
    place = course.submission("mia", "scoring").with_name("timestamp.txt")
    hand_in(course, "mia")
    if time:
        place.write_text(time)
    grade_quickly(course)
    hand_in(course, "mia", change=asking("Please look again at additive_score."))
    place.write_text("2025-12-05 20:00:00.000000 UTC")
    changes = grade_quickly(course, dry=True)["mia"].changes
    assert [move for move in changes if move.what == "late penalty"] == []
    for again in (False, False, True):
        grade_quickly(course, again=again)
        assert load_results(course, "scoring")["mia"].penalty == 0
        assert ("(on time)" in page(course, "mia")) == bool(time)
        assert "A person will answer here." in page(course, "mia")
    hand_in(course, "mia", "A better answer.", change=asking("Please look again at additive_score."))
    grade_quickly(course)
    assert load_results(course, "scoring")["mia"].penalty > 0
    assert "late by 4 days" in page(course, "mia")


def labelled(kind, source, before):
    """Return a cell of ``kind`` with the label of the cell for requests, and the label of the cell to put it before."""
    meta = {"nbgrader": {"grade_id": "request", "grade": False, "solution": False, "locked": False}}
    cell = {"cell_type": kind, "id": "late", "metadata": meta, "source": source}
    return (cell | {"outputs": [], "execution_count": None} if kind == "code" else cell), before


def drawn(picture):
    """Return a function that attaches ``picture`` to the written answer."""

    def change(data):
        cell = cell_of(data, ESSAY)
        cell["source"] = "![mine](attachment:mine.png)"
        cell["attachments"] = {"mine.png": {"image/png": base64.b64encode(picture).decode()}}

    return change


@pytest.mark.parametrize(
    ("kind", "source", "before"),
    [
        ("code", "def additive_score(*arguments):\n    return 1", f"{CODE}-check"),
        ("markdown", "The keys stay the same.", "scoring-race-text"),
        ("raw", "Please look again at additive_score.", "scoring-race-text"),
    ],
)
def test_late_work_in_cells_labelled_as_requests_is_late(course, kind, source, before):
    def change(data):
        cell, above = labelled(kind, source, before)
        place = next(number for number, other in enumerate(data["cells"]) if id_of(other) == above)
        data["cells"].insert(place, cell)
        completing("additive_score.")(data)

    assert penalty_of_a_late_change(course, lambda data: None, change) > 0
    assert "late by 4 days" in page(course, "mia")


def test_late_code_in_the_cell_of_a_warm_up_is_late_because_answers_may_use_it(course):
    def define(data):
        cell_of(data, WARM_UP)["source"] = "def helper(*given):\n    return 1"
        completing("additive_score.")(data)

    assert penalty_of_a_late_change(course, lambda data: None, define) > 0


def test_a_picture_that_is_exchanged_late_is_late(course):
    def again(picture):
        return lambda data: (drawn(picture)(data), completing("additive_score.")(data))

    assert penalty_of_a_late_change(course, drawn(b"one"), again(b"one")) == 0
    assert penalty_of_a_late_change(course, drawn(b"one"), again(b"two")) > 0


def test_a_notebook_that_asks_is_late_once_its_time_is_corrected(course):
    ask = completing("additive_score.")
    assert penalty_of_a_late_change(course, ask, ask) > 0


def test_the_same_work_handed_in_late_in_another_file_is_late_if_it_asks_for_nothing(course):
    def save_again(data):
        data["metadata"]["saved_by"] = "another program"

    assert penalty_of_a_late_change(course, lambda data: None, save_again) > 0
    assert "late by 4 days" in page(course, "mia")


def test_a_request_beside_a_copied_cell_is_still_no_work(course):
    def copy_again(data):
        completing("additive_score.")(data)
        data["cells"].append({**data["cells"][-1], "id": "copy"})

    assert penalty_of_a_late_change(course, lambda data: None, copy_again) == 0


def penalty_of_a_late_change(course, before, after):
    """Return the penalty of mia, who hands in ``before`` in time and ``after`` five days later."""
    rules = "[late]\npercent_a_day = 10\n[assignment.scoring]\ndue = 2025-12-01T00:00:00Z\n"
    (course.root / "course.toml").write_text(rules, encoding="utf-8")
    place = course.submission("mia", "scoring").with_name("timestamp.txt")
    for change, day in ((before, "2025-11-30"), (after, "2025-12-05")):
        hand_in(course, "mia", change=change)
        place.write_text(f"{day} 20:00:00.000000 UTC")
        grade_quickly(course)
    return load_results(course, "scoring")["mia"].penalty


def test_an_answer_appears_on_the_feedback_page_and_the_request_waits_no_more(asked):
    assert "A person will answer here." in page(asked, "ada")
    override(asked, "scoring", "additive_score", "ada", 2.0, "The loop counts.")
    output = succeed(
        "requests", "scoring", "--student", "ada", "--answer", "You are right: <i>2 points</i>.", "--course", asked.root
    )
    assert output.splitlines()[-1].startswith(f"Next: `python -m autograder grade scoring --course {asked.root}`")
    grade_quickly(asked, grade_one=without_tanh)
    text = page(asked, "ada")
    assert "You are right: &lt;i&gt;2 points&lt;/i&gt;." in text
    assert "&lt;b&gt;my loop&lt;/b&gt; is right." in text
    assert "A person will answer here." not in text
    assert "Please look again" not in page(asked, "cem")
    assert [request.student for request in load_requests(asked, "scoring", ["ada", "ben"]) if not request.answer] == [
        "ben",
        "ben",
    ]
    rows, _ = request_rows(asked, "scoring", everything=True)
    assert rows[0][3:] == [
        "marked by a person",
        f"2 of {asked.releases('scoring').load().points[CODE]:g}",
        "You are right: <i>2 points</i>.",
    ]
    assert all(row.reused for row in grade_quickly(asked, grade_one=without_tanh).values())


def test_an_answer_stays_when_the_student_hands_in_without_the_request(asked):
    answer_request(asked, "scoring", "ada", "", "It was counted.")
    hand_in(asked, "ada", "Something else.")
    grade_quickly(asked, grade_one=without_tanh)
    assert "It was counted." in page(asked, "ada")
    assert load_requests(asked, "scoring", ["ada"]) == []
    (row, *_), waiting = request_rows(asked, "scoring", everything=True)  # as on the page
    assert (row[0], row[-1], waiting) == ("Ada King (ada)", "It was counted.", 2)


@pytest.mark.parametrize(
    ("student", "exercise", "answer", "words"),
    [
        ("ben", "", "Yes.", "--exercise: scoring-batched_additive_shapes"),
        ("ben", "no_such", "Yes.", "--exercise"),
        ("cem", "", "Yes.", "requests scoring --course "),
        ("ada", "", " ", "the answer is empty"),
    ],
)
def test_an_answer_to_nothing_in_particular_is_refused(asked, student, exercise, answer, words):
    with pytest.raises(CourseError, match=re.escape(words)):
        answer_request(asked, "scoring", student, exercise, answer)


def test_one_of_several_requests_is_answered_by_its_exercise(asked):
    (answered_request,) = answer_request(asked, "scoring", "ben", "batched_additive_shapes", "Looked at.")
    assert answered_request.exercise == "scoring-batched_additive_shapes"
    assert sorted(bool(request.answer) for request in load_requests(asked, "scoring", ["ben"])) == [False, True]
    answer_request(asked, "scoring", "ben", "", "All is right.")
    answer_request(asked, "scoring", "ben", "batched_additive_shapes", "Looked at again.")  # instead, and as the last
    answers = [reply.answer for reply in load_replies(asked, "scoring", "ben")]
    assert answers == ["All is right.", "Looked at again."]


def test_an_answer_to_the_only_request_that_waits_leaves_the_answers_to_others_as_they_are(asked):
    answer_request(asked, "scoring", "ben", "batched_additive_shapes", "Looked at.")
    (answered_request,) = answer_request(asked, "scoring", "ben", "", "All is right.")
    assert answered_request.words == "Please look again at all of it."
    answers = {request.words: request.answer for request in load_requests(asked, "scoring", ["ben"])}
    assert answers == {
        "Please look again at all of it.": "All is right.",
        "Please look again at batched_additive_shapes.": "Looked at.",
    }


def test_requests_counts_hand_ins_that_are_not_graded_yet_because_they_may_ask(asked):
    command = ["requests", "scoring", "--section", "A", "--course", asked.root]
    output = succeed(*command)
    assert "1 request is waiting for an answer." in output
    assert "not graded" not in output
    hand_in(asked, "ada", "Later work.", change=asking(WORDS))
    grade_again = f"python -m autograder grade scoring --course {asked.root}"
    assert f"1 hand-in is not graded yet: a request in it will be listed after `{grade_again}`." in succeed(*command)


def test_an_answer_without_a_student_is_refused(asked):
    assert_refused(autograder("requests", "scoring", "--answer", "Yes.", "--course", asked.root), "--student")
