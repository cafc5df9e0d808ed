"""A course of 500 students in 12 sections, from the release to the grades: does `watch` keep up while five people mark?

    python benchmarks/term.py
    python benchmarks/term.py --students 60 --minutes 2 --markers 2

An assignment is released with `attempts = 3`. Students hand in at random moments within the given minutes, some up to four times
and some with a request for another look, into an exchange as `nbgrader submit` writes it; `watch` serves them as a program, with
the full sandbox. Meanwhile each marker marks by keyboard in a browser of their own. At the end, every section's grades are
exported, and everything is compared with what was handed in. Printed: how long students waited for feedback, also as a multiple
of what a single hand-in takes when nobody else does anything; how many answers were marked; and whether anything was lost or
duplicated, in which case the exit status is 1.
"""

import argparse
import csv
import json
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from selenium.common.exceptions import WebDriverException
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from autograder import sandbox
from autograder.courses.course import Course, init
from autograder.gradebook.requests import load_requests
from autograder.gradebook.scores import load_results
from autograder.releases.release import release
from autograder.watch.arrivals import Arrivals

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
from benchmarks.grading import TOPIC, class_of, measure_memory  # noqa: E402
from benchmarks.site import chromium  # noqa: E402
from benchmarks.watch import hand_in, make_exchange, wait_until, watching  # noqa: E402

ATTEMPTS, SECTIONS = 3, 12
QUESTION = "what_to_recompute"
REQUEST = "Please look again at batched_additive_shapes: I read the question in another way."
AGAIN = (1.0, 0.4, 0.2, 0.05)  # the share of students who hand in at least once, twice, three and four times
ASKING = 0.05  # the share of students whose last graded hand-in asks for another look
# on the page of `mark`: whether the current answer waits for a mark
IS_WAITING = "!!document.querySelector('article[aria-current] .state:not(.done)')"
RELOAD_SECONDS = 20  # after which a marker reloads the page for new answers
COURSE_TOML = """roster = "students.csv"
markers = {markers}
[assignment.{topic}]
due = 2126-11-30T23:59:00Z
attempts = {attempts}
feedback_before_due = "hints"
"""


@dataclass
class HandIn:
    """One hand-in: its student, its number from 1, its moment in seconds after the start, and its wait for feedback."""

    student: str
    number: int
    moment: float
    text: str
    page: Path | None = None
    since: float = 0.0
    waited: float | None = None


@dataclass
class SimulatedMarker:
    """A marker at work: how many answers were marked, and what went wrong."""

    name: str
    marked: int = 0
    problems: list[str] = field(default_factory=list)


def main():
    options = _options()
    with tempfile.TemporaryDirectory(prefix="term-") as name:
        sys.exit(run(Path(name), options))


def _options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--students", type=int, default=500)
    parser.add_argument("--minutes", type=float, default=10, help="in which they hand in")
    parser.add_argument("--markers", type=int, default=5, help="browsers in which answers are marked meanwhile")
    return parser.parse_args()


def run(folder, options):
    """Run the term in ``folder``; return the exit status."""
    began = time.monotonic()
    course, markers = make_course(folder, options)
    exchange = make_exchange(course, folder)
    print(f"released in {time.monotonic() - began:.0f} s")
    hand_ins = plan_hand_ins(course, options)
    log = folder / "log.txt"
    with watching(course, [TOPIC], log) as process:
        alone = measure_alone(exchange, hand_ins[:3], process, log)
        memory = [measure_memory(process.pid)]
        stop = threading.Event()
        threads = [
            threading.Thread(target=work, args=(course, marker, folder / marker.name, stop)) for marker in markers
        ]
        for thread in threads:
            thread.start()
        try:
            serve(exchange, hand_ins[3:], process, log)
            memory.append(measure_memory(process.pid))
        finally:
            stop.set()
            for thread in threads:
                thread.join()
    print_waits(hand_ins[3:], alone, options)
    print(f"memory of all processes of `watch`: {memory[0]:.0f} MB before, {memory[1]:.0f} MB after")
    print(f"marked by {len(markers)} people meanwhile: {', '.join(str(marker.marked) for marker in markers)} answers")
    problems = [*check(course, hand_ins), *check_sections(course, folder)]
    problems += [f"marker {marker.name}: {complaint}" for marker in markers for complaint in marker.problems]
    for problem in problems:
        print(f"WRONG: {problem}")
    print("nothing lost or doubled" if not problems else f"{len(problems)} things are wrong")
    return 1 if problems else 0


