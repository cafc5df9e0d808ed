"""What does grading a submission cost, compared with plain nbgrader? Both grade the same class, feedback pages included.

    python benchmarks/grading.py --students 100
    python benchmarks/grading.py --students 100 --coordinator

Plain ``nbgrader autograde`` and ``nbgrader generate_feedback`` grade a sample, in blocks between the rounds of this grader,
which grades the whole class in each round as an instructor would: one command, full sandbox, cold start. Printed: CPU and
wall seconds per submission, their ratios, and where the time of one submission goes. The grade tables of both must be equal:
the class is quiet and honest. ``--coordinator`` measures the coordinating process alone, with workers that answer at once.
"""

import argparse
import concurrent.futures
import importlib
import inspect
import json
import os
import pickle
import random
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import nbformat
import psutil
from nbgrader.api import Gradebook

from autograder import exercises, sandbox
from autograder.batch.context import GradingOptions
from autograder.batch.grade_class import grade_class
from autograder.courses.course import Course, init, list_hidden_paths
from autograder.grading import cluster
from autograder.grading.cluster import Certificates
from autograder.releases.release import release

TOPIC = "scoring"
PLAIN_CONFIG = 'c = get_config()\nc.CourseDirectory.course_id = "attention"\nc.ExecutePreprocessor.timeout = 60\n'
STAGES = ("repair", "start", "cells", "calls", "sandbox", "host", "judge", "notebook", "page", "coordinator")
ROOT = Path(__file__).resolve().parents[1]


def main():
    options = _options()
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    with tempfile.TemporaryDirectory(prefix="grading-") as folder:
        ours = init(Path(folder) / "ours")
        release(ours, TOPIC, 0)
        sandbox.close()  # used to verify the release; the commands measured start their own
        names = _make_class(ours, options.students)
        if options.memory:
            _memory(ours, names)
            return
        if options.coordinator:
            _coordinator(ours, names)
            return
        plain = _plain_course(Path(folder) / "plain", ours)
        sample = random.Random(1).sample(names, min(options.sample, len(names)))
        blocks = [sample[n :: options.rounds] for n in range(options.rounds)]
        refuse_noise()
        taken = {"plain": [], "ours": []}
        for number, block in enumerate(blocks):
            taken["plain"].append((len(block), *_grade_plain(plain, ours, block)))
            taken["ours"].append((len(names), *_grade_ours(ours, names, options)))
            print(f"round {number + 1} of {len(blocks)}", file=sys.stderr, flush=True)
        _compare_grades(ours, plain, sample)
        _print_table(taken, options)
        _print_stages(ours, names[: min(24, len(names))])
        if options.dask:
            _dask(ours, names, options)


def _options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--students", type=int, default=100, help="how many the class has")
    parser.add_argument("--sample", type=int, default=24, help="how many of them plain nbgrader grades")
    parser.add_argument("--rounds", type=int, default=3, help="how often the whole class is graded")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="submissions run at once")
    parser.add_argument("--memory", action="store_true", help="measure memory and rate of this grader only")
    parser.add_argument("--coordinator", action="store_true", help="measure the coordinating process only")
    parser.add_argument("--dask", action="store_true", help="compare two dask workers with the local pool too")
    return parser.parse_args()


def class_of(course, count, topic=TOPIC):
    """Yield ``(name, notebook as text)`` of ``count`` students, who answer correctly, in another style, wrongly, or not at all."""
    source = nbformat.read(course.source(topic), as_version=4)
    released = nbformat.read(course.releases(topic).file, as_version=4)
    answers = {cell.metadata.nbgrader.grade_id: cell.source for cell in source.cells}
    asked = exercises.load(topic, 0)
    for number in range(count):
        rng = random.Random(number)
        notebook = nbformat.from_dict(json.loads(nbformat.writes(released)))
        cells = {cell.metadata.nbgrader.grade_id: cell for cell in notebook.cells}
        for exercise in asked:
            chance = rng.random()
            if not exercise.is_automatic:
                cells[exercise.name]["source"] = f"Because student {number} says so."
            elif chance < 0.6:
                cells[exercise.name]["source"] = _without_markers(answers[exercise.name])
            elif chance < 0.95:
                cells[exercise.name]["source"] = _alternative_answer(exercise, rng) or cells[exercise.name].source
        yield f"student{number:05d}", nbformat.writes(notebook)


