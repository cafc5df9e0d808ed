"""A corpus of hostile submissions, which earn nothing and leave nothing behind, and of odd but honest ones, which keep
their marks."""

import json
import os
import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from autograder import exercises, sandbox
from autograder.batch.context import GradingOptions
from autograder.batch.grade_class import grade_class
from autograder.courses.course import Course
from autograder.grading.grade import grade
from autograder.sandbox import Call, Cell, Limits, Script
from tests.autograder.samples import topic_exercises

pytestmark = pytest.mark.suite("sandbox")
AT_ONCE = 4
FOLDER = Path(__file__).parents[2] / "submissions" / "hostile"
LIMITS = Limits(cell_seconds=2, cell_idle_seconds=2, call_seconds=1, memory_mb=3000, disk_mb=32, reply_mb=4)
ATTACKED, BESIDE = "scoring-dot_product_score", "scoring-additive_score"
STARTER = "def dot_product_score(query, keys, W=None):\n    raise NotImplementedError"
HONEST = (
    "def additive_score(query, keys, W_query, W_key, v):\n"
    "    return np.tanh((query @ W_query.T)[:, None] + keys @ W_key.T) @ v"
)
MARKER = re.compile(r"^# %% (\w+): (.+)$", re.MULTILINE)
SPOILS_ITSELF = {  # these break their own honest answer too
    *("patched_numpy", "patched_builtins", "patched_worker", "patched_json", "patched_encoder", "patched_run_cell"),
    *("traced", "input_transformer", "modules", "thread_storm", "forged_for_the_other", "doubled"),
    *("endless_line", "long_names", "nested_lists"),
}
PROBE = """
import os, random, sys
import numpy as np, torch
def state():
    sockets = [line for line in (open("/proc/net/unix") if os.path.exists("/proc/net/unix") else ()) if "left" in line]
    folders = [sorted(os.listdir(f)) if os.path.isdir(f) else [] for f in ("/scratch", "/dev/shm", "/tmp", "/var/tmp", "/dev", "/")]
    return {
        "folders": [[name for name in names if name not in ("tmp", "ipython", "matplotlib")] for names in folders],
        "LEFT": [hasattr(np, "LEFT"), hasattr(torch, "LEFT"), "LEFT" in globals(), "LEFT" in os.environ],
        "tanh": float(np.tanh(0.0)), "sockets": sockets, "umask": os.umask(0o22) == 0o777,
        "process": os.getpid(), "random": [random.random(), float(np.random.rand()), float(torch.rand(()))],
    }
"""


def parts(family):
    """Return ``{name: source}`` of the submissions in a file of the corpus."""
    pieces = MARKER.split((FOLDER / f"{family}.py").read_text(encoding="utf-8"))
    return {name: source.strip() for name, source in zip(pieces[1::3], pieces[3::3], strict=True)}


FAMILIES = sorted(path.stem for path in FOLDER.glob("*.py"))
HOSTILE = [(family, name) for family in FAMILIES if family != "honest_oddities" for name in parts(family)]


@cache
def asked():
    return tuple(e for e in topic_exercises("scoring", 3) if e.name in (ATTACKED, BESIDE))


def notebook(source, first=STARTER):
    marked = {"schema_version": 3, "grade": True, "solution": False, "locked": True, "task": False, "points": 1}
    cells = [new_code_cell("import numpy as np"), new_code_cell(first), new_code_cell(source), new_code_cell(HONEST)]
    for name in (ATTACKED, BESIDE):
        cells.append(new_code_cell("", metadata={"nbgrader": {**marked, "grade_id": f"{name}-test"}}))
    return new_notebook(cells=cells)


def grades(source, **limits):
    return grade(notebook(source), asked(), replace(LIMITS, **limits), "zygote")


def written(graded):
    return json.dumps([outputs for _, outputs in graded.outputs.values()])


def printed(graded):
    streams = [o for _, outputs in graded.outputs.values() for o in outputs if o["output_type"] == "stream"]
    return "".join(output["text"] for output in streams)


def state():
    """Return the state in which the next submission would start."""
    script = Script((Cell(PROBE), Cell("", "probe", "state")), {"probe": (Call({}),)})
    return sandbox.run(script, LIMITS).replies["probe", 0].value


@cache
def undisturbed():
    """Return the state of a new sandbox; if the Python environment is in /tmp, its folder is listed."""
    sandbox.close()
    seen = state()
    assert seen["folders"][:2] == [[], []]
    return seen


