"""How many small faults in one of our packages do its tests notice?

    python -m benchmarks.mutation exercises                         draw 200 mutants, judge each, print the survivors
    python -m benchmarks.mutation exercises --resume FILE           judge those that FILE lacks
    python -m benchmarks.mutation exercises --resume FILE --again   and those that survived, with the tests of today

cosmic-ray makes the mutants with its default operators, drawn uniformly from all places where one applies. Each is judged in
a copy of the working tree by the tests that execute its line, those of its own module first, for at most ``--seconds``.
If the tests take far longer than usual, they have noticed the mutant too. Every run of tests has a process namespace of its
own (``unshare``, as root), because a mutant of the sandbox might make a test kill other processes on this machine.

``benchmarks/mutation_equivalent.toml`` lists the survivors that no test can catch, each with the reason.
"""

import argparse
import ast
import difflib
import hashlib
import json
import os
import queue
import random
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from xml.etree import ElementTree

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names
from coverage import CoverageData

ROOT = Path(__file__).resolve().parents[1]
WORK = ROOT / "_build" / "mutation"
EQUIVALENT = ROOT / "benchmarks" / "mutation_equivalent.toml"
COURSES = ("courses", "gradebook", "releases", "platforms", "batch", "reports")
PACKAGES = {  # name -> packages of `autograder` that are mutated, folders of tests that judge them
    "exercises": (("exercises",), ("exercises", "grading")),
    "grading": (("grading",), ("grading",)),
    "sandbox": (("sandbox",), ("sandbox",)),
    "courses": (COURSES, COURSES),
}
MAX_TEST_SECONDS = 60  # slower tests are not used
NO_TESTS = 5  # an exit status of pytest


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("package", choices=PACKAGES)
    parser.add_argument("--count", type=int, default=200, help="how many mutants")
    parser.add_argument("--seed", type=int, default=26)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=60, help="for how long each mutant is tested")
    parser.add_argument("--resume", type=Path, help="the file of an earlier run, which is continued")
    parser.add_argument("--again", action="store_true", help="judge the survivors again")
    options = parser.parse_args()
    equivalent = tomllib.loads(EQUIVALENT.read_text(encoding="utf-8"))
    results = options.resume or WORK / f"{options.package}-{options.seed}.jsonl"
    points = mutation_points(options.package)
    if not results.exists():
        results.parent.mkdir(parents=True, exist_ok=True)
        drawn = draw(points, options.count, random.Random(options.seed))
        results.write_text("".join(json.dumps(mutant) + "\n" for mutant in drawn), encoding="utf-8")
    states = {"drawn", "survived"} if options.again else {"drawn"}
    waiting = [m for m in read_results(results) if m["state"] in states and m["key"] not in equivalent]
    if options.again:
        shutil.rmtree(WORK / options.package, ignore_errors=True)  # so that the current tests are timed
    if waiting:
        judge_all(waiting, points, options, results)
    print_summary(options.package, read_results(results), equivalent)


# --- mutants ---------------------------------------------------------------------------------------------------------


def mutation_points(package):
    """Return every place of ``package`` where an operator applies: key -> (path, operator, occurrence, line number).

    A key contains a hash of the line instead of its number, so that it survives changes elsewhere.
    """
    points, same = {}, Counter()
    for path in sorted(
        path for folder in PACKAGES[package][0] for path in (ROOT / "autograder" / folder).rglob("*.py")
    ):
        source, name = path.read_text(encoding="utf-8"), str(path.relative_to(ROOT))
        lines, nodes, skipped = (
            source.splitlines(),
            list(ast_nodes(get_ast(source))),
            list(_find_skipped_ranges(ast.parse(source))),
        )
        for operator in operator_names():
            if get_operator(operator).arguments():
                continue  # it is not applied by default
            places = (place for node in nodes for place in get_operator(operator)().mutation_positions(node))
            for occurrence, (start, _) in enumerate(places):
                text = lines[start[0] - 1].strip()
                key = f"{name} {operator.partition('/')[2]} {hashlib.sha256(text.encode()).hexdigest()[:8]}"
                same[key] += 1
                if not any(first <= start < last for first, last in skipped):
                    points[f"{key} {same[key]}"] = (name, operator, occurrence, start[0])
    return points


