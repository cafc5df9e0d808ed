"""Do the tests notice faults? Plant the faults of a frozen list one by one, and see which test notices each.

    python -m benchmarks.faults --reached FILE                   plant each fault of the list, and record who notices it
    python -m benchmarks.faults --reached FILE --only survived   those that nobody has noticed so far
    python -m benchmarks.faults --reached FILE --measure tests/book
                                                                 ask these tests alone, and add what they reach to FILE
    python -m benchmarks.faults --draw 13 --seed 46              replace the list by 13 faults from each package
    python -m benchmarks.faults --reached FILE --list benchmarks/faults_by_hand.jsonl
                                                                 those that readers of the code alone wrote down

A fault is one small change of one line of production code (``CHANGES``), in Python or in the website's JavaScript. The list was
drawn by seed before any test was taken out or made smaller. A fault is found again by the text of its line. Its outcome is
"noticed", by a test or because the tests no longer end; "survived"; "gone" if its line is; or "equivalent", for a stated reason,
by the decision of somebody who did not write the tests: no user could see a difference.

First the whole suite runs once, in a copy of the working tree with a probe beside each fault, and writes to ``FILE`` how long
each test takes and which tests reach which fault. ``FILE`` is used again if it exists; ``--measure`` adds some tests to it, so
that judging can begin with the quick ones. Then each fault is planted in a copy, in an order drawn by seed: wherever judging
stops, a fair sample is judged. The test that noticed it last time runs first; then those that reach it, the quickest first, for
at most ``--seconds``. A probe tells nothing in JavaScript, in a sandbox, or while a module is imported: there, the tests of the
module, those that name it, and those of its folder run. Every run has a process namespace of its own (``unshare``, as root),
because a fault in the sandbox might make a test kill other processes, and a limit of CPU time, because one may never end.
"""

import argparse
import ast
import json
import os
import queue
import random
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from xml.etree import ElementTree

from autograder.files import write_text

