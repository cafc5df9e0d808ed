"""Whatever one account hands in, others' work is opened and graded, and this process parses none of it."""

import json
import threading
import zipfile
from concurrent.futures import Future
from functools import partial
from types import SimpleNamespace

import pytest

from autograder.batch.grade_class import OPENING_SECONDS
from autograder.grading import submission
from autograder.notebooks import repair
from autograder.platforms import collect as collecting
from autograder.platforms.archives import RefusedEntry, _file_reader
from autograder.platforms.collect import MAX_COPIED, AssignmentSpec, HandIn, copy_hand_in, open_hand_in
from autograder.platforms.formats import Submitter
from autograder.watch import settings
from autograder.watch.arrivals import Arrivals
from autograder.watch.opening import Opener, Opening
from autograder.watch.settings import BUDGET_SECONDS, HOUR_SECONDS, Budget
from autograder.watch.sources import Source
from tests.autograder.essays import all_right
from tests.autograder.watch.hub import ACCOUNTS, UntilIdle
from tests.autograder.watch.test_slow_work import served, until

pytestmark = pytest.mark.suite("assignments")
ASK = "Please look again at additive_score."


@pytest.fixture
def known(hub, monkeypatch):
    """A hub on which each hand-in belongs to the account that handed it in, also where the tests may not change owners."""
    monkeypatch.setattr(Source, "find_account", lambda self, entry: hub.said[str(self.path / entry)])
    return hub


def note_tasks(monkeypatch, before=lambda kind, student: None):
    """Return a list to which each task that a worker begins adds what it does and for whom, after ``before`` of both."""
    begun, opens, reads = [], collecting.open_hand_in, submission.read_requests

    def note(kind, student):
        begun.append((kind, student))
        before(kind, student)

    def open_noting(asked, hand_in):
        note("open", hand_in.student)
        return opens(asked, hand_in)

    def read_noting(content, *rest):
        note("read", "mal" if b"by mal" in content else "another")
        return reads(content, *rest)

    monkeypatch.setattr(collecting, "open_hand_in", open_noting)
    monkeypatch.setattr(submission, "read_requests", read_noting)

    def grade_one(notebook, *rest):
        note("grade", "mal" if "by mal" in json.dumps(notebook) else "another")
        return all_right(notebook, *rest)

    return begun, grade_one


def test_two_thousand_names_that_an_account_invents_cost_no_worker_anything(known, monkeypatch):
    begun, grade_one = note_tasks(monkeypatch)
    for number in range(2000):
        known.submit(f"nobody{number}", account="mal", content="{}")
    secret = known.submit("ada")

    class UntilGraded(UntilIdle):
        def is_set(self):
            return super().is_set() or known.page(secret) != ""

    known.watch(stop=UntilGraded(), grade_one=grade_one)
    assert begun == [("open", "ada"), ("grade", "another")]


@pytest.mark.parametrize("kind", ["open", "grade", "read"])
def test_with_two_workers_a_hand_in_waits_for_nothing_that_another_account_has_handed_in(known, monkeypatch, kind):
    known.plan(attempts=1 if kind == "read" else 0)
    secrets = []

    def wait_for_ada(what, student):
        if (what, student) == (kind, "mal"):
            secrets.extend([] if secrets else [known.submit("ada")])
            until(lambda: known.page(secrets[0]))

    for number in range(4):
        known.submit("mal", "by mal" if kind == "read" else f"by mal, {number}", requests=[ASK] * bool(number))
    begun, grade_one = note_tasks(monkeypatch, wait_for_ada)
    known.watch(workers=2, grade_one=grade_one)
    assert served(known)[-1 if kind == "read" else 0] == "ada"
    assert begun.count((kind, "mal")) == (3 if kind == "read" else 4)


def test_with_one_worker_a_hand_in_waits_for_what_it_does_and_at_most_two_more_tasks_of_an_account(known, monkeypatch):
    came = []

    def hand_in(kind, student):
        if not came and (kind, student) == ("grade", "mal"):
            came.append(len(begun))
            known.submit("ada")

    for number in range(5):
        known.submit("mal", f"by mal, {number}")
    begun, grade_one = note_tasks(monkeypatch, hand_in)
    known.watch(grade_one=grade_one, interval=0)  # it looks before every task, however soon the last one ends
    meanwhile = begun[came[0] : begun.index(("grade", "another"))]
    assert sum(student == "mal" for _, student in meanwhile) <= 2
    assert len(begun) == 12  # six hand-ins, each opened and graded once