def pytest_generate_tests(metafunc):
    if "hostile" in metafunc.fixturenames:
        metafunc.parametrize("hostile", HOSTILE, ids=["-".join(attack) for attack in HOSTILE])


def test_the_corpus_is_as_large_as_it_should_be():
    assert len(HOSTILE) >= 72
    assert len(parts("honest_oddities")) >= 12


def tried(family, name):
    """Return the result of a hostile submission, and the state that the zygote's next child finds."""
    return grades(parts(family)[name]), state()


@pytest.fixture(scope="module")
def corpus(request):
    """Grade the selected hostile submissions, a few at a time, as most of them wait for a limit."""
    undisturbed()
    wanted = [item.callspec.params["hostile"] for item in request.session.items if "corpus" in item.fixturenames]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        futures = {attack: pool.submit(tried, *attack) for attack in wanted}
    return {attack: future.result() for attack, future in futures.items()}


def test_a_hostile_submission_earns_nothing_it_did_not_compute_and_leaves_nothing_behind(corpus, hostile):
    _, name = hostile
    graded, seen = corpus[hostile]
    beside = graded.by_exercise[BESIDE]
    spoils = name in SPOILS_ITSELF
    if beside.earned < beside.points and graded.killed and not spoils:
        graded, seen = tried(*hostile)  # its neighbours may have used up the memory, so retry it alone, as `grade` does
        beside = graded.by_exercise[BESIDE]
    assert graded.by_exercise[ATTACKED].earned == 0
    if not spoils:
        assert beside.earned == beside.points, (beside, graded.failure)
    assert "FOUND" not in printed(graded)
    assert len(written(graded)) < 6 * 2**20
    verdicts_text = repr(graded.verdicts)
    assert len(verdicts_text) < 6000
    assert verdicts_text.isprintable()
    assert seen["folders"] == undisturbed()["folders"]
    assert seen["LEFT"] == [False] * 4
    # process 1 of the namespace runs the cells, process 2 the calls
    assert (seen["tanh"], seen["sockets"], seen["umask"], seen["process"]) == (0.0, [], False, 2)


@pytest.mark.parametrize("name", ["loop_in_cell", "loop_in_call"])
def test_a_limit_that_is_reached_is_known_so_that_it_is_tried_once_more(name):
    assert grades(parts("resources")[name]).reached
    assert not grades(parts("process_killed")["exit_in_cell"]).reached