ROOT = Path(__file__).resolve().parents[1]
LIST = ROOT / "benchmarks" / "faults.jsonl"
WORK = ROOT / "_build" / "faults"
NO_TESTS = 5  # an exit status of pytest
STARTING_SECONDS = 60  # of CPU time, more than enough to import what the tests of any fault need
CHANGES = [  # a pattern in a line outside strings and comments, and what replaces it
    (r" == | === ", " != "),
    (r" != | !== ", " == "),
    (r" < ", " <= "),
    (r" <= ", " < "),
    (r" > ", " >= "),
    (r" >= ", " > "),
    (r" \+ (?=[\w(])", " - "),
    (r" - (?=[\w(])", " + "),
    (r" \* (?=[\w(])", " / "),
    (r" / (?=\d|\(|len)", " * "),
    (r" and ", " or "),
    (r" or ", " and "),
    (r" && ", " || "),
    (r" \|\| ", " && "),
    (r"(?<= if )not |(?<= and )not ", ""),
    (r" not in ", " in "),
    (r"(?<=[( ])!(?=[\w(])", ""),
    (r"\bTrue\b", "False"),
    (r"\bFalse\b", "True"),
    (r"\btrue\b", "false"),
    (r"\bfalse\b", "true"),
    (r"\bmin\(", "max("),
    (r"\bmax\(", "min("),
    (r"\bany\(", "all("),
    (r"\ball\(", "any("),
    (r"\bsorted\(", "list("),
    (r"(?<![\w.])\d+(?![\w.])", lambda number: str(int(number[0]) + 1)),
    (r"\.(strip|lower|casefold|resolve|rstrip|lstrip|trim|toLowerCase)\(\)", ""),
    (r"^(\s+)(if|elif|while) (?!not )(.+):$", r"\1\2 not (\3):"),
    (r"^(\s+)return .*[^({\[,]$", r"\1return None"),
    (r"^(\s+)(continue|break)$", r"\1pass"),
    (r"^(\s+)[\w.]+\(.*\)$", r"\1pass"),
    (r"^(\s+)[\w.]+\(.*\);$", r"\1;"),
]
TEXTS = {  # strings and comments, which are left alone
    ".py": r'"""(?:\\.|[^\\])*?"""|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|#[^\n]*',
    ".js": r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|`(?:\\.|[^`\\])*`',
}


def package_of(path):
    """Return the package that a file of production code counts towards, such as "autograder/grading" or "javascript"."""
    if path.endswith(".js"):
        return "javascript"
    folder = "/".join(path.split("/")[:2])
    return folder.split("/")[0] if "." in folder else folder


def find_production_files():
    """Return the tracked files of production code by package."""
    listed = subprocess.check_output(["git", "ls-files", "solutions", "autograder", "book"], cwd=ROOT, text=True)
    packages = {}
    for path in filter(re.compile(r".*\.(py|js)$").match, listed.splitlines()):
        packages.setdefault(package_of(path), []).append(path)
    return packages


def draw(count, seed):
    """Return ``count`` faults from each package, drawn uniformly from all places, at most one in a line."""
    faults = []
    for package, paths in sorted(find_production_files().items()):
        rng, drawn, lines = random.Random(f"{seed} {package}"), [], set()
        places = [(path, *place) for path in sorted(paths) for place in find_places(ROOT / path)]
        rng.shuffle(places)
        for path, old, occurrence, new in places:
            fault = {"path": path, "old": old, "new": new, "occurrence": occurrence, "state": "drawn", "by": ""}
            if (path, old, occurrence) not in lines and len(drawn) < count and _is_valid(fault):
                lines.add((path, old, occurrence))
                drawn.append({"package": package, **fault})
        faults += drawn
    return [{"number": number, **fault} for number, fault in enumerate(faults, 1)]


def find_places(path):
    """Yield (line, which of the lines with this text, changed line) for every change that ``CHANGES`` allows in a file."""
    source = path.read_text(encoding="utf-8")
    seen = re.sub(TEXTS[path.suffix], lambda text: re.sub(r"[^\n]", "§", text[0]), source, flags=re.DOTALL)
    same = Counter()
    for line, shown in zip(source.split("\n"), seen.split("\n"), strict=True):
        occurrence, same[line] = same[line], same[line] + 1
        if re.match(r"\s*(from|import|@|def|class|§)", shown):
            continue
        for pattern, new in CHANGES:
            for match in re.finditer(pattern, shown):
                again = re.compile(pattern).search(line, match.start())
                if again and again.span() == match.span():
                    changed = new(again) if callable(new) else again.expand(new)
                    yield line, occurrence, line[: match.start()] + changed + line[match.end() :]


def plant(fault, source):
    """Return ``source`` with the ``fault``; None if its line is gone."""
    lines = source.split("\n")
    number = _find_line(fault, lines)
    if number is None:
        return None
    lines[number] = fault["new"]
    return "\n".join(lines)


def _find_line(fault, lines):
    same = [number for number, line in enumerate(lines) if line == fault["old"]]
    return same[fault["occurrence"]] if len(same) > fault["occurrence"] else None


def _is_valid(fault):
    """Return whether Python still reads the file and sees another program; JavaScript is taken as it is."""
    if fault["path"].endswith(".js"):
        return True
    source = (ROOT / fault["path"]).read_text(encoding="utf-8")
    try:
        return ast.dump(ast.parse(plant(fault, source))) != ast.dump(ast.parse(source))
    except SyntaxError:
        return False


# --- judging ---------------------------------------------------------------------------------------------------------


NO_PROBE_BEFORE = re.compile(r'\s*(elif |@|""")')  # a docstring would be none
PROBE = '__import__("builtins").__dict__.get("reach", int)({number})'  # int where sitecustomize is not read
SITECUSTOMIZE = '''"""Read by every process of the run: ``reach`` writes down which test runs while a line is executed."""

import builtins
import os

reached = set()


def reach(number):
    test = os.environ.get("PYTEST_CURRENT_TEST", "")
    if test and (number, test) not in reached:
        reached.add((number, test))
        try:
            with open({log!r}, "a", encoding="utf-8") as log:
                log.write(f"{{number}} {{test}}\\n")
        except OSError:  # a sandbox
            pass


builtins.reach = reach
'''


def add_probes(source, faults):
    """Return Python ``source`` with a probe before the statement in which each of the ``faults`` is planted."""
    lines = source.split("\n")
    bodies = [
        body
        for node in ast.walk(ast.parse(source))
        for name in ("body", "orelse", "finalbody")
        if isinstance(body := getattr(node, name, None), list)
    ]
    statements = [
        statement
        for body in bodies
        for statement in body
        if not NO_PROBE_BEFORE.match(lines[statement.lineno - 1]) and not getattr(statement, "decorator_list", None)
    ]
    probes = []
    for fault in faults:
        number = _find_line(fault, lines)
        around = [part for part in statements if number is not None and part.lineno <= number + 1 <= part.end_lineno]
        if around:
            inner = max(around, key=lambda part: (part.col_offset, part.lineno))
            probes.append((inner.lineno - 1, " " * inner.col_offset + PROBE.format(number=fault["number"])))
    for number, probe in sorted(probes, reverse=True):
        lines.insert(number, probe)
    return "\n".join(lines)


def measure_reach(faults, path, tests, options):
    """Run ``tests``, and add to ``path`` the seconds of each test that passes and the tests that reach each fault."""
    tree, log = WORK / "probed", WORK / "reached.txt"
    shutil.rmtree(tree, ignore_errors=True)
    log.unlink(missing_ok=True)
    _copy_tree(tree)
    for name in sorted({fault["path"] for fault in faults if fault["path"].endswith(".py")}):
        if (tree / name).is_file():
            source = (tree / name).read_text(encoding="utf-8")
            probed = add_probes(source, [fault for fault in faults if fault["path"] == name])
            (tree / name).write_text(probed, encoding="utf-8")
    (tree / "sitecustomize.py").write_text(SITECUSTOMIZE.format(log=str(log)), encoding="utf-8")
    report = tree / "report.xml"
    command = [sys.executable, "-m", "pytest", "-n", str(options.jobs), "--dist", "loadfile", "--no-loadscope-reorder"]
    command += [f"--junitxml={report}", "-ojunit_family=xunit1", "-pno:cacheprovider", *tests]
    environment = os.environ | {"PYTHONPATH": str(tree), "OMP_NUM_THREADS": "1"}
    environment["TESTS_WEBSITE"] = str(options.site or "")
    subprocess.run(command, cwd=tree, env=environment)  # some tests fail, of the style of code for example
    measured = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"seconds": {}, "reached": {}}
    seconds = measured["seconds"] | read_times(report)
    reached = {number: set(tests) for number, tests in measured["reached"].items()}
    for number, test, phase in re.findall(r"^(\d+) (.+) \((\w+)\)$", log.read_text(encoding="utf-8"), re.MULTILINE):
        file = test.partition("::")[0]
        tests = [other for other in seconds if other.startswith(f"{file}::")] if phase != "call" else [test]
        reached.setdefault(number, set()).update(test for test in tests if test in seconds)
    reached = {number: sorted(tests) for number, tests in reached.items()}
    write_text(json.dumps({"seconds": seconds, "reached": reached}), path)


def read_times(report):
    """Return how long each test took that passed, by its name, from a ``--junitxml``."""
    seconds = {}
    for case in ElementTree.parse(report).iter("testcase"):
        file, _, of_class = case.get("classname").partition(".Test")
        name = "::".join(filter(None, [of_class and f"Test{of_class}", case.get("name")]))
        if {child.tag for child in case} <= {"properties"}:
            seconds[f"{file.replace('.', '/')}.py::{name}"] = float(case.get("time"))
    return seconds


class Judges:
    """Which tests may notice a fault, the likeliest first: ``measured`` is what ``measure_reach`` wrote."""

    def __init__(self, measured):
        self.seconds, self.reached = measured["seconds"], measured["reached"]
        self.texts = {}
        for file in {test.partition("::")[0] for test in self.seconds}:
            if (ROOT / file).is_file():
                self.texts[file] = (ROOT / file).read_text(encoding="utf-8")

    def keep(self, existing):
        """Forget tests that no longer exist: pytest would refuse to run the others beside them."""
        self.seconds = {test: took for test, took in self.seconds.items() if test in existing}

    def select(self, fault, seconds):
        """Return tests that take ``seconds`` in all, those of a file together; the quickest first."""
        reaching = self.reached.get(str(fault["number"]))
        reaching = reaching if reaching is None else set(reaching)
        by_file = {}
        for test in sorted(self.seconds, key=self.seconds.get):
            if reaching is None or test in reaching:
                by_file.setdefault(test.partition("::")[0], []).append(test)
        rank = self._rank(fault["path"]) if reaching is None else lambda file: 0
        ranked = [(rank(file), self.seconds[tests[-1]], tests) for file, tests in by_file.items()]
        selected = []
        for _, shared, tests in sorted(entry for entry in ranked if entry[0] is not None):
            seconds -= shared  # what the tests of a file share is counted with the slowest, whichever run
            for test in tests:
                if (seconds := seconds - self.seconds[test]) > 0:
                    selected.append(test)
        return selected

    def _rank(self, path):
        """Return a function that ranks the files of tests: that of the module, those that name it, those of its folder."""
        path = Path(path)
        stem = {"__init__": path.parent.name, "__main__": "main"}.get(path.stem, path.stem.lstrip("_"))
        folder = "tests/" + "/".join(path.parts[: 1 if path.parts[0] != "autograder" else 2]) + "/"
        before = rf"{path.parent.name}(\.| import .*\b)" if path.suffix == ".py" else r"\b"
        named = re.compile(rf"{before}{re.escape(stem)}\b")
        naming = {file for file, text in self.texts.items() if named.search(text)}

        def rank(file):
            places = Path(file).stem == f"test_{stem}", file in naming, file.startswith(folder)
            return places.index(True) if True in places else None

        return rank


def judge_all(faults, tests, options):
    """Judge each fault in one of ``jobs`` copies of the tree; yield it with its outcome."""
    trees = queue.SimpleQueue()
    for job in range(options.jobs):
        tree = WORK / f"tree-{job}"
        shutil.rmtree(tree, ignore_errors=True)
        _copy_tree(tree)
        trees.put(tree)
    tests.keep(_collect(tree))
    control = tests.select({"number": 0, "path": "autograder/files.py"}, 20)
    if _run_tests(tree, control, 20) != ("survived", ""):
        raise SystemExit(f"error: the tests fail without any fault. Remedy: see {tree / 'log.txt'}")

    def judge(fault):
        tree = trees.get()
        try:
            return fault | _judge(tree, fault, tests, options)
        finally:
            trees.put(tree)

    with ThreadPoolExecutor(options.jobs) as pool:
        yield from pool.map(judge, faults)


def _judge(tree, fault, tests, options):
    path = tree / fault["path"]
    source = path.read_text(encoding="utf-8") if path.is_file() else ""
    changed = plant(fault, source)
    if changed is None:
        return {"state": "gone", "by": ""}
    site = tree / "site" if options.site else None
    if site and not site.exists():
        shutil.copytree(options.site, site)
    places = [path]
    if site and path.is_relative_to(tree / "book" / "_static"):
        places.append(site / "_static" / path.relative_to(tree / "book" / "_static"))  # the website serves it as it is
    try:
        for place in places:
            place.write_text(changed, encoding="utf-8")
        if fault["by"] in tests.seconds:
            state, by = _run_tests(tree, [fault["by"]], tests.seconds[fault["by"]], site)
            if state == "noticed":
                return {"state": state, "by": by}
        selected = tests.select(fault, options.seconds)
        state, by = _run_tests(tree, selected, options.seconds, site) if selected else ("survived", "")
        return {"state": state, "by": by}
    finally:
        for place in places:
            place.write_text(source, encoding="utf-8")


def _run_tests(tree, tests, seconds, site=None):
    """Return whether any of ``tests`` fails, or they take far longer than the usual ``seconds``; and the first that fails."""
    (tree / "tests.txt").write_text("\n".join(tests), encoding="utf-8")
    report = tree / "report.xml"
    report.unlink(missing_ok=True)
    isolated = ["setpriv", "--pdeathsig", "KILL", "--"]  # when judging is killed, so are the tests
    isolated += ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
    isolated += ["sh", "-c", '"$@"; exit $?', "sh"]  # as process 1, sh waits for orphans, which pytest would not
    isolated += ["prlimit", f"--cpu={3 * seconds + STARTING_SECONDS:.0f}:"]  # the soft one: a sandbox sets its own
    command = [*isolated, sys.executable, "-m", "pytest", "-q", "-x", "-n0", f"--junitxml={report}"]
    command += ["-pno:cacheprovider", "-ojunit_family=xunit1", "@tests.txt"]
    environment = os.environ | {"PYTHONPATH": str(tree), "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    environment["TESTS_WEBSITE"] = str(site or "")
    with (tree / "log.txt").open("w") as log:
        try:
            status = subprocess.run(
                command, cwd=tree, env=environment, stdout=log, stderr=log, timeout=10 * seconds + 600
            ).returncode
        except subprocess.TimeoutExpired:
            return "noticed", "the tests do not end"
    if status == 128 + signal.SIGXCPU:
        return "noticed", "the tests do not end"
    if status in (0, NO_TESTS):
        return "survived", ""
    for case in ElementTree.parse(report).iter("testcase") if report.exists() else ():
        if case.get("classname") and {"failure", "error"} & {child.tag for child in case}:
            return "noticed", f"{case.get('classname').replace('.', '/')}.py::{case.get('name')}"
    return "noticed", "importing the tests"


def _collect(tree):
    """Return the names of all tests in a tree, and leave their bytecode, which every later run uses and none replaces."""
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-pno:cacheprovider", "tests"]
    environment = os.environ | {"PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": ""}
    done = subprocess.run(command, cwd=tree, env=environment, check=True, capture_output=True, text=True)
    return set(done.stdout.splitlines())


def _copy_tree(target):
    """Copy the files of the working tree that git tracks or would add, in their current state."""
    listed = subprocess.check_output(["git", "ls-files", "-coz", "--exclude-standard"], cwd=ROOT, text=True)
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)
    (target / "node_modules").symlink_to(ROOT / "node_modules")


# --- the list --------------------------------------------------------------------------------------------------------


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--list", type=Path, default=LIST, help="the faults, JSON Lines; their outcomes go in there too"
    )
    parser.add_argument(
        "--reached", type=Path, help="which tests reach which fault; a whole run writes it if it is missing"
    )
    parser.add_argument(
        "--measure", nargs="+", metavar="TEST", help="only add to FILE what these tests reach, and judge nothing"
    )
    parser.add_argument("--site", type=Path, help="a website that is built, _build/html; otherwise no test needs one")
    parser.add_argument("--only", choices=("drawn", "survived", "noticed"), help="only faults with this outcome so far")
    parser.add_argument("--package", action="append", help="only faults of this package; may be repeated")
    parser.add_argument("--seconds", type=float, default=60, help="how long the tests take that may notice a fault")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--draw", type=int, metavar="COUNT", help="draw a new list with so many faults from each package"
    )
    parser.add_argument("--seed", type=int, default=46)
    options = parser.parse_args()
    if options.draw:
        _write(draw(options.draw, options.seed), options.list)
        return
    if not options.reached:
        parser.error(
            "--reached is missing. Remedy: --reached FILE; a whole run of the tests writes it if it is missing"
        )
    faults = {
        fault["number"]: fault for fault in map(json.loads, options.list.read_text(encoding="utf-8").splitlines())
    }
    waiting = [
        fault
        for fault in faults.values()
        if fault["state"] != "equivalent"
        and options.only in (None, fault["state"])
        and (not options.package or fault["package"] in options.package)
    ]
    if options.measure or not options.reached.exists():
        measure_reach(faults.values(), options.reached, options.measure or [], options)
    if options.measure:
        return
    random.Random(options.seed).shuffle(waiting)
    judges = Judges(json.loads(options.reached.read_text(encoding="utf-8")))
    for count, fault in enumerate(judge_all(waiting, judges, options), 1):
        print(f"{count} of {len(waiting)}: {fault['path']} {fault['state']} {fault['by']}", file=sys.stderr, flush=True)
        faults[fault["number"]] = fault
        _write(faults.values(), options.list)
    _print_summary(faults.values())


def _write(faults, path):
    write_text("".join(json.dumps(fault, ensure_ascii=False) + "\n" for fault in faults), path)


def _print_summary(faults):
    """Print how many faults of each package were noticed."""
    for package in sorted({fault["package"] for fault in faults}):
        states = Counter(fault["state"] for fault in faults if fault["package"] == package)
        print(f"{package:28} {dict(states)}")
    states = Counter(fault["state"] for fault in faults)
    print(f"{'all':28} {dict(states)}")


if __name__ == "__main__":
    main()
