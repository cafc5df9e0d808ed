"""How many small faults in one of our packages do its tests notice?

    python -m benchmarks.mutation exercises                         draw 200 mutants, judge each, print the survivors
    python -m benchmarks.mutation exercises --resume FILE           judge those that FILE lacks
    python -m benchmarks.mutation exercises --resume FILE --again   and those that survived, with the tests of today

cosmic-ray makes the mutants, with its default operators, drawn uniformly from all places where one applies. Each is judged
in a copy of the working tree: by new tests, by those that execute its line, and where none does, by the rest, quick ones
first. A test that takes far longer than usual has noticed the mutant too. ``_build/mutation`` holds what was measured, the
mutants drawn and what became of them. All runs among processes of its own (``unshare``, as root): a mutant may kill others.

Survivors that no test can catch are listed, each with the reason, in ``benchmarks/mutation_equivalent.toml``.
"""

import argparse
import ast
import contextlib
import ctypes
import difflib
import functools
import gc
import hashlib
import itertools
import json
import multiprocessing
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
import types
from collections import Counter, defaultdict
from pathlib import Path
from xml.etree import ElementTree

import psutil
import pytest
from _pytest.runner import runtestprotocol
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names
from coverage import CoverageData

ROOT = Path(__file__).resolve().parents[1]
WORK = ROOT / "_build" / "mutation"
EQUIVALENT = ROOT / "benchmarks" / "mutation_equivalent.toml"
TESTS = {  # the folders of tests that judge a package
    "exercises": ("exercises", "grading"),
    "grading": ("grading",),
    "sandbox": ("sandbox",),
    "courses": ("courses",),
}
LEFT_OUT = ("test_postgresql.py",)  # needs a server
OURS = ("autograder", "solutions", "tests")
MAX_TEST_SECONDS, SLOW_SECONDS = 60, 2  # what takes more is left out; what takes more comes last
MAX_FILES = 3  # are imported once more
PR_SET_CHILD_SUBREAPER = 36
FORK = multiprocessing.get_context("fork")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("package", choices=TESTS)
    parser.add_argument("--count", type=int, default=200, help="how many mutants")
    parser.add_argument("--seed", type=int, default=26)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=120, help="for how long each mutant is tested")
    parser.add_argument("--resume", type=Path, help="the file of an earlier run, which is continued")
    parser.add_argument("--again", action="store_true", help="judge the survivors again")
    options = parser.parse_args()
    if os.getpid() != 1:  # or a mutant of the sandbox might let a test kill every process there is
        module = [sys.executable, "-m", "benchmarks.mutation", *sys.argv[1:]]
        os.execvp("unshare", ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", *module])
    equivalent = tomllib.loads(EQUIVALENT.read_text(encoding="utf-8"))
    results = (options.resume or WORK / f"{options.package}-{options.seed}.jsonl").resolve()
    if not results.exists():
        results.parent.mkdir(parents=True, exist_ok=True)
        drawn = draw(mutation_points(options.package), options.count, random.Random(options.seed))
        results.write_text("".join(json.dumps(mutant) + "\n" for mutant in drawn), encoding="utf-8")
    wanted = {"drawn", "survived"} if options.again else {"drawn"}
    waiting = [m for m in read_results(results) if m["state"] in wanted and m["key"] not in equivalent]
    points = mutation_points(options.package, {mutant["key"].rsplit(" ", 2)[0] for mutant in waiting})
    if waiting:
        measure(options.package, options.jobs)
    shares = [waiting[job :: options.jobs] for job in range(options.jobs)]
    jobs = [FORK.Process(target=judge_all, args=(share, points, options, results)) for share in shares if share]
    for step in (FORK.Process.start, FORK.Process.join):
        for job in jobs:
            step(job)
    print_summary(options.package, read_results(results), equivalent)


# --- mutants ---------------------------------------------------------------------------------------------------------


def mutation_points(package, wanted=None):
    """Return every place of ``package`` where an operator applies: key -> (path, operator, occurrence, line number).

    ``wanted`` are starts of keys, with path and operator: others are left out, which is quicker. A key has
    the text of the line instead of its number, so that it outlives changes elsewhere.
    """
    points, same = {}, Counter()
    for path in sorted((ROOT / "autograder" / package).rglob("*.py")):
        source, name = path.read_text(encoding="utf-8"), str(path.relative_to(ROOT))
        lines, nodes, skipped = source.splitlines(), list(ast_nodes(get_ast(source))), list(_skipped(ast.parse(source)))
        for operator in operator_names():
            start_of_key = f"{name} {operator.partition('/')[2]}"
            if get_operator(operator).arguments() or (wanted is not None and start_of_key not in wanted):
                continue  # one with arguments is not applied by default
            places = (place for node in nodes for place in get_operator(operator)().mutation_positions(node))
            for occurrence, (start, _) in enumerate(places):
                text = lines[start[0] - 1].strip()
                key = f"{start_of_key} {hashlib.sha256(text.encode()).hexdigest()[:8]}"
                same[key] += 1
                if not any(first <= start < last for first, last in skipped):
                    points[f"{key} {same[key]}"] = (name, operator, occurrence, start[0])
    return points


def _skipped(tree):
    """Yield from where to where there are annotations or imports."""
    for node in ast.walk(tree):
        hints = [getattr(node, "annotation", None), getattr(node, "returns", None)]
        for part in [node] if isinstance(node, ast.Import | ast.ImportFrom) else filter(None, hints):
            yield (part.lineno, part.col_offset), (part.end_lineno, part.end_col_offset)


def draw(points, count, rng):
    """Return ``count`` of ``points`` as records, without those that are no Python or the same program as before."""
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


def copy_tree(target):
    """Copy what git knows or would add of the working tree, as it is now."""
    listed = subprocess.run(
        ["git", "ls-files", "-coz", "--exclude-standard"], cwd=ROOT, capture_output=True, check=True
    )
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)
    (target / "node_modules").symlink_to(ROOT / "node_modules")


