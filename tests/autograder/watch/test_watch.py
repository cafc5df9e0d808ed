"""Hand-ins are graded and returned once, in the order of arrival, whatever individual students do."""

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest

from autograder.batch.submission_steps import SubmissionSteps
from autograder.courses.locking import exclusive_lock, shared_lock, watch_lock
from autograder.courses.standing import load_graded
from autograder.courses.submissions import list_submitters
from autograder.errors import CourseError
from autograder.exercises.drawing import candidate_seeds
from autograder.grading import submission
from autograder.paths import ROOT
from autograder.platforms import collect as collecting
from autograder.platforms.times import parse_time
from autograder.reports import tables
from autograder.watch import opening, polling, service, sources
from autograder.watch import run as running
from autograder.watch.arrivals import Arrivals
from tests.autograder.essays import all_right, grade_quickly
from tests.autograder.watch.hub import LIMITS, Mended
from tests.autograder.with_nbgrader.test_nbgrader_plugin import nbgrader

SCANDIR = os.scandir
pytestmark = pytest.mark.suite("assignments")


def test_what_arrives_is_graded_in_order_and_can_be_fetched(hub):
    secrets = [hub.submit(student, f"by {student}") for student in ("cem", "ada", "ben")]
    lines = hub.watch()
    assert hub.graded == ["by cem", "by ada", "by ben"]
    for name, secret in zip(("cem", "ada", "ben"), secrets, strict=True):
        assert f"by {name}" in hub.page(secret)
    assert [line.split()[2] for line in lines if "attempt 1: graded" in line] == ["cem:", "ada:", "ben:"]
    assert hub.outcomes() == [("cem", "graded"), ("ada", "graded"), ("ben", "graded")]


def test_lines_and_pages_call_students_by_the_names_of_the_roster(hub):
    (hub.course.root / "students.csv").write_text("id,name\nada,Ada\x1b King\nben,\n", encoding="utf-8")
    (hub.course.root / "course.toml").write_text('roster = "students.csv"\n', encoding="utf-8")
    secrets = [hub.submit(student) for student in ("ada", "ben")]
    lines = hub.watch()
    assert [line.partition("scoring ")[2].partition(":")[0] for line in lines if "attempt 1: graded" in line] == [
        "Ada\N{REPLACEMENT CHARACTER} King (ada)",
        "ben",
    ]
    assert "<dd>Ada\N{REPLACEMENT CHARACTER} King (ada)</dd>" in hub.page(secrets[0])
    assert "<dd>ben</dd>" in hub.page(secrets[1])


def test_nothing_is_read_or_graded_again_after_a_restart(hub, monkeypatch):
    hub.submit("ada")
    hub.watch()
    monkeypatch.setattr("autograder.watch.opening.collect.collect", None)
    lines = hub.watch()
    assert len(hub.graded) == 1
    assert not [line for line in lines if "ada" in line.split()]


def test_two_attempts_that_arrive_together_are_both_graded_in_their_order(hub):
    first, second = hub.submit("ada", "one"), hub.submit("ada", "two")
    hub.submit("ben", "other")
    lines = hub.watch()
    assert hub.graded == ["one", "other", "two"]  # each round takes one hand-in per student
    assert "one" in hub.page(first)
    assert "two" in hub.page(second)
    assert any("ada: attempt 2: graded" in line for line in lines)


def test_two_hand_ins_that_name_a_student_differently_are_both_graded_in_their_order(hub):
    (hub.course.root / "students.csv").write_text("id,login\nada,aking\n", encoding="utf-8")
    (hub.course.root / "course.toml").write_text('roster = "students.csv"\n', encoding="utf-8")
    hub.submit("ada", "one")
    hub.submit("aking", "two", account="ada")
    hub.watch(any_owner=True)
    assert hub.graded == ["one", "two"]
    assert hub.outcomes() == [("ada", "graded"), ("aking", "graded")]