def test_random_numbers_are_new_for_every_submission():
    seeded = "import random, numpy as np, torch\nnp.random.seed(0); random.seed(0); torch.manual_seed(0)"
    first, _, second = state()["random"], grades(seeded), state()["random"]
    assert all(a != b for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize("name", parts("honest_oddities"))
def test_an_honest_oddity_keeps_its_marks(name):
    graded = grades(parts("honest_oddities")[name], cell_seconds=20, call_seconds=5)
    assert graded.failure == ""
    for verdict in graded.verdicts:
        assert verdict.earned == verdict.points, verdict


# The notebook itself: what surrounds its cells, and the files beside it.

SCRIPT = "<script>document.title = 'pwned'</script>"
MARKUP = [
    f"from IPython.display import HTML, display\ndisplay(HTML({SCRIPT!r}))",
    f"from IPython.display import Javascript, display\ndisplay(Javascript({SCRIPT!r}))",
    "from IPython.display import HTML, display\ndisplay(HTML('<img src=x onerror=\"pwned()\">'))",
    "from IPython.display import HTML, display\ndisplay(HTML('<iframe src=\"http://192.0.2.1/pwned\"></iframe>'))",
    "from IPython.display import SVG, display\ndisplay({'image/svg+xml': '<svg onload=\"pwned()\"/>'}, raw=True)",
    "from IPython.display import display\ndisplay({'application/javascript': 'pwned()'}, raw=True)",
    "from IPython.display import Markdown, display\ndisplay(Markdown('[x](javascript:pwned())'))",
    "print('\\x1b]8;;javascript:pwned()\\x07x\\x1b]8;;\\x07')",
]


def hand_in(course, student, change):
    """Hand in the release of scoring after ``change(data, path)``, which returns False if it wrote the file itself."""
    data = json.loads(course.releases("scoring").file.read_text(encoding="utf-8"))
    path = course.submission(student, "scoring")
    path.parent.mkdir(parents=True)
    changed = change(data, path)
    if changed is not False:
        path.write_text(json.dumps(data), encoding="utf-8")


def with_markup(data, path):
    data["cells"][1:1] = [
        {"cell_type": "code", "metadata": {}, "source": source, "outputs": [], "execution_count": None}
        for source in MARKUP
    ]
    text = f"{SCRIPT} <img src=x onerror=pwned()> [x](javascript:pwned())"
    data["cells"].insert(1, {"cell_type": "markdown", "metadata": {}, "source": text})
    data["cells"].insert(1, {"cell_type": "raw", "metadata": {"format": "text/html"}, "source": SCRIPT})


def other_kernel(data, path):
    data["metadata"]["kernelspec"] = {"name": "bash", "display_name": "Bash", "argv": ["/bin/sh", "-c", "id"]}
    data["metadata"]["language_info"] = {"name": SCRIPT}


def strange_metadata(data, path):
    for number, cell in enumerate(data["cells"]):
        cell["metadata"]["nbgrader"] = {**cell["metadata"].get("nbgrader", {}), "points": 10**9, "extra": [{}] * 9}
        cell["id"] = "same" if number % 2 else 7


def everything_twice(data, path):
    data["cells"] += json.loads(json.dumps(data["cells"]))


def no_tests(data, path):
    data["cells"] = [c for c in data["cells"] if not c["metadata"].get("nbgrader", {}).get("grade")]


def modules_beside(data, path):
    for name in ("numpy.py", "torch.py", "compare.py", "sitecustomize.py"):
        path.with_name(name).write_text("raise SystemExit('mine')")


def links_beside(data, path):
    path.with_name("data.csv").symlink_to("/etc/passwd")
    path.with_name("folder").symlink_to("/nowhere/at/all")


def a_link(data, path):
    path.symlink_to("/etc/passwd")
    return False


def a_pipe(data, path):
    os.mkfifo(path)
    return False


def a_folder(data, path):
    path.mkdir()
    return False


def brackets(data, path):
    path.write_text('{"cells": ' + "[" * 100_000)
    return False


def cells_of_nothing(data, path):
    data["cells"] = [None, 7, "text", []]


AROUND = [with_markup, other_kernel, strange_metadata, everything_twice, no_tests, modules_beside, links_beside]
REFUSED = [a_link, a_pipe, a_folder, brackets, cells_of_nothing]


@pytest.fixture(scope="module")
def strange_class(released, tmp_path_factory):
    root = tmp_path_factory.mktemp("strange") / "course"
    shutil.copytree(released.root, root)
    course = Course.at(root)
    for change in (*AROUND, *REFUSED):
        hand_in(course, change.__name__, change)
    with ThreadPoolExecutor(1) as executor:
        rows = grade_class(course, "scoring", GradingOptions(LIMITS), executor=executor)
    return course, {row.student: row for row in rows}


@pytest.mark.parametrize("change", AROUND)
def test_what_stands_around_the_cells_earns_nothing_and_stops_nobody(strange_class, change):
    _, rows = strange_class
    row = rows[change.__name__]
    assert (row.failed, row.set_aside, row.total) == ("", "", 0.0)
    assert len(row.points) == len(exercises.load("scoring", 0))


@pytest.mark.parametrize("change", REFUSED)
def test_what_is_no_notebook_is_set_aside_with_a_page(strange_class, change):
    course, rows = strange_class
    assert rows[change.__name__].set_aside
    assert "Remedy" in course.feedback(change.__name__, "scoring").read_text(encoding="utf-8")


def test_feedback_and_the_autograded_notebook_carry_no_live_script(strange_class):
    course, _ = strange_class
    page = course.feedback("with_markup", "scoring").read_text(encoding="utf-8")
    body = page[page.index("<body") :]
    assert "pwned" in body  # as text
    live = re.findall(r"<(?:script|iframe|svg|img|object|embed)\b[^>]*>", body.replace("<script src=", "<own src="))
    assert not [tag for tag in live if "pwned" in tag or "192.0.2.1" in tag]
    assert not re.search(r"<script>[^<]*pwned", body)
    assert not re.search(r"""\bon\w+\s*=\s*["']?pwned""", re.sub(r"&lt;.*?&gt;", "", body))
    assert not re.search(r"""href=["']?javascript:""", body)
    autograded = nbformat.read(course.autograded("with_markup", "scoring"), as_version=4)
    kinds = {kind for cell in autograded.cells for output in cell.get("outputs", ()) for kind in output.get("data", ())}
    assert kinds <= {"text/plain", "text/html", "text/markdown", "image/png"}


def test_files_beside_a_notebook_are_not_taken_along(strange_class):
    course, _ = strange_class
    for student in ("modules_beside", "links_beside"):
        beside = {path.name for path in course.autograded(student, "scoring").parent.iterdir()}
        assert beside == {"scoring.ipynb"}
