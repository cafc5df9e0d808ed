"""Points, penalties and pages are right after any sequence of actions by instructors and students.

Hypothesis drives a course through hand-ins (in time, late, late without a time, broken), gradings, gradings that are killed at a
write, dry runs, hand-ins that `watch` takes and grades, requests for another look and answers to them, marks given in three ways,
extensions, other rules, another key, an undone collection, a lost gradebook, lost notebooks and pages, and a student who is
forgotten. After each grading, gradebook, page, export, requests and the rules on record are compared with a model of a few lines
that knows nothing of how they are made.
"""

import csv
import json
import math
import os
import re
import shutil
import tempfile
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import hypothesis
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from autograder.batch.context import GradingOptions
from autograder.batch.grade_class import grade_class
from autograder.courses.course import Course
from autograder.courses.submissions import list_submitters
from autograder.forget import erase
from autograder.gradebook.requests import answer_request, load_requests
from autograder.gradebook.scores import load_results
from autograder.grading import grade, judge
from autograder.marking.answers import CurrentMark, load_answers, save_marks
from autograder.marking.override import override
from autograder.platforms.attempts import Collection
from autograder.platforms.collect import collect, set_times, undo
from autograder.platforms.export import export
from autograder.sandbox import Limits
from tests.autograder.essays import ESSAY
from tests.autograder.essays import mark as mark_in_formgrader
from tests.autograder.killing import is_killed_at
from tests.autograder.watch import hub as hubs

pytestmark = pytest.mark.suite("assignments")

DUE = datetime(2025, 12, 1, tzinfo=UTC)
NAMES = {"ada": 17, "ben": 18}
OVERRIDDEN = "scoring-additive_score"
students = st.sampled_from(sorted(NAMES))
HOURS = st.sampled_from([None, None, -5, 20, 60])  # after the due date; None: unknown
LAST_HOURS = 61  # after which `watch` takes what is handed in
RIGHT = st.sampled_from([None, 0, 7, 12])
ESSAYS = st.sampled_from([None, "Because.", "U h_j does not change."])


@dataclass(frozen=True)
class SubmittedWork:
    """A hand-in: how many exercises are right, and when it arrived, if known."""

    number: int
    right: int | None  # None: no notebook
    essay: str | None
    received_at: datetime | None
    late: bool  # according to the platform
    is_stated: bool
    request: str = ""  # for another look

    @property
    def has_time(self):
        return self.received_at is not None and (self.is_stated or not self.late)


@dataclass
class Due:
    """A student's gradebook entry: the attempt graded last, its points by exercise, and points given by a person."""

    attempt: SubmittedWork
    automatic: dict[str, float] = field(default_factory=dict)
    by_person: dict[str, float] = field(default_factory=dict)