def test_each_attempt_meets_other_hidden_cases_and_regrading_the_same(hub, monkeypatch):
    seen, load = [], submission.exercises_for

    def load_noting(topic, seed, attempt, *rest):
        seen.append(attempt)
        return load(topic, seed, 0, *rest)

    monkeypatch.setattr(submission, "exercises_for", load_noting)
    hub.submit("ada", "one")
    hub.submit("ada", "two")
    hub.watch()
    assert seen == [0, 1]
    assert len(load_graded(hub.course, "ada", "scoring")["tries"]) == 2
    hub.submit("ada", "one")  # a repeated attempt has the same cases, so its verdict is known
    hub.watch()
    assert seen == [0, 1]
    hub.submit("ada", "three")
    hub.watch()
    hub.regrade(again=True)
    assert seen == [0, 1, 2, 2]


def note_seeds(monkeypatch):
    """Return a list of the seeds of the hidden cases that submissions are graded with from now on."""
    used, load = [], submission.exercises_for

    def load_noting(topic, seed, attempt, points, extra, attempt_seeds):
        used.append(next(candidate_seeds(seed, attempt, attempt_seeds)))
        return load(topic, seed, 0, points, extra)

    monkeypatch.setattr(submission, "exercises_for", load_noting)
    return used


def test_the_seeds_that_the_release_recorded_decide_the_cases_of_an_attempt_and_of_its_regrading(hub, monkeypatch):
    def regrade():
        used.clear()
        hub.regrade(dry=True)
        return list(used)

    used = note_seeds(monkeypatch)
    hub.course.releases("scoring").record(0, hub.course.releases("scoring").load().digest, attempt_seeds=[40])
    hub.submit("ada", "one")
    hub.submit("ada", "two")
    hub.submit("ada", "three")
    hub.watch()
    assert used == [0, 40, next(candidate_seeds(0, 2))]
    hub.submit("ada", "two")  # this counts as the second attempt again
    hub.watch()
    assert regrade() == []  # its verdict is known
    shutil.rmtree(hub.course.store.folder)
    assert regrade() == [40]
    hub.course.releases("scoring").record(0, hub.course.releases("scoring").load().digest, attempt_seeds=[50])
    assert regrade() == [50]  # a verdict on other cases is not reused


def test_what_comes_after_another_release_is_graded_as_that_release_says(hub, monkeypatch):
    def release_again():
        hub.course.releases("scoring").record(0, hub.course.releases("scoring").load().digest, attempt_seeds=[40])
        hub.submit("ada", "two")

    used = note_seeds(monkeypatch)
    hub.submit("ada", "one")
    hub.watch(stop=Mended(release_again))
    assert hub.graded == ["one", "two"]
    assert used == [0, 40]


def test_it_says_of_which_attempts_the_hidden_cases_are_verified(hub):
    hub.plan(attempts=2)
    notice = "verified for 1 of 2 attempts. To verify the others, run `release scoring`"
    assert any(notice in line for line in hub.watch())
    hub.course.releases("scoring").record(0, hub.course.releases("scoring").load().digest, attempt_seeds=[40])
    assert not any("verif" in line for line in hub.watch())
    lines = hub.watch(stop=Mended(lambda: hub.plan(attempts=3)))
    assert sum("verified for 2 of 3 attempts" in line for line in lines) == 1


def test_one_round_is_what_can_be_undone_and_the_inbound_folder_can_be_collected_again(hub, monkeypatch):
    monkeypatch.setattr(service, "GATHER_SECONDS", 300.0)
    hub.submit("ada", "one")
    hub.watch(stop=Mended(lambda: [hub.submit("ada", "two"), hub.submit("ben")]))
    assert hub.graded == ["one", "two", "Because."]
    assert [done.student for done in collecting.undo(hub.course, "scoring")] == ["ada", "ben"]
    assert list_submitters(hub.course, "scoring") == ["ada"]
    assert hub.notebook("one") == hub.course.submission("ada", "scoring").read_text(encoding="utf-8")
    with pytest.raises(CourseError, match="nothing to undo"):
        collecting.undo(hub.course, "scoring")
    hub.watch()
    assert list_submitters(hub.course, "scoring") == ["ada"]
    collecting.collect(hub.course, "scoring", hub.inbound)
    assert list_submitters(hub.course, "scoring") == ["ada", "ben"]
    assert hub.notebook("two") == hub.course.submission("ada", "scoring").read_text(encoding="utf-8")