def _make_class(course, count):
    names = []
    for name, text in class_of(course, count):
        names.append(name)
        path = course.submission(name, TOPIC)
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8")
    return names


def _alternative_answer(exercise, rng):
    """Return the source of a wrong answer, or of a right one in another style."""
    topic = exercise.entry.topic
    module = importlib.import_module(rng.choice((f"solutions.mistakes.{topic}", f"tests.submissions.{topic}")))
    known = sorted(name for name in vars(module) if name.startswith(f"{exercise.function}__"))
    if not known:
        return ""
    name = rng.choice(known)
    source = inspect.getsource(getattr(module, name))
    if f"{exercise.function}(" in source.partition("\n")[2]:  # it calls the reference, which no student has
        return ""
    return re.sub(rf"^def {name}\b", f"def {exercise.function}", source)


def _without_markers(source):
    return "\n".join(line for line in source.splitlines() if not line.strip().startswith("### "))


def _plain_course(root, ours):
    """Return a course with nbgrader's own settings, and the same assignment in it."""
    root.mkdir()
    (root / "nbgrader_config.py").write_text(PLAIN_CONFIG)
    shutil.copytree(ours.root / "source", root / "source")
    (root / "submitted").mkdir()
    _nbgrader(root, "generate_assignment", TOPIC, "--create", "--force")
    return Course(root)


def _grade_plain(plain, ours, block):
    """Let plain nbgrader grade ``block`` and make its pages; return CPU seconds and wall seconds."""
    shutil.rmtree(plain.root / "submitted")
    for name in block:
        target = plain.submission(name, TOPIC)
        target.parent.mkdir(parents=True)
        shutil.copyfile(ours.submission(name, TOPIC), target)
    with measure_time() as taken:
        _nbgrader(plain.root, "autograde", TOPIC)
        _nbgrader(plain.root, "generate_feedback", TOPIC)
    return taken[0], taken[1]


def _grade_ours(course, names, options):
    command = [sys.executable, "-m", "autograder", "grade", TOPIC, "--course", course.root, "--again", "--workers"]
    with measure_time() as taken:
        _run_or_exit([*command, str(options.workers)])
    return taken[0], taken[1]


def _run_or_exit(command, cwd=None):
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    return done.stdout


@contextmanager
def measure_time():
    """Yield a list that contains, at the end, the CPU and wall seconds of all that was started, sandboxes included.

    CPU seconds are those of the whole machine, because a sandbox's cannot be queried once it has ended. So nothing else
    may run at the same time; ``refuse_noise`` checks that.
    """
    taken = []
    before, began = _cpu_of_the_machine(), time.monotonic()
    yield taken
    wall = time.monotonic() - began
    time.sleep(1.0)  # until the last sandbox is gone
    taken += [_cpu_of_the_machine() - before, wall]


def _cpu_of_the_machine():
    """Return the CPU seconds that this machine has used since it was started."""
    times = psutil.cpu_times()
    return times.user + times.nice + times.system + times.irq + times.softirq


def measure_memory(pid):
    """Return the memory of a process and its descendants, in MB; shared memory is counted once where the system allows."""
    parent, total = psutil.Process(pid), 0.0
    for process in (parent, *parent.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):  # it has ended
            try:
                total += process.memory_full_info().pss
            except psutil.AccessDenied:
                total += process.memory_info().rss
    return total / 2**20


def refuse_noise(seconds=5.0, most=0.1):
    """Exit if something else uses more than ``most`` cores during ``seconds``."""
    before = _cpu_of_the_machine()
    time.sleep(seconds)
    busy = (_cpu_of_the_machine() - before) / seconds
    if busy > most:
        sys.exit(f"error: something else runs on this machine ({busy:.2f} cores): what is measured would be too much")


