"""On a full disk, each command says so, leaves nothing half written, and works again once there is room."""

import json
import subprocess
import sys

import pytest

from autograder.paths import ROOT
from autograder.sandbox import bubblewrap
from tests.autograder.essays import ESSAY
from tests.autograder.platforms.test_collect import archive
from tests.autograder.samples import AUTOMATIC

pytestmark = pytest.mark.suite("assignments")
SIZE = 30_000_000  # bytes of the disk, which is then filled up
STUDENTS = ["ada", "ben", "cem", "dora"]

COUNTED = ("collecting", "grading", "restoring")
COMMANDS = """
import json, os, shutil, sys, zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from autograder.gradebook import backup
from autograder.batch.context import GradingOptions
from autograder.batch.grade_class import grade_class
from autograder.platforms.collect import collect
from autograder.courses.course import Course
from autograder.courses.submissions import list_submitters
from autograder.errors import CourseError
from autograder.grading import grade
from autograder.sandbox import Limits
from tests.autograder.essays import all_right

source, archive, disk = map(Path, sys.argv[1:])
shutil.copytree(source, disk / "course")
course, filler, told = Course.at(disk / "course"), disk / "filler", {"said": [], "drafts": []}
grade.grade = all_right

def with_room(room, command):
    filler.unlink(missing_ok=True)
    have = os.statvfs(disk)
    if room is not None:
        filler.write_bytes(bytes(max(have.f_bavail * have.f_frsize - room, 0)))
    try:
        return command()
    except CourseError as error:
        told["said"].append([command.__name__, str(error)])
        told["drafts"] += [path.name for path in course.root.rglob("*.draft")]

def collecting():
    return [[one.student, one.problem] for one in collect(course, "scoring", archive)[0]]

def grading():
    with ThreadPoolExecutor(1) as pool:
        rows = grade_class(course, "scoring", executor=pool)
    return [[row.student, row.failed, row.set_aside, row.total] for row in rows]

def restoring():
    backup.restore(course, backup.list_backups(course)[0].name)
    return True

with zipfile.ZipFile(archive) as bundle:
    with_room(int(2.5 * bundle.infolist()[0].file_size), collecting)
files = [course.submission(name, "scoring") for name in list_submitters(course, "scoring")]
told["at first"] = [file.stat().st_size for file in files if file.is_file()]
told["between"] = with_room(None, grading)
told["collected"] = with_room(None, collecting)
for room in (0, 100_000, 400_000, 700_000):
    with_room(room, grading)
told["graded"] = with_room(None, grading)
told["again"] = with_room(0, grading) or with_room(None, grading)
with_room(0, restoring)
told["restored"] = with_room(None, restoring)
print(json.dumps(told))
"""


@pytest.mark.skipif(not bubblewrap.is_installed(), reason="a disk of one's own needs bubblewrap")
def test_on_a_disk_that_is_full_nothing_is_half_written_and_with_room_all_is_done(released, tmp_path):
    data = json.loads(released.releases("scoring").file.read_bytes())
    next(c for c in data["cells"] if c["metadata"]["nbgrader"]["grade_id"] == ESSAY)["source"] = "Because."
    data["metadata"]["padding"] = "x" * 40_000
    content = json.dumps(data)
    (tmp_path / "class.zip").write_bytes(archive(*((f"{name}.ipynb", content) for name in STUDENTS)))
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["bwrap", "--die-with-parent", "--dev-bind", "/", "/", "--chdir", ROOT]
    command += ["--size", str(SIZE), "--tmpfs", disk]
    command += [sys.executable, "-c", COMMANDS, released.root, tmp_path / "class.zip", disk]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    results = json.loads(done.stdout.splitlines()[-1])
    messages = {name: [text for command, text in results["said"] if command == name] for name in COUNTED}
    assert len(messages["collecting"]) == 1
    assert "No space left on device" in messages["collecting"][0]
    assert messages["grading"]
    assert len(messages["restoring"]) == 1
    assert [text for texts in messages.values() for text in texts if "free some disk space" not in text] == []
    assert results["drafts"] == []
    assert 0 < len(results["at first"]) < len(STUDENTS)
    assert {*results["at first"]} == {len(content)}
    assert [row[1:] for row in results["between"]] == [["", "", AUTOMATIC]] * len(results["at first"])
    assert results["collected"] == [[name, ""] for name in STUDENTS]
    assert results["restored"]
    assert results["graded"] == results["again"] == [[name, "", "", AUTOMATIC] for name in STUDENTS]