def test_one_bad_hand_in_stops_nobody(hub):
    broken = hub.submit("ada", content="no notebook {")
    empty = hub.submit("mal", content="x")
    (hub.inbound / "junk\x1b[31m").mkdir()
    (hub.inbound / "link+scoring+2026-01-01 00:00:00 UTC").symlink_to("/etc")
    os.mkdir(os.fsencode(hub.inbound) + b"/ada\xff+scoring+2026-01-01 00:00:00 UTC+1")
    folder = next(hub.inbound.glob("mal+*"))
    (folder / "scoring.ipynb").unlink()
    good = hub.submit("ben")
    lines = hub.watch()
    assert "ben" in hub.page(good)
    assert "not a Jupyter notebook" in hub.page(broken)
    assert "\x1b" not in "".join(lines)
    assert any("not taken: junk" in line for line in lines)
    assert ("ada", "set aside") in hub.outcomes()
    assert any("not taken: ada\\udcff+scoring" in line for line in lines)
    assert hub.page(empty) == ""


def test_what_breaks_the_collection_of_one_hand_in_is_given_up_after_some_rounds_and_tried_after_a_restart(hub):
    ada, ben = hub.submit("ada"), hub.submit("ben")
    collect = collecting.collect

    def breaks(course, topic, source, *rest, only, **more):
        if next(iter(only)).startswith("ada"):
            raise ValueError("of a name that nobody foresaw")
        return collect(course, topic, source, *rest, only=only, **more)

    with hub.monkeypatch.context() as patched:
        patched.setattr(collecting, "collect", breaks)
        lines = hub.watch(patience=3)
    assert any("ada+scoring" in line and "failed: ValueError: of a name" in line for line in lines)
    assert "ben" in hub.page(ben)
    assert hub.outcomes() == [("ada", "failed"), ("ben", "graded")]
    hub.watch()
    assert hub.outcomes() == [("ada", "graded"), ("ben", "graded")]
    assert "ada" in hub.page(ada)


def test_a_hand_in_that_breaks_every_round_is_given_up_and_the_others_are_graded(hub):
    begin = SubmissionSteps.begin

    def breaks(steps, row):
        if row.student == "ada":
            raise CourseError("what only this hand-in does to the grader", "here", "look.")
        return begin(steps, row)

    ada, ben, cem = (hub.submit(student) for student in ("ada", "ben", "cem"))
    with hub.monkeypatch.context() as patched:
        patched.setattr(SubmissionSteps, "begin", breaks)
        hub.watch(patience=12)
    assert sorted(hub.outcomes()) == [("ada", "failed"), ("ben", "graded"), ("cem", "graded")]
    assert "The grader itself failed" in hub.page(ada)
    assert "ben" in hub.page(ben)
    assert "cem" in hub.page(cem)


def test_a_network_drive_that_was_away_loses_nothing(hub):
    secret = hub.submit("ada")
    away = hub.inbound.with_name("away")
    look, looks = polling.Inbox.poll, []

    def poll(inbox):
        seen = look(inbox)
        if not looks:  # the hand-in is listed, but gone before it is opened
            hub.inbound.rename(away)
            hub.inbound.mkdir()
        looks.append(1)
        return seen

    with hub.monkeypatch.context() as patched:
        patched.setattr(polling.Inbox, "poll", poll)
        hub.watch()
    assert hub.outcomes() == [("ada", "gone")]
    hub.inbound.rmdir()
    away.rename(hub.inbound)
    hub.watch()
    assert hub.outcomes() == [("ada", "gone"), ("ada", "graded")]
    assert "ada" in hub.page(secret)