def _nbgrader(root, *command):
    _run_or_exit([sys.executable, "-m", "nbgrader", *command], cwd=root)


def _compare_grades(ours, plain, sample):
    tables = []
    for course in (ours, plain):
        with Gradebook(course.gradebook.url) as gradebook:
            tables.append({name: _grades(gradebook, name) for name in sample})
    different = [name for name in sample if tables[0][name] != tables[1][name]]
    if different:
        name = different[0]
        rows = [(a, b) for a, b in zip(tables[0][name], tables[1][name], strict=True) if a != b]
        sys.exit(f"error: {len(different)} of {len(sample)} grade tables differ; {name}: {rows}")
    print(f"The grade tables of {len(sample)} submissions are equal, exercise by exercise.")


def _grades(gradebook, name):
    submission = gradebook.find_submission_notebook(TOPIC, TOPIC, name)
    return sorted(
        (grade.name, grade.auto_score, grade.needs_manual_grade) for grade in submission.grades if grade.max_score
    )


def _print_table(taken, options):
    rounds = f"median of {options.rounds} rounds" if options.rounds > 1 else "1 round"
    machine = f"{os.cpu_count()} cores, {rounds}"
    print(f"\n{options.students} submissions of {TOPIC} with feedback, {options.workers} workers, {machine}")
    print(f"plain nbgrader: a sample of {options.sample}, {-(-options.sample // options.rounds)} at a time")
    print(f"{'':22} CPU s a submission   wall s a submission")
    best = {}
    for who, rounds in taken.items():
        cpu, wall = ([spent[column] / spent[0] for spent in rounds] for column in (1, 2))
        best[who] = statistics.median(cpu), statistics.median(wall)
        title = {"plain": "nbgrader", "ours": "python -m autograder"}[who]
        print(f"{title:22} {best[who][0]:18.3f}   {best[who][1]:19.3f}")
    ratios = [best["plain"][i] / best["ours"][i] for i in (0, 1)]
    print(f"{'times less':22} {ratios[0]:18.1f}   {ratios[1]:19.1f}")


def _print_stages(course, names):
    """Print where the time of one submission goes, run one after the other."""
    rows = grade_class(course, TOPIC, GradingOptions(workers=1, again=True), students=names)[2:]
    stages = [stage for stage in STAGES if stage in rows[0].spent or stage in rows[0].used]
    print(f"\nWhere the time of one submission goes (ms, median of {len(rows)}):")
    print(f"{'':8}" + "".join(f"{stage:>12}" for stage in stages))
    for title, column in (("wall", "spent"), ("CPU", "used")):
        taken = [[getattr(row, column).get(stage) for row in rows] for stage in stages]
        shown = ["" if None in times else f"{1000 * statistics.median(times):.1f}" for times in taken]
        print(f"{title:8}" + "".join(f"{text:>12}" for text in shown))