def make_course(folder, options):
    """Return a course with a roster, sections and markers in which the assignment is released, and its markers."""
    markers = [SimulatedMarker(f"marker{number + 1}") for number in range(options.markers)]
    sections = [f"S{number + 1:02d}" for number in range(SECTIONS)]
    course = init(folder / "course")
    names = json.dumps([marker.name for marker in markers])
    text = COURSE_TOML.format(markers=names, topic=TOPIC, attempts=ATTEMPTS)
    (course.root / "course.toml").write_text(text, encoding="utf-8")
    with (course.root / "students.csv").open("w", encoding="utf-8", newline="") as file:
        rows = [[f"student{n:05d}", f"Student {n}", sections[n % SECTIONS]] for n in range(options.students)]
        csv.writer(file).writerows([["id", "name", "section"], *rows])
    release(course, TOPIC, 0)
    sandbox.close()
    return course, markers


def plan_hand_ins(course, options):
    """Return the ``HandIn``s of the class in order of arrival, the same ones each time."""
    rng, hand_ins = random.Random(0), []
    for student, text in class_of(course, options.students):
        luck, asks = rng.random(), rng.random() < ASKING
        count = sum(luck < share for share in AGAIN)
        moments = sorted(rng.uniform(0, 60 * options.minutes) for _ in range(count))
        for number, moment in enumerate(moments, 1):
            changed = text.replace("says so.", f"says so, for the {number}. time.")
            is_last = number == min(count, ATTEMPTS)
            hand_ins.append(HandIn(student, number, moment, _with_request(changed) if asks and is_last else changed))
    return sorted(hand_ins, key=lambda attempt: attempt.moment)


def _with_request(text):
    notebook = json.loads(text)
    notebook["cells"].append({"cell_type": "markdown", "id": "another-look", "metadata": {}, "source": REQUEST})
    return json.dumps(notebook)


def measure_alone(exchange, hand_ins, process, log):
    """Return the median time that these hand-ins take one after another, while nobody marks."""
    for attempt in hand_ins:
        _begin(exchange, attempt)
        wait_until(lambda attempt=attempt: _is_served(attempt), process, log)
    return statistics.median(attempt.waited for attempt in hand_ins)


def serve(exchange, hand_ins, process, log):
    """Hand in at the planned moments, and wait until everybody has feedback."""
    start, queue, open_ones = time.monotonic(), list(hand_ins), []

    def all_served():
        while queue and time.monotonic() - start >= queue[0].moment:
            open_ones.append(_begin(exchange, queue.pop(0)))
        open_ones[:] = [attempt for attempt in open_ones if not _is_served(attempt)]
        return not queue and not open_ones

    wait_until(all_served, process, log)


def _begin(exchange, attempt):
    attempt.page, attempt.since = hand_in(exchange, attempt.student, TOPIC, attempt.text), time.monotonic()
    return attempt


def _is_served(attempt):
    if attempt.page.is_file():
        attempt.waited = time.monotonic() - attempt.since
    return attempt.waited is not None


def work(course, marker, profile, stop):
    """Mark the answers of the marker's sections in a browser until ``stop``, with every criterion met."""
    command = [sys.executable, "-u", "-m", "autograder", "mark", TOPIC, QUESTION, "--no-browser"]
    command += ["--marker", marker.name, "--course", str(course.root)]
    while not stop.is_set():
        with tempfile.TemporaryFile("w+") as errors:
            process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=errors, text=True)
            first = process.stdout.readline()
            try:
                if first.startswith("Mark here: "):
                    with chromium(profile) as browser:
                        _mark(browser, first.removeprefix("Mark here: ").strip(), marker, stop)
            except WebDriverException as error:
                marker.problems.append(f"{type(error).__name__}: {error.msg}")
            finally:
                process.terminate()
                process.wait(120)
                process.stdout.close()
        stop.wait(2)  # nobody has been graded yet