def test_a_claimed_time_well_before_the_hand_in_was_seen_is_reported_by_watch_its_page_and_grade(hub, monkeypatch):
    def minutes_ago(minutes):
        return f"{datetime.now(UTC) - timedelta(minutes=minutes):%Y-%m-%d %H:%M:%S.%f} UTC"

    made, create = [], running.Status
    monkeypatch.setattr(running, "Status", lambda *args: made.append(create(*args)) or made[-1])
    hub.submit("ada", when=minutes_ago(11))
    hub.submit("ben", when=minutes_ago(9))
    claim = "It claims to have been handed in on"
    (line,) = (line for line in hub.watch() if claim in line and "ada" in line)
    claimed, seen = re.search(r"handed in on (.+ UTC), but `watch` saw it on (.+ UTC)\.$", line).groups()
    assert parse_time(claimed) < parse_time(seen)
    assert [line for line in hub.lines if claim in line and "ben" in line] == []
    assert [line for line in made[0].snapshot()["errors"] if claim in line]
    for again in (False, True):
        rows = grade_quickly(hub.course, again=again)
        (line,) = tables.hint_lines(rows.values()).splitlines()
        assert line.startswith(f"ada: {claim}")
        assert tables.grade_table(hub.course.releases("scoring").load().exercises, rows.values()).row_count == 2
    hub.submit("ada", content="no notebook")
    hub.watch()
    for again in (False, True):
        row = grade_quickly(hub.course, again=again)["ada"]
        assert "not a Jupyter notebook" in row.set_aside
        assert any(note.startswith(claim) for note in row.notes)  # the earlier one counts


def test_a_claimed_time_is_reported_although_the_student_has_set_the_time_of_the_folder_back(hub):
    early = datetime.now(UTC) - timedelta(minutes=11)
    hub.submit("ada", when=f"{early:%Y-%m-%d %H:%M:%S.%f} UTC")
    (folder,) = hub.inbound.iterdir()
    os.utime(folder, (early.timestamp(), early.timestamp()))
    assert len([line for line in hub.watch() if "It claims to have been handed in on" in line]) == 1


def test_what_was_handed_in_while_watch_was_not_running_is_not_reported_as_early(hub, monkeypatch):
    add = Arrivals.add
    monkeypatch.setattr(Arrivals, "add", lambda record, rows, came: add(record, rows, came + 3600))
    hub.submit("ada")
    assert [line for line in hub.watch() if "It claims" in line] == []
    assert hub.graded


def test_the_setting_for_larger_files_is_named_to_the_instructor_and_not_to_the_student(hub):
    secret = hub.submit("ada", content="x" * (LIMITS.submission_mb * 2**20 + 1))
    assert any("raise c.Judge.submission_mb in nbgrader_config.py" in line for line in hub.watch())
    assert "larger than" in hub.page(secret)
    assert "c.Judge" not in hub.page(secret)


def test_an_open_course_directory_is_reported_with_its_remedy(hub):
    hub.course.root.chmod(0o755)
    (line,) = [line for line in hub.watch() if "The course is not safe" in line]
    subprocess.run(line.split("`")[1], shell=True, check=True)
    assert hub.course.root.stat().st_mode & 0o777 == 0o750
    assert not [line for line in hub.watch() if "The course is not safe" in line]


def test_students_can_read_published_pages_whatever_the_umask(hub):
    secret = hub.submit("ada")
    before = os.umask(0o077)
    try:
        hub.watch()
        (page,) = (hub.exchange / "attention" / "feedback").glob("*.html")
        assert page.stat().st_mode & 0o777 == 0o644
        page.unlink()
        nbgrader("release_feedback", "scoring", cwd=hub.course.root)
    finally:
        os.umask(before)
    assert page.stat().st_mode & 0o777 == 0o644
    assert hub.page(secret)


def test_work_that_another_account_hands_in_counts_for_nobody(hub):
    forged, own = hub.submit("ada", "forged", account="mal"), hub.submit("ada", "own")
    lines = hub.watch()
    assert hub.graded == ["own"]
    assert hub.page(forged) == ""
    assert "own" in hub.page(own)
    assert any("ada: nobody's: it claims to be ada's, but belongs to the account mal" in line for line in lines)


ROSTER = "id,name\nada,Ada King\n"


