"""If `watch` is killed before any kind of write (with --full, before any write) and restarted, nothing is lost or duplicated."""

import copy
import re
import shutil
import time
from functools import partial

import pytest
from nbgrader.api import Gradebook

from autograder.courses.course import Course
from autograder.courses.standing import load_graded
from autograder.courses.submissions import list_submitters
from autograder.gradebook.requests import load_requests
from tests.autograder.killing import choose_writes, is_killed_at

pytestmark = pytest.mark.suite("assignments")
CLOCK = re.compile(r"arrived on .*? UTC")


def copied(hub, folder):
    """Return a copy of ``hub`` with all its files, in ``folder``."""
    origin = hub.course.root.parent
    shutil.copytree(origin, folder)
    other = copy.copy(hub)
    other.course, other.exchange = Course.at(folder / "course"), folder / "exchange"
    other.inbound = other.exchange / "attention" / "inbound"
    for entry in sorted(other.inbound.iterdir(), key=lambda entry: int(entry.name.rpartition("+")[2])):
        entry.chmod(0o777)  # hand-ins arrive in the order in which their folders last changed
        time.sleep(0.02)
    config = other.course.config
    config.write_text(config.read_text().replace(str(origin), str(folder)))
    other.lines, other.graded = [], []
    return other


def state(hub, names):
    """Return the final state: the gradebook, submissions, attempts, pages, requests and the outcome of each arrival."""
    with Gradebook(hub.course.gradebook.url) as gradebook:
        rows = sorted(
            (notebook.student.id, grade.name, grade.auto_score, grade.needs_manual_grade)
            for notebook in gradebook.notebook_submissions("scoring", "scoring")
            for grade in notebook.grades
        )
    students = list_submitters(hub.course, "scoring")
    standing = {student: hub.course.submission(student, "scoring").read_bytes() for student in students}
    tries = {student: load_graded(hub.course, student, "scoring").get("tries") for student in students}
    pages = [CLOCK.sub("", hub.page(name)) for name in names]
    return rows, standing, tries, pages, load_requests(hub.course, "scoring", students), hub.outcomes()


def test_after_a_kill_before_any_write_a_restart_ends_as_undisturbed(hub, pytestconfig):
    hub.plan(attempts=2)
    names = [hub.submit("ada", "one"), hub.submit("ben", "other"), hub.submit("ada", "two"), hub.submit("ada", "three")]
    names += [hub.submit("cem", content="no notebook {")]
    names += [hub.submit("ada", "two", requests=["Please look again at additive_score."])]
    hub.course.root.parent.joinpath("start").mkdir()
    for name in ("course", "exchange"):
        shutil.move(hub.course.root.parent / name, hub.course.root.parent / "start" / name)
    folder = hub.course.root.parent
    config = folder / "start" / "course" / "nbgrader_config.py"
    config.write_text(config.read_text().replace(str(folder), str(folder / "start")))
    hub.course = Course.at(folder / "start" / "course")
    undisturbed = copied(hub, folder / "undisturbed")
    assert not is_killed_at(0, partial(undisturbed.watch, any_owner=True), folder / "writes")
    wanted = state(undisturbed, names)
    graded = [("ada", "graded"), ("ben", "graded"), ("ada", "graded")]
    assert wanted[-1] == [*graded, ("ada", "used up"), ("cem", "set aside"), ("ada", "request")]
    assert [request.student for request in wanted[-2]] == ["ada"]
    for number in choose_writes(folder / "writes", pytestconfig.getoption("--full")):
        other = copied(hub, folder / str(number))
        watch = partial(other.watch, any_owner=True)
        assert is_killed_at(number, watch, folder / "writes"), number
        watch()
        assert state(other, names) == wanted, number
        assert not list(other.course.root.rglob("*.draft*"))
        shutil.rmtree(folder / str(number))