def measure(package, jobs):
    """Record which tests execute which line and how long each takes, unless that is known."""
    folder = WORK / package
    if not (folder / "times.xml").exists():
        shutil.rmtree(folder, ignore_errors=True)
        copy_tree(folder / "tree")
        options = [f"-n{jobs}", "-ppytest_cov", "--cov=autograder", "--cov-context=test", "--cov-report="]
        options += [f"--ignore-glob=*/{name}" for name in LEFT_OUT] + [f"--junitxml={folder / 'running.xml'}"]
        options += [f"tests/autograder/{name}" for name in TESTS[package]]
        environment = os.environ | {"PYTHONPATH": str(folder / "tree"), "COVERAGE_FILE": str(folder / "coverage")}
        subprocess.run([sys.executable, "-m", "pytest", "-q", *options], cwd=folder / "tree", env=environment)
        (folder / "running.xml").rename(folder / "times.xml")


class Tests:
    """The tests of a package: how long each takes, and which of them judge a line."""

    def __init__(self, package):
        self.tree, self.seconds, measured = WORK / package / "tree", {}, {}
        for case in ElementTree.parse(WORK / package / "times.xml").iter("testcase"):
            name = f"{case.get('classname').replace('.', '/')}.py::{case.get('name')}"
            measured[name] = float(case.get("time"))
            if {child.tag for child in case} <= {"properties"} and measured[name] < MAX_TEST_SECONDS:  # it passed
                self.seconds[name] = measured[name]
        self.left_out = set(measured) - set(self.seconds)
        functions = defaultdict(list)
        for test in sorted(self.seconds, key=self.seconds.get):
            functions[test.partition("[")[0]].append(test)
        self.turn = {test: turn for tests in functions.values() for turn, test in enumerate(tests)}
        self.coverage = CoverageData(basename=str(WORK / package / "coverage"))
        self.coverage.read()
        found = [path for name in TESTS[package] for path in ROOT.glob(f"tests/autograder/{name}/**/test_*.py")]
        self.files = sorted(str(path.relative_to(ROOT)) for path in found if path.name not in LEFT_OUT)

    def ordered(self, known, path, text, most):
        """Return which of the tests ``known`` judge a line of file ``path`` that reads ``text``, in their order.

        A test that takes more than ``most`` seconds is left out.
        """
        measured, covering = self.tree / path, set()
        contexts = self.coverage.contexts_by_lineno(str(measured)) if measured.exists() else {}
        lines = measured.read_text(encoding="utf-8").splitlines() if measured.exists() else []
        for number, line in enumerate(lines, 1):
            if line.strip() == text:
                covering |= {context.rpartition("|")[0] for context in contexts.get(number, ())}
        own = f"test_{Path(path).stem}.py"

        def place(test):
            turn, seconds = (0 if own in test else self.turn.get(test, 0)), self.seconds.get(test, 0)
            return seconds > SLOW_SECONDS or turn > 4, own not in test, test not in covering, turn, seconds

        everywhere = not covering - {""}  # or nowhere: other processes are not seen
        judging = [test for test in known if everywhere or test in covering or test not in self.seconds]
        judging = [test for test in judging if self.seconds.get(test, 0) <= most]
        return sorted((test for test in judging if test not in self.left_out), key=place)