def test_who_joins_the_roster_late_is_graded_at_once_and_others_are_named_again_after_a_restart(hub):
    roster = hub.course.root / "students.csv"
    roster.write_text(ROSTER, encoding="utf-8")
    (hub.course.root / "course.toml").write_text('roster = "students.csv"\n', encoding="utf-8")
    ben, cem = hub.submit("ben", "by ben"), hub.submit("cem", "by cem")
    lines = hub.watch(stop=Mended(lambda: roster.write_text(f"{ROSTER}ben,Ben Ito\n", encoding="utf-8")))
    assert hub.graded == ["by ben"]
    assert "by ben" in hub.page(ben)
    assert sum("ben" in line and "is not in the roster" in line for line in lines) == 1
    assert hub.outcomes() == [("ben", "graded"), ("cem", "nobody's")]
    assert any("cem is not in the roster" in line for line in hub.watch())
    assert hub.page(cem) == ""
    roster.write_text(f"{ROSTER}ben,Ben Ito\ncem,Cem Oz\n", encoding="utf-8")  # while `watch` is not running
    hub.watch()
    assert hub.graded == ["by ben", "by cem"]
    assert not any("cem" in line for line in hub.watch())


def test_names_that_an_account_invents_make_nobody_wait(hub, monkeypatch):
    monkeypatch.setattr(service, "LOOKED_AT_PER_STUDENT", 1)  # while there is room for eight
    for number in range(30):
        hub.submit(f"nobody{number}", account="mal")
    hub.submit("ada", "by ada")
    opened = note_opened(monkeypatch)
    hub.watch()
    assert hub.graded == ["by ada"]
    assert sorted(opened[0]) == ["ada", "nobody0"]
    if os.geteuid() == 0:  # then the files really belong to accounts
        assert [names for names in opened[1:] if names] == [[f"nobody{number}"] for number in range(1, 30)]


def note_opened(monkeypatch):
    """Return a list to which each look for hand-ins adds the names that those it opens claim."""
    opened, serve, begin = [], service.Service.serve, opening.Opener.begin
    monkeypatch.setattr(service.Service, "serve", lambda self: opened.append([]) or serve(self))

    def note(self, arrival, *rest):
        opened[-1].append(arrival.claimed)
        return begin(self, arrival, *rest)

    monkeypatch.setattr(opening.Opener, "begin", note)
    return opened


@pytest.mark.parametrize(
    ("accounts", "owner", "account"),
    [(None, 30_002, 30_002), (None, 0, 0), (frozenset({0, 500}), 30_002, 30_002), (frozenset({0, 500}), 500, None)],
)
def test_a_hand_in_waits_in_the_queue_of_an_account_that_may_hand_in_for_nobody_else(
    accounts, owner, account, monkeypatch
):
    drop = sources.Source(Path("/drop"), "folder", lambda name: "scoring", accounts)
    monkeypatch.setattr(sources.os, "lstat", lambda path: SimpleNamespace(st_uid={Path("/drop/ada"): owner}[path]))
    assert drop.find_account("ada") == account


def test_where_any_account_may_hand_in_for_anybody_each_name_has_a_queue(hub, monkeypatch):
    for student in ("ada", "ben"):
        hub.submit(student, f"by {student}", account="prof")
    opened = note_opened(monkeypatch)
    hub.watch(any_owner=True)
    assert hub.graded == ["by ada", "by ben"]
    assert opened[0] == ["ada", "ben"]


def test_a_hand_in_whose_feedback_cannot_be_fetched_is_said_to_be_one(hub, monkeypatch):
    monkeypatch.setattr(polling, "UNFINISHED_SECONDS", 0.0)
    hub.submit("ada")
    (folder,) = hub.inbound.iterdir()
    (folder / "submission_secret.txt").unlink()
    hub.submit("ben")
    lines = hub.watch(patience=3)
    graded = {line.split()[2]: "cannot fetch the feedback" in line for line in lines if "attempt 1: graded" in line}
    assert graded == {"ada:": True, "ben:": False}


def test_a_failure_of_the_grader_is_told_and_the_others_are_served(hub):
    def fails_for_ada(notebook, *rest):
        if "by ada" in json.dumps(notebook):
            raise ZeroDivisionError("of the grader")
        return all_right(notebook, *rest)

    ada, ben = hub.submit("ada", "by ada"), hub.submit("ben")
    hub.watch(grade_one=fails_for_ada)
    assert "The grader itself failed" in hub.page(ada)
    assert "ben" in hub.page(ben)
    assert hub.outcomes() == [("ada", "failed"), ("ben", "graded")]