def _coordinator(course, names):
    """Print the coordinating process's time per submission if workers answer at once: all but grading itself."""
    known = CachingExecutor()
    grade_class(course, TOPIC, students=names, executor=known)  # fills the cache
    for kept in ("autograded", "feedback", ".autograder/verdicts", ".autograder/recorded"):
        shutil.rmtree(course.root / kept)
    with Gradebook(course.gradebook.url, "") as gradebook:
        for student in list(gradebook.students):
            gradebook.remove_student(student.id)
    for title, is_reused in ("for each submission", False), ("where nothing has changed since", True):
        before, began = time.process_time(), time.monotonic()
        rows = grade_class(course, TOPIC, students=names, executor=known)
        used, wall = (1000 * taken / len(names) for taken in (time.process_time() - before, time.monotonic() - began))
        assert not any(row.failed or row.set_aside or row.reused != is_reused for row in rows)
        print(f"{title}: {used:.1f} ms of CPU, {wall:.1f} ms of wall time in the coordinating process")
    assert known.pages == 0, "a page was made twice"
    print(f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB at most")


class CachingExecutor:
    """An executor that grades each submission once and then answers at once, pickling data as between processes."""

    workers = 2

    def __init__(self):
        self.outcomes, self.pages = {}, 0

    def submit(self, function, *args):
        function, args = pickle.loads(pickle.dumps((function, args)))
        future = concurrent.futures.Future()
        if function.__name__ != "grade_task":
            self.pages += 1
            future.set_result(function(*args))
            return future
        student = args[0].paper.student
        if student not in self.outcomes:
            self.outcomes[student] = pickle.dumps(function(*args))
        future.set_result(pickle.loads(self.outcomes[student]))
        return future


def _memory(course, names):
    """Print the peak memory of the coordinating process, and the rate."""
    began = time.monotonic()
    peak = int(_run_or_exit([sys.executable, "-c", MEMORY, str(course.root), TOPIC]))
    rate = len(names) / (time.monotonic() - began)
    print(f"{len(names)} submissions: coordinator {peak / 1024:.0f} MB at most, {rate:.1f} submissions a second")


MEMORY = """
import resource, sys
from pathlib import Path
from autograder.batch.grade_class import grade_class
from autograder.courses.course import Course
grade_class(Course.at(Path(sys.argv[1])), sys.argv[2])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def _dask(course, names, options):
    """Print the rate of two dask workers as a share of the local pool's, when both are warm."""

    def rate(executor):
        began = time.monotonic()
        options = GradingOptions(workers=2, feedback=False, again=True)
        grade_class(course, TOPIC, options, students=names, executor=executor)
        return len(names) / (time.monotonic() - began)

    with (
        dask_cluster(2) as (address, shown, _),
        cluster.executor(address, "zygote", list_hidden_paths(course), shown) as executor,
    ):
        grade_class(course, TOPIC, GradingOptions(feedback=False, again=True), students=names[:4], executor=executor)
        rates = [(rate(None), rate(executor)) for _ in range(options.rounds)]
    local, remote = (statistics.median(pair[i] for pair in rates) for i in (0, 1))
    print(
        f"\nTwo dask workers: {remote:.1f} submissions a second, the local pool {local:.1f}: {remote / local:.2f} of it"
    )


def make_certificate(folder):
    """Make a certificate that is its own authority, for every machine of a cluster, and return its files."""
    files = str(folder / "grading.crt"), str(folder / "grading.crt"), str(folder / "grading.key")
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=grading"]
    subprocess.run([*command, "-out", files[0], "-keyout", files[2]], check=True, capture_output=True)
    return files


@contextmanager
def dask_cluster(workers):
    """Start a scheduler and ``workers`` single-threaded workers as separate processes on this machine, with TLS.

    Yields the scheduler's address, ``cluster.Certificates``, and a function that adds a worker with more environment variables.
    """
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        file = Path(folder) / "scheduler.json"
        ca, cert, key = make_certificate(Path(folder))
        where = ["--scheduler-file", str(file), "--protocol", "tls"]
        where += ["--tls-ca-file", ca, "--tls-cert", cert, "--tls-key", key]

        def start(*words, **environment):
            command = [sys.executable, "-m", "dask", *words, *where]
            environment = {**os.environ, **environment}
            log = subprocess.DEVNULL
            process = stack.enter_context(subprocess.Popen(command, env=environment, stdout=log, stderr=log))
            stack.callback(process.kill)

        def add_worker(**environment):
            settings = ["--nthreads", "1", "--no-dashboard", "--no-nanny", "--local-directory", folder]
            start("worker", *settings, **environment)

        start("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
        while not (file.is_file() and file.read_text().rstrip().endswith("}")):  # it exists before it is complete
            time.sleep(0.1)
        for _ in range(workers):
            add_worker()
        yield json.loads(file.read_text())["address"], Certificates(ca, cert, key), add_worker


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main()