def _find_skipped_ranges(tree):
    """Yield the beginning and the end of each annotation and import."""
    for node in ast.walk(tree):
        hints = [getattr(node, "annotation", None), getattr(node, "returns", None)]
        for part in [node] if isinstance(node, ast.Import | ast.ImportFrom) else filter(None, hints):
            yield (part.lineno, part.col_offset), (part.end_lineno, part.end_col_offset)


def draw(points, count, rng):
    """Return ``count`` of ``points`` as records, without mutants that are invalid Python or the same program."""
    drawn, left = [], sorted(points)
    while left and len(drawn) < count:
        key = left.pop(rng.randrange(len(left)))
        path, operator, occurrence, line = points[key]
        source = (ROOT / path).read_text(encoding="utf-8")
        mutated = mutate_code(source, get_operator(operator)(), occurrence)
        try:
            if mutated is None or ast.dump(ast.parse(mutated)) == ast.dump(ast.parse(source)):
                continue
        except SyntaxError:
            continue
        diff = difflib.unified_diff(source.split("\n"), mutated.split("\n"), path, path, lineterm="", n=2)
        drawn.append({"key": key, "state": "drawn", "line": line, "diff": "\n".join(diff)})
    return drawn


# --- tests -----------------------------------------------------------------------------------------------------------


class Tests:
    """The tests that judge a package, run once without a mutant: how long each takes, and which lines it executes."""

    def __init__(self, package, jobs):
        folder = WORK / package
        self.tree, self.folders = folder / "tree", PACKAGES[package][1]
        if not (folder / "times.xml").exists():
            shutil.rmtree(folder, ignore_errors=True)
            _copy_tree(self.tree)
            options = [f"-n{jobs}", "-ppytest_cov", "--cov=autograder", "--cov-context=test", "--cov-report="]
            options += [f"--junitxml={folder / 'running.xml'}", *(f"tests/autograder/{name}" for name in self.folders)]
            _run_tests(self.tree, options, COVERAGE_FILE=str(folder / "coverage"), PYTHONDONTWRITEBYTECODE="")
            (folder / "running.xml").rename(folder / "times.xml")
        self.seconds = {}
        for case in ElementTree.parse(folder / "times.xml").iter("testcase"):
            passed = {child.tag for child in case} <= {"properties"}
            if passed and float(case.get("time")) < MAX_TEST_SECONDS:
                self.seconds[f"{case.get('classname').replace('.', '/')}.py::{case.get('name')}"] = float(
                    case.get("time")
                )
        files = {test.partition("::")[0] for test in self.seconds}
        self._texts = {file: (self.tree / file).read_text(encoding="utf-8") for file in files}
        self._coverage = CoverageData(basename=str(folder / "coverage"))
        self._coverage.read()

    def select(self, path, line, seconds):
        """Return the tests that execute a line of file ``path``, up to ``seconds`` in all.

        The module's own come first, then those in files that name it, quick ones first in each group. If no test is
        known to execute the line, because another process does so, all tests may judge it.
        """
        contexts = self._coverage.contexts_by_lineno(str(self.tree / path)).get(line, ())
        covering = {context.rpartition("|")[0] for context in contexts} & set(self.seconds)
        stem = Path(path).stem

        def place(test):
            file = test.partition("::")[0]
            return not file.endswith(f"/test_{stem}.py"), stem not in self._texts[file], self.seconds[test]

        selected = []
        for test in sorted(covering or self.seconds, key=place):
            seconds -= self.seconds[test]
            if seconds < 0:
                break
            selected.append(test)
        return selected


def _copy_tree(target):
    """Copy the files of the working tree that git tracks or would add, in their current state."""
    listed = subprocess.check_output(["git", "ls-files", "-coz", "--exclude-standard"], cwd=ROOT, text=True)
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)
    (target / "node_modules").symlink_to(ROOT / "node_modules")