def test_what_is_completed_while_the_folder_is_listed_keeps_its_place(hub):
    hub.submit("ada", name="ada+scoring+2026-01-01 00:00:00 UTC+1")
    hub.submit("ben", name="ben+scoring+2026-01-01 00:00:00 UTC+2")
    first, second = sorted(hub.inbound.iterdir())
    look, done = polling.Inbox._check_entry, []

    def slowly(inbox, entry):
        """Check Ada's folder before it is complete; then complete Ada's and, after it, Ben's."""
        if not done and entry.name == first.name:
            first.chmod(0o700)
            seen = look(inbox, entry)
            done.append(seen)
            for folder in (first, second):
                time.sleep(0.02)
                folder.chmod(0o777)
            return seen
        return look(inbox, entry)

    with hub.monkeypatch.context() as patched:
        patched.setattr(polling.Inbox, "_check_entry", slowly)
        patched.setattr(polling.os, "scandir", sorted_scandir)
        inbox = polling.Inbox(hub.inbound, True, lambda name: True, {})
        arrived, _ = inbox.poll()
    assert done == [None]
    assert [seen.name for seen in arrived] == [first.name, second.name]


def test_what_is_completed_after_one_that_both_listings_missed_waits_for_the_next(hub):
    for number, student in enumerate(("ada", "ben", "cem")):
        hub.submit(student, name=f"{student}+scoring+2026-01-01 00:00:00 UTC+{number}")
    ada, ben, cem = sorted(hub.inbound.iterdir())
    for folder in (ben, cem):
        folder.chmod(0o700)
    look, looks = polling.Inbox._check_entry, []

    def slowly(inbox, entry):
        """The second time, complete Ben's folder just after it was checked and, after it, Cem's."""
        seen = look(inbox, entry)
        looks.append(entry.name)
        if looks.count(ben.name) == 2 and entry.name == ben.name:
            for folder in (ben, cem):
                time.sleep(0.02)
                folder.chmod(0o777)
        return seen

    with hub.monkeypatch.context() as patched:
        patched.setattr(polling.Inbox, "_check_entry", slowly)
        patched.setattr(polling.os, "scandir", sorted_scandir)
        inbox, polls = polling.Inbox(hub.inbound, True, lambda name: True, {}), []
        for _ in range(2):
            polls.append([seen.name for seen in inbox.poll()[0]])
            inbox.take(polling.InboxEntry(ada.name, str(ada.stat().st_mtime_ns), 0))
    assert polls == [[ada.name], [ben.name, cem.name]]


@contextlib.contextmanager
def sorted_scandir(path):
    with SCANDIR(path) as entries:
        yield iter(sorted(entries, key=lambda entry: entry.name))


def test_a_folder_that_is_still_being_written_is_left_alone(hub):
    secret = hub.submit("ada")
    (folder,) = hub.inbound.iterdir()
    for mode in (0o700, 0o755):  # `nbgrader submit` has not reached its last step; a student copies the folder by hand
        folder.chmod(mode)
        hub.watch()
        assert hub.outcomes() == []
    folder.chmod(0o777)
    (folder / "submission_secret.txt").write_text("")  # nor has it written the secret
    hub.watch()
    assert hub.outcomes() == []
    (folder / "submission_secret.txt").write_text(secret)
    hub.watch()
    assert hub.outcomes() == [("ada", "graded")]


def test_a_drop_folder_is_served_once_its_files_have_settled(hub, tmp_path):
    drop = tmp_path / "drop"
    for student in ("ada", "ben"):
        (drop / student).mkdir(parents=True)
        (drop / student / "scoring.ipynb").write_text(hub.notebook(f"by {student}"))
    hub.own(drop / "ben", "mal")
    lines = hub.watch(folder=drop, patience=40)
    assert hub.graded == []  # tests do not really wait, so nothing has settled
    with hub.monkeypatch.context() as patched:
        patched.setattr(polling, "SETTLE_SECONDS", 0.0)
        lines = hub.watch(folder=drop, patience=3)
        assert hub.graded == ["by ada"]
        assert any("ben: nobody's" in line and "account mal" in line for line in lines)
        (drop / "ada" / "scoring.ipynb").write_text(hub.notebook("changed"))
        hub.watch(folder=drop, patience=3)
    assert hub.graded == ["by ada", "changed"]
    assert "changed" in hub.course.feedback("ada", "scoring").read_text()