def _mark(browser, address, marker, stop):
    while not stop.is_set():
        browser.get(address)
        since = time.monotonic()
        while not stop.is_set() and time.monotonic() - since < RELOAD_SECONDS:
            if not browser.execute_script(f"return {IS_WAITING}"):
                if stop.wait(1):
                    return
                ActionChains(browser).send_keys("j").perform()
                continue
            ActionChains(browser).send_keys("a").perform()
            _wait_for_save(browser, marker)
            ActionChains(browser).send_keys(Keys.ENTER).perform()


def _wait_for_save(browser, marker):
    """Wait until the mark is saved, or the page says why not: an answer may have been handed in again."""
    ends = time.monotonic() + 60
    while time.monotonic() < ends:
        script = f"return [document.getElementById('problem').textContent, {IS_WAITING}]"
        problem, waiting = browser.execute_script(script)
        if problem or not waiting:
            marker.marked += not waiting and not problem
            return
        time.sleep(0.05)
    marker.problems.append("a mark was not saved within a minute")


def print_waits(hand_ins, alone, options):
    waits = sorted(attempt.waited for attempt in hand_ins)
    print(f"{len(hand_ins)} hand-ins of {options.students} students in {options.minutes:g} minutes")
    print(f"alone, a hand-in takes {alone:.1f} s (median of 3)")
    most_of_them, median = waits[int(0.9 * len(waits))], statistics.median(waits)
    print(f"wait for feedback: median {median:.1f} s ({median / alone:.1f} times), ", end="")
    print(f"90 % within {most_of_them:.1f} s, most {waits[-1]:.1f} s")


def check(course, hand_ins):
    """Yield each mismatch between what was handed in and the arrivals, graded attempts, grades and requests."""
    handed_in = Counter(attempt.student for attempt in hand_ins)
    rows = [(one.claimed, one.outcome) for one in Arrivals(course, [TOPIC]).list_all(TOPIC)]
    if (arrived := Counter(student for student, _ in rows)) != handed_in:
        yield f"{sum(handed_in.values())} hand-ins, {sum(arrived.values())} arrivals"
    graded = Counter(student for student, outcome in rows if outcome == "graded")
    for student, count in handed_in.items():
        if graded[student] != min(count, ATTEMPTS):
            yield f"{student} handed in {count} times, and {graded[student]} attempts were graded"
    results = load_results(course, TOPIC)
    if set(results) != set(handed_in):
        yield f"{len(handed_in)} students handed in, {len(results)} have a grade"
    asked = {attempt.student for attempt in hand_ins if REQUEST in attempt.text}
    listed = Counter(request.student for request in load_requests(course, TOPIC, results))
    if listed != Counter(asked):
        yield f"{len(asked)} students asked for another look, and {sum(listed.values())} requests are listed"
    beyond = sum(outcome == "used up" for _, outcome in rows)
    print(f"{sum(graded.values())} attempts graded, {beyond} beyond the limit, {len(asked)} requests")


def check_sections(course, folder):
    """Export the grades of each section; yield what is missing or duplicated."""
    names, began = Counter(), time.monotonic()
    for number in range(SECTIONS):
        section, target = f"S{number + 1:02d}", folder / f"S{number + 1:02d}.csv"
        command = [sys.executable, "-m", "autograder", "export", TOPIC, "--section", section, "--unmarked"]
        command += ["--course", str(course.root), "--output", str(target)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if not target.is_file():
            yield f"export of {section}: {done.stdout}{done.stderr}"
            continue
        with target.open(encoding="utf-8-sig", newline="") as file:
            names.update(row[0] for row in list(csv.reader(file))[1:])
    print(f"{SECTIONS} sections exported in {time.monotonic() - began:.0f} s")
    wanted = Counter(student.id for student in Course.at(course.root).plan().students)
    if names != wanted:
        yield f"the sections have {sum(names.values())} students together, the roster {sum(wanted.values())}"


if __name__ == "__main__":
    main()