def _run_tests(tree, options, seconds=None, **environment):
    """Return the exit status of pytest in ``tree``; None if it took more than ``seconds``."""
    isolated = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
    isolated += ["sh", "-c", '"$@"; exit $?', "sh"]  # as process 1, sh waits for orphans, which pytest would not
    command = [*isolated, sys.executable, "-m", "pytest", "-q", "-pno:cacheprovider", *options]
    environment = {"PYTHONPATH": str(tree), "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1", **environment}
    with (tree / "log.txt").open("a") as log:
        try:
            return subprocess.run(
                command, cwd=tree, env=os.environ | environment, stdout=log, stderr=log, timeout=seconds
            ).returncode
        except subprocess.TimeoutExpired:
            return None


# --- judging ---------------------------------------------------------------------------------------------------------


def judge_all(mutants, points, options, results):
    """Judge each mutant in one of ``jobs`` copies of the tree, and append the outcome to ``results``."""
    tests, trees = Tests(options.package, options.jobs), queue.SimpleQueue()
    for job in range(options.jobs):
        shutil.rmtree(WORK / options.package / f"tree-{job}", ignore_errors=True)
        trees.put(shutil.copytree(tests.tree, WORK / options.package / f"tree-{job}", symlinks=True))

    def judge(mutant):
        tree = trees.get()
        try:
            point = points.get(mutant["key"])
            state, by = judge_one(tree, tests, *point, options.seconds) if point else ("gone", "")
        finally:
            trees.put(tree)
        with results.open("a", encoding="utf-8") as file:
            file.write(json.dumps(mutant | {"state": state, "by": by}) + "\n")
        return state

    with ThreadPoolExecutor(options.jobs) as pool:
        for number, state in enumerate(pool.map(judge, mutants), 1):
            print(f"{number} of {len(mutants)}: {state}", file=sys.stderr)


def judge_one(tree, tests, path, operator, occurrence, line, seconds):
    """Return "killed", "killed by time limit" or "survived", and the test that killed the mutant."""
    selected = tests.select(path, line, seconds)
    source, was = (tree / path).read_text(encoding="utf-8"), (tree / path).stat()
    (tree / path).write_text(mutate_code(source, get_operator(operator)(), occurrence), encoding="utf-8")
    (tree / "tests.txt").write_text("\n".join(selected), encoding="utf-8")
    report = tree / "report.xml"
    report.unlink(missing_ok=True)
    try:
        status = (
            _run_tests(tree, ["-x", "-n0", f"--junitxml={report}", "@tests.txt"], 60 + 5 * seconds) if selected else 0
        )
    finally:
        (tree / path).write_text(source, encoding="utf-8")
        os.utime(tree / path, ns=(was.st_atime_ns, was.st_mtime_ns))  # so that compiled code is valid again
    if status is None:
        return "killed by time limit", ""
    cases = ElementTree.parse(report).iter("testcase") if report.exists() else ()
    failed = [case for case in cases if {"failure", "error"} & {child.tag for child in case}]
    by = f"{failed[0].get('classname')}.{failed[0].get('name')}" if failed else ""
    return ("survived" if status in (0, NO_TESTS) else "killed"), by


# --- results ---------------------------------------------------------------------------------------------------------


def read_results(path):
    """Return the latest record of each mutant."""
    records = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return list({record["key"]: record for record in records}.values())


def print_summary(package, mutants, equivalent):
    """Print each survivor as a diff, and how many mutants were killed."""
    states = Counter("equivalent" if mutant["key"] in equivalent else mutant["state"] for mutant in mutants)
    for mutant in mutants:
        if mutant["state"] == "survived" and mutant["key"] not in equivalent:
            print(f"{mutant['key']}\n{mutant['diff']}\n")
    killed = states["killed"] + states["killed by time limit"]
    print(f"{package}: {dict(states)}; killed {killed / max(1, killed + states['survived']):.1%} of those that can be")


if __name__ == "__main__":
    main()