def test_what_root_puts_into_a_drop_folder_is_graded_for_the_student_whom_it_names(hub, tmp_path, monkeypatch):
    notebook = tmp_path / "drop" / "ada" / "scoring.ipynb"
    notebook.parent.mkdir(parents=True)
    notebook.write_text(hub.notebook("by ada"))
    hub.said |= dict.fromkeys(map(str, (notebook.parent, notebook)), 0)
    monkeypatch.setattr(polling, "SETTLE_SECONDS", 0.0)
    monkeypatch.setattr(sources.os, "geteuid", lambda: 500)
    hub.watch(folder=tmp_path / "drop", patience=3)
    assert hub.outcomes() == [("ada", "graded")]


def test_a_file_settles_from_its_last_change_on(tmp_path, monkeypatch):
    inbox, file, now = polling.Inbox(tmp_path, False, lambda name: True, {}), tmp_path / "ada.ipynb", [0.0]
    monkeypatch.setattr(polling.time, "monotonic", lambda: now[0])
    arrived = []
    for now[0], text in ((0.0, "{"), (1.5, "{}"), (3.0, ""), (4.5, "")):
        if text:
            file.write_text(text)
        arrived.append([seen.name for seen in inbox.poll()[0]])
    assert arrived == [[], [], [], ["ada.ipynb"]]


def test_a_second_watch_is_refused_and_markers_are_not(hub):
    with watch_lock(hub.course):
        with pytest.raises(CourseError, match="another `watch` is already running in this course"):
            hub.watch()
        with shared_lock(hub.course):
            pass
        with exclusive_lock(hub.course):
            pass


def test_the_course_is_not_locked_while_a_submission_runs(hub):
    locked = []

    def tries_to_lock(notebook, *rest):
        time.sleep(0.3)  # until the main thread waits for this task
        with exclusive_lock(hub.course):
            locked.append(True)
        return all_right(notebook, *rest)

    hub.submit("ada")
    hub.watch(grade_one=tries_to_lock)
    assert locked == [True]


def test_without_an_exchange_it_says_what_is_missing(hub):
    hub.inbound.rmdir()
    with pytest.raises(CourseError, match="no folder where hand-ins for this course can arrive"):
        hub.watch()


def test_as_a_program_with_a_real_sandbox_it_serves_and_ends_on_sigterm(hub, tmp_path):
    secret = hub.submit("prof")  # the account that runs the test
    command = [sys.executable, "-m", "autograder", "watch", "scoring", "--course", hub.course.root, "--workers", "1"]
    command += ["--any-owner", "--interval", "0.2"]
    log = tmp_path / "log.txt"
    with log.open("w") as file:
        process = subprocess.Popen([*map(str, command)], cwd=ROOT, stdout=file, stderr=file)
    try:
        ends = time.monotonic() + 600
        while not hub.page(secret):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < ends, log.read_text()
            time.sleep(0.1)
    finally:
        process.terminate()
        status = process.wait(120)
    assert status == 0, log.read_text()
    assert "Exercise by exercise" in hub.page(secret)
    assert "Status: http://127.0.0.1:" in log.read_text()
    assert "Stopped." in log.read_text()
    assert not os.path.exists(f"/proc/{process.pid}")


def test_a_file_that_nobody_wants_is_named_once_and_again_only_if_it_comes_back(tmp_path):
    inbox = polling.Inbox(tmp_path, is_exchange=False, wanted=lambda name: name.endswith(".ipynb"), known={})
    other = tmp_path / "notes.txt"
    for _ in range(2):
        other.touch()
        assert [inbox.poll()[1] for _ in range(3)] == [["notes.txt"], [], []]
        other.unlink()
        assert inbox.poll() == ([], [])