class Grades(RuleBasedStateMachine):
    released: Course  # set by the test

    def __init__(self):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="grades-"))
        shutil.copytree(self.released.root, self.folder / "course")
        self.course = Course.at(self.folder / "course")
        self.count, self.harder = 0, 0
        self.grace, self.percent, self.extensions = 0, 10, {}
        self.attempts = {name: [] for name in NAMES}
        self.undoable = None  # student -> attempts before the last collection
        self.recorded: dict[str, Due] = {}  # the expected contents of the gradebook
        self.judged = (
            self.folder / "judged.jsonl"
        )  # number of an attempt, points by exercise; what a killed grading judged, too
        self.is_unknown = False  # how much a killed grading had recorded
        self.answers: dict[str, dict[str, str]] = {name: {} for name in NAMES}  # by request
        self.patched = pytest.MonkeyPatch()
        self.patched.setattr(hubs, "LIMITS", Limits())  # as in ``grade``, so that verdicts are reused
        self.hub = hubs.Hub(self.course, self.folder, self.patched)
        self.taken = []  # student and outcome of each hand-in that `watch` took
        self.points = {
            exercise.name: exercise.points
            for exercise in self.course.releases("scoring").load().exercises
            if exercise.is_automatic
        }
        self.write_plan()

    def teardown(self):
        self.patched.undo()
        shutil.rmtree(self.folder)

    def write_plan(self):
        lines = ["[late]", f"grace_minutes = {self.grace}", f"percent_a_day = {self.percent}", "[assignment.scoring]"]
        lines += [f"due = {DUE.isoformat()}", "[assignment.scoring.extensions]"]
        lines += [f"{name} = {until.isoformat()}" for name, until in self.extensions.items()]
        (self.course.root / "course.toml").write_text("\n".join(lines), encoding="utf-8")

    def due(self, name):
        return max(DUE, self.extensions.get(name, DUE))

    # actions of people

    @initialize(
        hours=st.lists(HOURS, min_size=len(NAMES), max_size=len(NAMES)), late=st.booleans(), graded=st.booleans()
    )
    def begin(self, hours, late, graded):
        for name, hour in zip(NAMES, hours, strict=True):
            self.hand_in(name, 10, "Because.", late, hour)
        if graded:
            self.grade(again=False)

    def write_notebook(self, number, right, essay, request=""):
        if right is None:
            return "no notebook"
        data = json.loads(self.course.releases("scoring").file.read_text(encoding="utf-8"))
        for cell in data["cells"]:
            if cell["metadata"]["nbgrader"]["grade_id"] == "scoring-batched_additive_shapes":
                cell["source"] = f"# {right} right, attempt {number}"
            if cell["metadata"]["nbgrader"]["grade_id"] == ESSAY and essay is not None:
                cell["source"] = essay
        if request:
            data["cells"].append({"cell_type": "markdown", "id": "ask", "metadata": {}, "source": request})
        return json.dumps(data)

    @rule(name=students, right=RIGHT, essay=ESSAYS, late=st.booleans(), hours=HOURS)
    def hand_in(self, name, right, essay, late, hours):
        self.count += 1
        path = self.folder / "class.zip"
        with zipfile.ZipFile(path, "w") as bundle:
            file = f"{name}{'_LATE' * late}_{NAMES[name]}_{3000 + self.count}_scoring.ipynb"
            bundle.writestr(file, self.write_notebook(self.count, right, essay))
        collection = Collection(self.course, "scoring")
        ((entry,), _) = collect(self.course, "scoring", path, collection=collection)
        assert entry.problem == ""
        came = None
        if hours is not None:
            came = DUE + timedelta(hours=hours)
            set_times(self.course, "scoring", {name: came}, collection)
        self.undoable = name, list(self.attempts[name])
        self.attempts[name].append(SubmittedWork(self.count, right, essay, came, late, hours is not None))

    @rule(name=students, right=RIGHT, essay=ESSAYS)
    def hand_in_while_watch_runs(self, name, right, essay):
        self.count += 1
        came = DUE + timedelta(hours=LAST_HOURS, minutes=self.count)
        self.watch(SubmittedWork(self.count, right, essay, came, False, True), name, came)

    def watch(self, work, name, came):
        content = self.write_notebook(work.number, work.right, work.essay, work.request)
        secret = self.hub.submit(name, when=f"{came:%Y-%m-%d %H:%M:%S.%f} UTC", content=content)
        for folder in self.hub.inbound.iterdir():
            os.utime(folder / "scoring.ipynb", (0, 0))  # a date that says nothing
        self.undoable = name, list(self.attempts[name])
        self.attempts[name].append(work)
        self.taken.append((name, "set aside" if work.right is None else "graded"))
        self.hub.watch(any_owner=True, grade_one=self.judge)
        assert self.hub.outcomes() == self.taken
        self.count_as_graded(name)
        self.check(name)
        if work.right is not None:
            assert self.hub.page(secret) == self.course.feedback(name, "scoring").read_text(encoding="utf-8")
            self.check_rules()

    def has_standing_work(self, name):
        """Return whether the last hand-in of ``name`` was graded, and came at a known time."""
        last = self.attempts[name][-1:]
        return name in self.recorded and last == [self.recorded[name].attempt] and last[0].has_time

    @precondition(lambda self: not self.is_unknown and any(map(self.has_standing_work, NAMES)))
    @rule(name=students)
    def ask_for_another_look(self, name):
        """Hand in the work that was graded with a request: it counts from when the work came."""
        name = name if self.has_standing_work(name) else next(filter(self.has_standing_work, NAMES))
        self.count += 1
        request = f"Please look again at additive_score: this is request {self.count}."
        work = replace(self.attempts[name][-1], request=request)
        self.watch(work, name, DUE + timedelta(hours=LAST_HOURS, minutes=self.count))

    def has_asked(self, name):
        return name in self.recorded and self.recorded[name].attempt.request != ""

    @precondition(lambda self: not self.is_unknown and any(map(self.has_asked, NAMES)))
    @rule(name=students)
    def answer(self, name):
        name = name if self.has_asked(name) else next(filter(self.has_asked, NAMES))
        self.count += 1
        answer_request(self.course, "scoring", name, "additive_score", f"This is answer {self.count}.")
        self.answers[name][self.recorded[name].attempt.request] = f"This is answer {self.count}."
        self.check_requests(name)

    @precondition(lambda self: self.undoable)
    @rule()
    def undo(self):
        name, before = self.undoable
        undo(self.course, "scoring")
        self.attempts[name], self.undoable = before, None

    def one_of_the_recorded(self, name):
        return name if name in self.recorded else min(self.recorded)

    @precondition(lambda self: self.recorded)
    @rule(name=students, points=st.sampled_from([0.0, 1.5, 2.0]), in_a_sitting=st.booleans())
    def mark(self, name, points, in_a_sitting):
        name = self.one_of_the_recorded(name)
        if in_a_sitting:
            (answer,) = (
                candidate for candidate in load_answers(self.course, "scoring", ESSAY) if candidate.student == name
            )
            save_marks(self.course, "scoring", ESSAY, [(answer, CurrentMark(points, False, None))])
        else:
            mark_in_formgrader(self.course, name, points)
        self.recorded[name].by_person[ESSAY] = points
        if in_a_sitting and not self.is_unknown:
            self.check_gradebook(name)

    @precondition(lambda self: self.recorded)
    @rule(name=students, points=st.sampled_from([None, 0.5]))
    def override(self, name, points):
        name = self.one_of_the_recorded(name)
        override(self.course, "scoring", "additive_score", name, points, "It was disputed.")
        self.recorded[name].by_person.pop(OVERRIDDEN, None)
        if points is not None:
            self.recorded[name].by_person[OVERRIDDEN] = points
        if not self.is_unknown:
            self.check_gradebook(name)

    @rule(name=students, days=st.integers(0, 4))
    def extend(self, name, days):
        self.extensions[name] = DUE + timedelta(days=days)
        self.write_plan()

    @rule(grace=st.sampled_from([0, 15]), percent=st.sampled_from([10, 40]))
    def change_the_rule(self, grace, percent):
        self.grace, self.percent = grace, percent
        self.write_plan()

    @rule()
    def lose_the_gradebook(self):
        (self.course.root / "gradebook.db").unlink(missing_ok=True)
        self.recorded = {}

    @rule()
    def lose_notebooks_and_pages(self):
        for folder in ("autograded", "feedback"):
            shutil.rmtree(self.course.root / folder, ignore_errors=True)

    @precondition(lambda self: any(self.attempts.values()))
    @rule(name=students)
    def forget(self, name):
        name = name if self.attempts[name] else next(filter(self.attempts.get, NAMES))
        erase(self.course, name)
        self.attempts[name], self.answers[name] = [], {}
        self.taken = [taken for taken in self.taken if taken[0] != name]
        self.recorded.pop(name, None)
        if self.undoable and self.undoable[0] == name:
            self.undoable = None

    # actions of the grader

    def judge(self, notebook, exercises, *rest):
        """Stand in for ``grade``: find right what the notebook says, unless the key has become harder."""
        matches = (re.search(r"# (\d+) right, attempt (\d+)", cell.source) for cell in notebook.cells)
        stated = next(filter(None, matches))
        right = max(0, int(stated[1]) - self.harder)
        earned = [None if not exercise.is_automatic else 0.0 for exercise in exercises]
        places = [place for place, exercise in enumerate(exercises) if exercise.is_automatic][:right]
        for place in places:
            earned[place] = exercises[place].points
        points = {exercise.name: e for exercise, e in zip(exercises, earned, strict=True) if e is not None}
        with self.judged.open("a", encoding="utf-8") as file:
            file.write(f"{json.dumps([int(stated[2]), points])}\n")
        verdicts = (
            judge.Verdict(exercise.name, e, exercise.points) for exercise, e in zip(exercises, earned, strict=True)
        )
        return grade.Graded(tuple(verdicts), {})

    def run(self, **options):
        if not any(self.attempts.values()):
            return {}
        with pytest.MonkeyPatch.context() as patched, ThreadPoolExecutor(1) as pool:
            patched.setattr(grade, "grade", self.judge)
            rows = grade_class(self.course, "scoring", GradingOptions(**options), executor=pool)
        return {row.student: row for row in rows}

    @property
    def verdicts(self):
        """The points of each attempt by exercise, as it was judged last."""
        return dict(map(json.loads, self.judged.read_text(encoding="utf-8").splitlines()))

    @precondition(lambda self: any(self.attempts.values()))
    @rule(write=st.integers(1, 25))
    def be_killed_while_grading(self, write):
        done = self.folder / "writes.json"
        done.unlink(missing_ok=True)
        if is_killed_at(write, self.run, done):
            self.is_unknown = True
        else:
            assert done.exists(), "the grading failed"
            self.enter_what_was_graded(list_submitters(self.course, "scoring"))

    @rule()
    def grade_what_is_new(self):
        self.grade(again=False)

    @rule(again=st.booleans())
    def grade(self, again):
        rows = self.run(again=again)
        assert [row.failed for row in rows.values() if row.failed] == []
        self.enter_what_was_graded(rows)

    def enter_what_was_graded(self, names):
        self.is_unknown = False
        for name in names:
            self.count_as_graded(name)
        for name in NAMES:
            self.check(name)
        if names:
            self.check_rules()

    @rule()
    def change_the_key(self):
        self.harder = 1 - self.harder
        self.grade(again=True)

    @precondition(lambda self: self.recorded and not self.is_unknown)
    @rule()
    def say_what_would_move(self):
        before = load_results(self.course, "scoring")
        rows = self.run(dry=True)
        assert load_results(self.course, "scoring") == before
        for name, row in rows.items():
            if name in self.recorded and not row.set_aside:
                gain = sum(
                    (move.after or 0.0) - (move.before or 0.0)
                    for move in row.changes
                    if move.what not in ("late penalty", ESSAY)
                )
                whole = {**self.verdicts[self.attempts[name][-1].number], **self.recorded[name].by_person}
                held = {**self.recorded[name].automatic, **self.recorded[name].by_person}
                assert gain == pytest.approx(sum(whole.values()) - sum(held.values()))

    # what should result

    def count_as_graded(self, name):
        """Update the model as a grading of ``name`` should update the gradebook."""
        held = self.recorded.get(name)
        readable = [attempt for attempt in self.attempts[name] if attempt.right is not None]
        if not readable:
            return
        last = readable[-1]
        if last.late and not last.is_stated:
            last = replace(last, received_at=self.due(name) + timedelta(seconds=1))
        now = Due(last, self.verdicts[last.number], held.by_person if held else {})
        self.recorded[name] = now

    def earned(self, name):
        recorded = self.recorded[name]
        return sum({**recorded.automatic, **recorded.by_person}.values())

    def penalty(self, name):
        came = self.recorded[name].attempt.received_at
        seconds = (came - self.due(name)).total_seconds() - 60 * self.grace if came else 0
        share = min(self.percent * math.ceil(max(seconds, 0) / 86400), 100) / 100
        return share * self.earned(name)

    def check_gradebook(self, name):
        result = load_results(self.course, "scoring")[name]
        assert (result.earned, result.penalty) == (pytest.approx(self.earned(name)), pytest.approx(self.penalty(name)))

    def check_rules(self):
        rules = self.course.record.last_of_each("scoring", "", ("rules",))["rules"].data
        assert rules["due"] == DUE.replace(tzinfo=None).isoformat(" ")
        assert (rules["late"]["grace_minutes"], rules["late"]["percent_a_day"]) == (self.grace, self.percent)

    def check(self, name):
        if name not in self.recorded:
            if (self.course.root / "gradebook.db").exists():
                assert name not in load_results(self.course, "scoring")
            return
        if any(
            attempt.right is not None for attempt in self.attempts[name]
        ):  # otherwise the collection was undone, so there is nothing to grade
            self.check_gradebook(name)
            self.check_page(name)
            self.check_export(name)
            self.check_requests(name)

    def check_page(self, name):
        page = self.course.feedback(name, "scoring").read_text(encoding="utf-8")
        shown = re.search(r'class="sum">([\d.]+) of', page)[1]
        assert float(shown) == pytest.approx(self.earned(name) - self.penalty(name), abs=0.006)
        assert ("was not graded" in page) == (self.attempts[name][-1].right is None)
        assert [answer for answer in self.answers[name].values() if answer not in page] == []
        shown = self.course.record.last_of_each("scoring", name, ("page",))["page"].data
        assert shown["due"] == self.due(name).replace(tzinfo=None).isoformat(" ")
        attempt = self.recorded[name].attempt
        is_late = bool(attempt.received_at and attempt.received_at > self.due(name))
        lateness = re.search(r"<dt>Handed in</dt><dd>(.*?)</dd>", page)[1]
        assert ("late" in lateness) == (is_late or (attempt.late and not attempt.is_stated))

    def check_requests(self, name):
        request = self.recorded[name].attempt.request
        wanted = [(OVERRIDDEN, request, self.answers[name].get(request, ""))] if request else []
        assert [waiting[1:] for waiting in load_requests(self.course, "scoring", [name])] == wanted

    def check_export(self, name):
        target = self.folder / "grades.csv"
        export(self.course, "scoring", "csv", target, force=True)
        with target.open(newline="", encoding="utf-8") as file:
            (row,) = (row for row in csv.DictReader(file) if row["student"] == name)
        stated = [float(row[column]) for column in ("points", "late_penalty", "score")]
        due = [self.earned(name), self.penalty(name), self.earned(name) - self.penalty(name)]
        assert stated == [pytest.approx(value, abs=1e-4) for value in due]


def test_grades_are_what_is_due_in_any_order_of_events(released):
    Grades.released = released
    each_takes_seconds = hypothesis.settings().max_examples // 12
    settings = hypothesis.settings(max_examples=each_takes_seconds, stateful_step_count=20)
    hypothesis.stateful.run_state_machine_as_test(Grades, settings=settings)