def test_an_account_that_has_used_up_its_budget_waits_and_others_do_not(known, monkeypatch):
    clock, charge, seen = [1000.0], Budget.charge, []
    monkeypatch.setattr(settings, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    factor = {ACCOUNTS["mal"]: BUDGET_SECONDS + 1}  # as if each task of that account took so long
    monkeypatch.setattr(Budget, "charge", lambda self, queue, seconds: charge(self, queue, factor.get(queue, seconds)))

    class Waiting(UntilIdle):
        def wait(self, seconds):
            super().wait(seconds)
            seen.append(list(known.graded))
            clock[0] += HOUR_SECONDS + 60

    for student, essay in (("mal", "first"), ("mal", "second"), ("ada", "by ada"), ("ada", "again")):
        known.submit(student, essay)
    known.watch(stop=Waiting(3))
    assert sum("wait: theirs have used a worker for 15 minutes" in line for line in known.lines) == 1
    assert seen == [["first", "by ada", "again"], *[["first", "by ada", "again", "second"]] * 2]


def test_a_file_that_is_too_large_is_refused_unread(tmp_path):
    path, mb = tmp_path / "x.ipynb", 2**18
    with path.open("wb") as file:
        file.truncate(2**39)  # sparse: reading what is allowed of it would take all memory
    with pytest.raises(RefusedEntry, match="larger than"):
        _file_reader(path, mb, path.stat().st_ino)()


def test_an_error_that_ends_a_worker_is_not_taken_for_the_hand_ins_and_is_charged_once():
    charged, task = [], Future()
    task.set_exception(TimeoutError("after its time by the clock"))
    opening = Opening(SimpleNamespace(), "mal", [], task=task)
    opener = SimpleNamespace(
        settings=SimpleNamespace(budget=SimpleNamespace(charge=lambda *each: charged.append(each)))
    )
    for _ in range(2):
        with pytest.raises(TimeoutError, match="by the clock"):
            Opener._get_result(opener, opening)
    assert charged == [("mal", OPENING_SECONDS)]


def test_a_budget_can_be_used_at_once_and_comes_back_with_each_hour(monkeypatch):
    clock = [1000.0]
    monkeypatch.setattr(settings, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    budget = Budget()
    budget.charge("mal", BUDGET_SECONDS)
    assert not budget.is_used_up("mal")
    budget.charge("mal", 1.0)
    assert budget.is_used_up("mal")
    assert not budget.is_used_up("ada")
    clock[0] += HOUR_SECONDS / BUDGET_SECONDS
    assert not budget.is_used_up("mal")
    for _ in range(10):  # an hour allows as much again, and no more
        clock[0] += HOUR_SECONDS / 10
        budget.charge("mal", BUDGET_SECONDS / 10)
        assert not budget.is_used_up("mal")
    budget.charge("mal", 1.0)
    assert budget.is_used_up("mal")


def test_this_process_parses_nothing_that_a_student_has_handed_in(known, monkeypatch):
    called, here = set(), threading.current_thread()

    def watched(owner, name):
        function = getattr(owner, name)

        def note(*args):
            called.add((name, threading.current_thread() is here))
            return function(*args)

        monkeypatch.setattr(owner, name, note)

    parsers = {"sources_by_id": collecting, "read_archive": collecting, "read_notebook": repair}
    for name, owner in parsers.items():
        watched(owner, name)
    known.plan(attempts=2)
    known.submit("mal", "one")
    for number in range(8):
        (next(known.inbound.iterdir()) / f"other{number}.ipynb").write_text(known.notebook("two"), encoding="utf-8")
    known.submit("mal", content="no notebook {")
    known.submit("ada", "one")
    known.submit("ada", "two")
    known.submit("ada", "one")
    known.submit("ada", "one", requests=[ASK])
    known.submit("ben")
    (folder,) = known.inbound.glob("ben+*")
    with zipfile.ZipFile(folder / "work.zip", "w") as bundle:
        bundle.write(folder / "scoring.ipynb", "scoring.ipynb")
    (folder / "scoring.ipynb").unlink()
    known.watch(any_owner=True)
    assert sorted(known.outcomes()) == [
        ("ada", "again"),
        *[("ada", "graded")] * 2,
        ("ada", "request"),
        ("ben", "graded"),
        ("mal", "graded"),
        ("mal", "set aside"),
    ]
    assert called == {(name, False) for name in parsers}


def test_a_refused_hand_in_is_opened_again_only_when_it_has_changed(known, monkeypatch):
    begun, grade_one = note_tasks(monkeypatch)
    secret = known.submit("ada", "one")
    (folder,) = known.inbound.iterdir()
    (folder / "scoring.ipynb").rename(folder / "mine.ipynb")
    (folder / "other.ipynb").write_text(known.notebook("two"), encoding="utf-8")
    known.own(folder / "mine.ipynb", "ada")
    known.own(folder / "other.ipynb", "ada")
    for _ in range(2):
        known.watch(grade_one=grade_one)
        assert begun == [("open", "ada")]
        assert known.outcomes() == [("ada", "refused")]
    assert "it is unclear which of its files counts" in known.page(secret)
    (folder / "other.ipynb").unlink()
    known.watch(grade_one=grade_one)
    assert begun == [("open", "ada"), ("open", "ada"), ("grade", "another")]
    assert known.outcomes() == [("ada", "refused"), ("ada", "graded")]


@pytest.mark.parametrize(
    ("error", "outcome", "sentence"),
    [
        (TimeoutError(), "refused", "it takes too long to read"),
        (ValueError("that nobody foresaw"), "failed", "The grader itself failed"),
    ],
)
def test_a_hand_in_that_cannot_be_opened_stops_nobody(known, monkeypatch, error, outcome, sentence):
    def break_for_mal(kind, student):
        if student == "mal":
            raise error

    _, grade_one = note_tasks(monkeypatch, break_for_mal)
    secret = known.submit("mal")
    known.submit("ada")
    known.watch(patience=4, grade_one=grade_one)
    assert known.outcomes() == [("mal", outcome), ("ada", "graded")]
    if outcome == "refused":  # otherwise its secret was not read either
        assert sentence in known.page(secret)


def test_of_two_accounts_whose_names_are_the_same_but_for_capitals_one_is_served(known):
    for student in ("ada", "Ada"):
        known.submit(student, f"by {student}")
    known.watch(workers=2)
    assert [outcome for _, outcome in known.outcomes()] == ["graded", "nobody's"]
    assert [folder.name for folder in (known.course.root / "submitted").iterdir()] == ["ada"]
    assert known.graded == ["by ada"]


def test_what_is_opened_for_another_roster_is_opened_again(known, monkeypatch):
    roster = known.course.root / "students.csv"
    (known.course.root / "course.toml").write_text('roster = "students.csv"\n', encoding="utf-8")
    roster.write_text("id,login\nada,ada\nben,ben\n", encoding="utf-8")

    def change(kind, student):
        roster.write_text("id,login\nking,ada\nben,ben\n", encoding="utf-8")

    begun, grade_one = note_tasks(monkeypatch, change)
    known.submit("ada")
    known.watch(patience=2, grade_one=grade_one, any_owner=True)
    assert begun[0] == ("open", "ada")
    assert [arrival.student for arrival in Arrivals(known.course, ["scoring"]).list_all("scoring")] == ["king"]


def hand_in_of(sizes, name="ada/{}.ipynb"):
    """Return a hand-in of notebooks with these names and ``sizes`` in bytes, and a list of the names that are read."""
    read = []

    def read_part(file, size):
        read.append(file)
        return b"{" + b" " * (size - 1)

    parts = [
        collecting._ArchivePart(name.format(file), "", Submitter("ada"), partial(read_part, file, size))
        for file, size in sizes.items()
    ]
    return HandIn("ada", "folder", tuple(parts)), read


def test_no_more_than_a_few_times_the_largest_size_is_copied_and_first_what_is_likely_to_count():
    asked = AssignmentSpec("scoring", frozenset({"scoring-additive_score"}), frozenset(), 1)
    sizes = dict.fromkeys([*map(str, range(8)), "scoring"], 2**20)
    hand_in, read = hand_in_of(sizes)
    copied = copy_hand_in(asked, hand_in)
    assert read == ["scoring", *map(str, range(MAX_COPIED - 1))]
    assert open_hand_in(asked, copied).files == {"scoring.ipynb": b"{" + b" " * (2**20 - 1)}
    del sizes["scoring"]
    hand_in, read = hand_in_of(sizes)
    with pytest.raises(RefusedEntry, match="its files are together larger than 4 MB"):
        open_hand_in(asked, copy_hand_in(asked, hand_in))
    assert len(read) == MAX_COPIED


def test_checkpoints_are_not_copied_and_what_cannot_be_read_is_refused_only_if_it_is_needed():
    asked = AssignmentSpec("scoring", frozenset({"scoring-additive_score"}), frozenset(), 1)
    hand_in, read = hand_in_of({"scoring": 10, "scoring-checkpoint": 10, "mine": 10})

    def refuse():
        raise RefusedEntry("it is a link")

    named, checkpoint, mine = hand_in.parts
    broken = collecting._ArchivePart(mine.name, "", mine.owner, refuse)
    copied = copy_hand_in(asked, HandIn("ada", "folder", (named, checkpoint, broken)))
    assert read == ["scoring"]
    assert list(open_hand_in(asked, copied).files) == ["scoring.ipynb"]
    with pytest.raises(RefusedEntry, match="it is a link"):
        open_hand_in(asked, copy_hand_in(asked, HandIn("ada", "folder", (checkpoint, broken))))
