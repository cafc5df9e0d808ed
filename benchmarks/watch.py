"""How long does a student wait for feedback while `watch` runs, from the hand-in until the page can be fetched?

    python benchmarks/watch.py --single 12 --burst 200
    python benchmarks/watch.py --single 0 --burst 2000
    python benchmarks/watch.py --topics scoring capstone

Hand-ins come first one at a time, then all at once, each from another student and for the topics in turn, in an exchange as
`nbgrader submit` writes it; `watch` runs as a program, with the full sandbox. Printed: the latency of single hand-ins, the
throughput and the longest wait of the burst beside the CPU time of its work, whether all were served once and in the order of
arrival, and the memory of all its processes at the beginning and at the end.
"""

import argparse
import itertools
import os
import secrets
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import psutil
from nbgrader.utils import notebook_hash

from autograder import sandbox
from autograder.courses.course import init
from autograder.releases.release import release
from autograder.watch.arrivals import Arrivals

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
from benchmarks.grading import TOPIC, class_of, measure_memory  # noqa: E402

PATIENCE_SECONDS, LOOK_SECONDS = 3600, 0.05


def main():
    options = _options()
    with tempfile.TemporaryDirectory(prefix="watch-") as name:
        folder = Path(name)
        course = init(folder / "course")
        for topic in options.topics:
            release(course, topic, 0)
        sandbox.close()
        exchange = make_exchange(course, folder)
        classes = {topic: class_of(course, options.single + options.burst, topic) for topic in options.topics}
        turns = itertools.islice(itertools.cycle(options.topics), options.single + options.burst)
        notebooks = [(f"{topic}-{student}", topic, text) for topic in turns for student, text in [next(classes[topic])]]
        log, words = folder / "log.txt", ["--workers", options.workers, "--interval", options.interval]
        with watching(course, options.topics, log, *words) as process:
            time.sleep(1)
            began = measure_memory(process.pid)
            singles = []
            for handed_in in notebooks[: options.single]:
                singles += _serve(exchange, [handed_in], process, log).values()
            if singles:
                median = statistics.median(singles)
                print(f"one at a time ({len(singles)}): median {median:.2f} s, most {max(singles):.2f} s")
            after_singles = measure_memory(process.pid)
            if options.burst:
                start, used = time.monotonic(), _cpu(process.pid)
                waits = _serve(exchange, notebooks[options.single :], process, log)
                took = time.monotonic() - start
                print(
                    f"all at once ({len(waits)}): {took:.1f} s, {60 * len(waits) / took:.0f} a minute; "
                    f"median wait {statistics.median(waits.values()):.1f} s, most {max(waits.values()):.1f} s"
                )
                used = _cpu(process.pid) - used
                # processes in a sandbox are counted once their parents have waited for them
                print(f"work: at least {used / len(waits):.2f} CPU seconds a hand-in; load {os.getloadavg()[0]:.1f}")
            ended = measure_memory(process.pid)
        print(
            f"exit status {process.returncode}; memory of all processes: {began:.0f} MB, {after_singles:.0f} MB, {ended:.0f} MB"
        )
        _check_order(course, options.topics, [student for student, *_ in notebooks])


def _options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--single", type=int, default=12, help="hand-ins that come one at a time")
    parser.add_argument("--burst", type=int, default=200, help="hand-ins that come all at once")
    parser.add_argument("--topics", nargs="+", default=[TOPIC], help="assignments that the hand-ins belong to in turn")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--interval", type=float, default=1.0, help="seconds between two looks of `watch`")
    return parser.parse_args()


def make_exchange(course, folder):
    """Give ``course`` an exchange in ``folder``, where students can hand in; return its root."""
    exchange = folder / "exchange"
    (exchange / "attention" / "inbound").mkdir(parents=True)
    with course.config.open("a") as config:
        config.write(f'\nc.Exchange.root = "{exchange}"\n')
    return exchange


@contextmanager
def watching(course, topics, log, *words):
    """Run `watch` with further arguments ``words``; yield its process once it is watching. Its output goes to ``log``."""
    command = [sys.executable, "-m", "autograder", "watch", *topics, "--course", course.root, "--any-owner"]
    command += ["--no-page", *words]
    with log.open("w") as file:
        process = subprocess.Popen([*map(str, command)], cwd=ROOT, stdout=file, stderr=file)
    try:
        wait_until(lambda: "Watching" in log.read_text(), process, log)
        yield process
    finally:
        process.terminate()
        process.wait(300)


COUNT = itertools.count()


def hand_in(exchange, student, topic, text):
    """Hand in as `nbgrader submit` does; return the path at which the feedback page will appear."""
    when, secret = f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S.%f} UTC", secrets.token_hex(64)
    folder = exchange / "attention" / "inbound" / f"{student}+{topic}+{when}+{next(COUNT)}"
    folder.mkdir()
    (folder / f"{topic}.ipynb").write_text(text, encoding="utf-8")
    (folder / "timestamp.txt").write_text(when)
    (folder / "submission_secret.txt").write_text(secret)
    folder.chmod(0o777)
    return exchange / "attention" / "feedback" / f"{notebook_hash(secret=secret, notebook_id=topic)}.html"


def _serve(exchange, notebooks, process, log):
    """Hand in ``notebooks``; return how long each student waited."""
    pages, waits = {}, {}
    for student, topic, text in notebooks:
        pages[student] = hand_in(exchange, student, topic, text), time.monotonic()

    def all_are_there():
        present = {entry.name for entry in os.scandir(exchange / "attention" / "feedback")}
        now = time.monotonic()
        for student, (page, since) in pages.items():
            if student not in waits and page.name in present:
                waits[student] = now - since
        return len(waits) == len(pages)

    wait_until(all_are_there, process, log)
    return waits


def wait_until(is_done, process, log):
    """Wait until ``is_done``; exit with the text of ``log`` if ``process`` ends, or after ``PATIENCE_SECONDS``."""
    ends = time.monotonic() + PATIENCE_SECONDS
    while not is_done():
        if process.poll() is not None or time.monotonic() > ends:
            raise SystemExit(log.read_text())
        time.sleep(LOOK_SECONDS)


def _cpu(pid):
    """Return the CPU seconds used by a process and its descendants, including those that have ended."""
    parent = psutil.Process(pid)
    return sum(sum(process.cpu_times()[:4]) for process in (parent, *parent.children(recursive=True)))


def _check_order(course, topics, students):
    known = Arrivals(course, topics)
    arrivals = sorted((one for topic in topics for one in known.list_all(topic)), key=lambda one: one.number)
    rows = [(one.claimed, one.outcome, one.ended) for one in arrivals]
    ends = [ended for _, _, ended in rows]
    late = max((sum(other < ends[n] for other in ends[n + 1 :]) for n in range(len(ends))), default=0)
    counts = {outcome: sum(row[1] == outcome for row in rows) for outcome in {row[1] for row in rows}}
    print(f"arrived in the order of handing in: {[name for name, *_ in rows] == students}; {counts}")
    print(f"served out of order by at most {late} places: those of one round are graded side by side")


if __name__ == "__main__":
    main()