# --- judging ---------------------------------------------------------------------------------------------------------


def judge_all(mutants, points, options, results):
    """Judge mutants one after the other and append what came out to ``results``."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)  # what a test leaves behind becomes a child of ours
    judge = _Judge(Tests(options.package), mutants, points, options.seconds, results)
    folder = Path(tempfile.mkdtemp(prefix="mutation-"))
    copy_tree(folder / "tree")
    os.environ |= {"PYTHONPATH": str(folder / "tree"), "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    os.chdir(folder / "tree")
    sys.path.insert(0, str(folder / "tree"))
    with open(WORK / "log.txt", "a") as log:
        [os.dup2(log.fileno(), stream) for stream in (1, 2)]
    _forget_modules()
    pytest.main(["-q", "-s", "-pno:cacheprovider", *judge.tests.files], plugins=[judge])
    shutil.rmtree(folder, ignore_errors=True)


def _forget_modules():
    for name in [name for name in sys.modules if name.partition(".")[0] in OURS]:
        del sys.modules[name]


class _Judge:
    """A pytest plugin: when the tests are collected, it runs some of them for each mutant in a fork of this process.

    The fork has the functions of a module replaced by those of the mutant. What a module does as it is imported cannot be
    replaced like this: for such a mutant the fork imports and collects once more.
    """

    def __init__(self, tests, mutants, points, seconds, results):
        self.tests, self.mutants, self.points, self.seconds, self.results = tests, mutants, points, seconds, results
        self.sound = {}  # test -> whether it passes without a mutant

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session):
        items = {item.nodeid: item for item in session.items}
        kinds = (types.FunctionType, functools._lru_cache_wrapper)
        living = [one for one in gc.get_objects() if type(one) in kinds and str(one.__module__).startswith(OURS)]
        self.functions = [one for one in living if isinstance(one, types.FunctionType)]
        self.caches = [one for one in living if isinstance(one, functools._lru_cache_wrapper)]
        first, last = [], []
        for mutant in self.mutants:
            known = self.points.get(mutant["key"])
            (last if known and _codes_of(*known[:3])[2] is None else first).append(mutant)
        for mutant in first + last:  # those that have to be imported once more take longest
            began, state, by = time.monotonic(), "gone", None
            if mutant["key"] in self.points:
                state, by = self._judge(items, *self.points[mutant["key"]])
            record = mutant | {"state": state, "by": by, "seconds": round(time.monotonic() - began, 1)}
            with self.results.open("a", encoding="utf-8") as file:
                file.write(json.dumps(record) + "\n")
        return True

    def _judge(self, items, path, operator, occurrence, line):
        source, was = Path(path).read_text(encoding="utf-8"), Path(path).stat()
        tests = self.tests.ordered(items, path, source.splitlines()[line - 1].strip(), self.seconds / 2)
        source, mutated, codes = _codes_of(path, operator, occurrence)
        Path(path).write_text(mutated, encoding="utf-8")  # for processes that a test starts
        state, by = self._run(items, tests, codes)
        while by and not self._is_sound(items, by, Path(path), source, mutated):
            tests.remove(by)
            state, by = self._run(items, tests, codes)
        Path(path).write_text(source, encoding="utf-8")
        os.utime(path, (was.st_atime, was.st_mtime))
        return state, by

    def _is_sound(self, items, test, path, source, mutated):
        """Return whether ``test`` passes without a mutant; one that does not, like this, is not asked again."""
        if test in items and test not in self.sound:
            path.write_text(source, encoding="utf-8")
            self.sound[test] = self._run(items, [test], {})[0] == "survived"
            path.write_text(mutated, encoding="utf-8")
            if not self.sound[test]:
                self.tests.left_out.add(test)
        return self.sound.get(test, True)

    def _run(self, items, tests, codes):
        """Return "killed", "killed by time limit" or "survived", and by which test."""
        mine, theirs = FORK.Pipe(duplex=False)
        temporary = tempfile.mkdtemp()
        process = FORK.Process(target=self._run_here, args=(items, tests, codes, theirs, temporary))
        process.start()
        theirs.close()
        state, by, limit = "", "import", 10 * MAX_TEST_SECONDS
        while not state:
            try:
                state, by = mine.recv() if mine.poll(limit) else ("killed by time limit", by)
                limit = 20 + 10 * self.tests.seconds.get(by, MAX_TEST_SECONDS)
            except EOFError:
                state = "killed"  # the process died
        for one in [process, *psutil.Process().children(recursive=True)]:
            with contextlib.suppress(psutil.NoSuchProcess):
                one.kill()
        process.join()
        shutil.rmtree(temporary, ignore_errors=True)
        is_unjudged = state == "killed by time limit" and by == "import"  # a busy machine, and no loop of the mutant's
        return ("drawn", None) if is_unjudged else (state, by)

    def _run_here(self, items, tests, codes, connection, temporary):
        os.setsid()
        tempfile.tempdir = os.environ["TMPDIR"] = os.environ["TESTS_SHARE"] = temporary  # nothing is shared with others
        if codes is None:
            _forget_modules()
            files = list(dict.fromkeys(test.partition("::")[0] for test in tests))[:MAX_FILES]
            again = _Again(tests, self.seconds, connection)
            pytest.main(["-q", "-s", "-pno:cacheprovider", *files], plugins=[again])
            connection.send(("killed", "import"))
        else:
            for function in self.functions:
                function.__code__ = codes.get(function.__code__, function.__code__)
            for cache in self.caches:
                cache.cache_clear()
            _run_items([items[test] for test in tests], self.seconds, connection)


class _Again:
    """A pytest plugin: it runs the tests that judge a mutant, whatever else has been collected."""

    def __init__(self, tests, seconds, connection):
        self.tests, self.seconds, self.connection = tests, seconds, connection

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session):
        items = {item.nodeid: item for item in session.items}
        if not session.testsfailed:
            _run_items([items[test] for test in self.tests if test in items], self.seconds, self.connection)
        return True


def _run_items(items, seconds, connection):
    end = time.monotonic() + seconds
    for item, following in itertools.pairwise([*items, None]):
        connection.send(("", item.nodeid))
        if any(report.failed for report in runtestprotocol(item, nextitem=following, log=False)):
            connection.send(("killed", item.nodeid))
            os._exit(0)
        if time.monotonic() > end:
            break
    connection.send(("survived", None))
    os._exit(0)


def _codes_of(path, operator, occurrence):
    """Return the text of a module, that of a mutant, and what ``_replaced_code`` finds."""
    source = Path(path).read_text(encoding="utf-8")
    mutated = mutate_code(source, get_operator(operator)(), occurrence)
    try:
        codes = [compile(text, str(Path(path).resolve()), "exec") for text in (source, mutated)]
    except SyntaxError:  # so the tests take a warning of the compiler
        return source, mutated, None
    return source, mutated, _replaced_code(*codes)


def _replaced_code(source, mutated):
    """Return the code of each function of a module -> its code in the mutant; None where the module's own code differs."""
    codes = {}
    for one, other in itertools.zip_longest(_codes(source), _codes(mutated)):
        if one is None or other is None or one.co_name != other.co_name or one.co_freevars != other.co_freevars:
            return None
        if not one.co_flags & 1:  # the body of a module or a class
            plain = [[c for c in code.co_consts if not isinstance(c, types.CodeType)] for code in (one, other)]
            if (one.co_code, one.co_names, repr(plain[0])) != (other.co_code, other.co_names, repr(plain[1])):
                return None
        elif one != other:
            codes[one] = other
    return codes


def _codes(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


# --- results ---------------------------------------------------------------------------------------------------------


def read_results(path):
    """Return the latest record of each mutant."""
    return list(
        {record["key"]: record for record in map(json.loads, path.read_text(encoding="utf-8").splitlines())}.values()
    )


def print_summary(package, mutants, equivalent):
    """Print each survivor as a diff, and how many mutants were killed."""
    states = Counter("equivalent" if one["key"] in equivalent else one["state"] for one in mutants)
    for one in mutants:
        if one["state"] == "survived" and one["key"] not in equivalent:
            print(f"{one['key']}\n{one['diff']}\n")
    killed = states["killed"] + states["killed by time limit"]
    print(f"{package}: {dict(states)}; killed {killed / max(1, killed + states['survived']):.1%} of those that can be")


if __name__ == "__main__":
    main()
