"""What does it cost to grade a class, from the platform's archive to the files for the platform, here Canvas?

    python benchmarks/class_of.py --students 1000

The submissions of simulated students, the same ones each time, come as one archive with Canvas's file names. They are collected,
graded in the full sandbox, exported as feedback pages and as grades, and reported on, each by its command. Printed for each
command: wall seconds, CPU seconds, and the peak memory of it and its descendants, with shared pages counted once. At the end,
every student must have a grade and a page.
"""

import argparse
import contextlib
import csv
import os
import subprocess
import sys
import tempfile
import threading
import zipfile
from dataclasses import dataclass
from pathlib import Path

import psutil

from autograder import sandbox
from autograder.courses.course import init
from autograder.courses.submissions import list_submitters
from autograder.releases.release import release

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
from benchmarks.grading import TOPIC, class_of, measure_memory, measure_time, refuse_noise  # noqa: E402

POLL_SECONDS = 0.1  # between two measurements of the memory
COURSE_TOML = """roster = "students.csv"
[late]
percent_a_day = 10
[assignment.scoring]
due = 2026-11-30T23:59:00Z
"""
LATE_INTERVAL = 7  # one student in this many hands in late


@dataclass(frozen=True)
class CommandCost:
    """The cost of one command: wall and CPU seconds and peak memory in MB; and its output."""

    name: str
    wall: float
    cpu: float
    megabytes: float
    said: str


def main():
    options = _options()
    with tempfile.TemporaryDirectory(prefix="class-") as folder:
        course = init(Path(folder) / "course")
        release(course, TOPIC, 0)
        sandbox.close()  # used to verify the release; the commands measured start their own
        if not options.shared:
            refuse_noise()
        steps = run_pipeline(course, options.students, Path(folder), options.workers)
        check_complete(course, options.students, Path(folder))
    noise = ", shared with others: CPU seconds are those of all of them" if options.shared else ""
    print(f"{options.students} students, {options.workers} workers, {os.cpu_count()} cores{noise}")
    print(f"{'':10} {'wall s':>9} {'CPU s':>9} {'CPU ms each':>12} {'MB at most':>11}")
    for step in steps:
        each = 1000 * step.cpu / options.students
        print(f"{step.name:10} {step.wall:9.1f} {step.cpu:9.1f} {each:12.1f} {step.megabytes:11.0f}")


def _options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--students", type=int, default=1000, help="how many the class has")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="submissions run at once")
    parser.add_argument("--shared", action="store_true", help="measure although something else runs on this machine")
    return parser.parse_args()


def run_pipeline(course, count, folder, workers):
    """Run all commands on a class of ``count`` in ``course``, where the assignment is released; return their costs.

    Input and output files are in ``folder``: submissions.zip, pages.zip, grades.csv, report.html.
    """
    write_submissions(course, count, folder / "submissions.zip")
    canvas = ["--to", "canvas", "--output"]
    commands = {
        "collect": [TOPIC, folder / "submissions.zip"],
        "grade": [TOPIC, "--workers", workers],
        "feedback": [TOPIC, *canvas, folder / "pages.zip"],
        "export": [TOPIC, *canvas, folder / "grades.csv", "--unmarked"],  # nobody has marked the essays
        "report": [TOPIC, "--output", folder / "report.html"],
    }
    return [_run_command(name, [*words, "--course", course.root]) for name, words in commands.items()]


def write_submissions(course, count, archive):
    """Write the roster of ``count`` students, and the ``archive`` in which Canvas would offer their submissions."""
    rows = []
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as bundle:
        for number, (name, text) in enumerate(class_of(course, count)):
            late = "LATE_" * (number % LATE_INTERVAL == 0)
            bundle.writestr(f"{name}_{late}{1000 + number}_{50_000 + number}_{TOPIC}.ipynb", text)
            rows.append([name, f"Student {number}", 1000 + number])
    with (course.root / "students.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["id", "name", "canvas"], *rows])
    (course.root / "course.toml").write_text(COURSE_TOML, encoding="utf-8")


def check_complete(course, count, folder):
    """Stop unless each of ``count`` students has a grade and a page, and the report was written."""
    with zipfile.ZipFile(folder / "pages.zip") as bundle:
        pages = sum(name.endswith(".html") for name in bundle.namelist())
    with (folder / "grades.csv").open(encoding="utf-8", newline="") as file:
        grades = len(list(csv.reader(file))) - 2  # header and points
    if {pages, grades, len(list_submitters(course, "scoring"))} != {count} or not (folder / "report.html").is_file():
        sys.exit(f"error: of {count} students, {grades} have a grade and {pages} a page")


def _run_command(name, words):
    command = [sys.executable, "-m", "autograder", name, *map(str, words)]
    with tempfile.TemporaryFile("w+") as output, measure_time() as taken:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, cwd=ROOT)
        most, done = [0.0], threading.Event()
        watch = threading.Thread(target=_track_peak_memory, args=(process.pid, most, done))
        watch.start()
        try:
            process.wait()
        finally:
            done.set()
            watch.join()
        output.seek(0)
        text = output.read()
    if process.returncode not in (0, 3):  # 3: some pages say that something is still to be marked
        sys.exit(f"error: {name} ended with {process.returncode}\n{text}")
    return CommandCost(name, taken[1], taken[0], most[0], text)


def _track_peak_memory(number, most, done):
    """Keep the peak memory of process ``number`` and its descendants, in MB, in ``most`` until ``done``."""
    while not done.is_set():
        with contextlib.suppress(psutil.Error):  # it has ended
            most[0] = max(most[0], measure_memory(number))
        done.wait(POLL_SECONDS)


if __name__ == "__main__":
    main()
