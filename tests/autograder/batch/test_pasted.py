"""What students really paste and hand in: each is graded in the sandbox, and the page says what was run and what is wrong."""

import copy
import html
import io
import json
import re
import shutil

import pytest
from rich.console import Console

from autograder.batch.grade_class import GradingOptions, grade_class
from autograder.courses.course import Course
from autograder.gradebook.scores import load_results
from autograder.reports.tables import grade_table
from tests.autograder.essays import ESSAY, hand_in
from tests.shared import made_once

pytestmark = pytest.mark.suite("sandbox")

CODE = "scoring-additive_score"
RIGHT = """
def additive_score(query, keys, W_query, W_key, v):
    return np.tanh((query @ W_query.T)[:, None, :] + keys @ W_key.T) @ v
"""
NO_TANH = RIGHT.replace("np.tanh(", "(")


def cell_of(data, grade_id):
    return next(cell for cell in data["cells"] if cell["metadata"].get("nbgrader", {}).get("grade_id") == grade_id)


def answering(source, name=CODE):
    """Return a change of a notebook: ``source`` is the answer to the exercise ``name``."""

    def change(data):
        cell_of(data, name)["source"] = source

    return change


def copied_to_the_end(first, last):
    """Return a change: the answer is ``first``, and a copy of its cell at the end of the notebook says ``last``."""

    def change(data):
        answering(first)(data)
        data["cells"].append(copy.deepcopy(cell_of(data, CODE)) | {"source": last, "id": "pasted"})

    return change


def moved_to_the_end(data):
    """Answer rightly, in a cell moved below its own hidden test."""
    answering(RIGHT)(data)
    cell = cell_of(data, CODE)
    data["cells"].remove(cell)
    data["cells"].append(cell)


def importing(line, source=RIGHT):
    return answering(f"{line}\n{source}")


WITHIN = RIGHT.replace("    return", "    from no_such_einops import rearrange\n    return")
USED = RIGHT.replace("np.tanh", "no_such_scipy.tanh")


def importing_in_a_cell_above(data):
    """Import what the grader lacks in a new cell above the answer, which uses it."""
    answering(USED)(data)
    cell = {"cell_type": "code", "id": "above", "metadata": {}, "source": "import no_such_scipy", "outputs": []}
    data["cells"].insert(data["cells"].index(cell_of(data, CODE)), cell | {"execution_count": None})


STEPS = "scoring-score_every_step"
IN_PLACE = """
def score_every_step(queries, projected_keys, W_query, v):
    projected_keys = projected_keys.unsqueeze(1)
    queries.mul_(1.0)
    W_query[W_query != W_query] = 0.0
    projected_keys += (queries @ W_query.T).unsqueeze(2)[:, :1]
    hidden = projected_keys + (queries @ W_query.T).unsqueeze(2) - (queries @ W_query.T).unsqueeze(2)[:, :1]
    return torch.tanh(hidden) @ v
"""
BOTH = RIGHT.replace("return np.tanh", "scores = np.tanh") + "    return keys.sum(1), scores\n"
LONGER = RIGHT.rstrip() + "[..., None]\n"
SINGLE = RIGHT.replace(
    "    return",
    "    v = v * (np.float32(1) / 3 * 3 if v.size else 1)\n    W_key = W_key.astype(np.float32)\n    return",
)


def writing_a_module(data):
    """Write the answer into a file in a cell above, and import it from there."""
    answering("from mine import additive_score", CODE)(data)
    source = f"%%writefile mine.py\nimport numpy as np\n{RIGHT}"
    cell = {"cell_type": "code", "id": "file", "metadata": {}, "source": source, "outputs": []}
    data["cells"].insert(data["cells"].index(cell_of(data, CODE)), cell | {"execution_count": None})


LACKS = "Hint: It needs {}, which the grader does not have"
CLASS = {  # student -> (change of the notebook as released, points for an exercise, what the page says, the exercise)
    "corrected_at_the_end": (copied_to_the_end(NO_TANH, RIGHT), 3, "Right."),
    "spoilt_at_the_end": (copied_to_the_end(RIGHT, NO_TANH), 0, "tanh is missing"),
    "moved_below_the_test": (moved_to_the_end, 3, "stood below its check; the check was moved below the answer"),
    "imports_scipy": (importing("import no_such_scipy.special as special"), 0, LACKS.format("no_such_scipy")),
    "imports_within": (answering(WITHIN), 0, LACKS.format("no_such_einops")),
    "imports_above": (importing_in_a_cell_above, 0, LACKS.format("no_such_scipy")),
    "writes_a_module": (writing_a_module, 3, "Right."),
    "emptied": (answering("", ESSAY), 0, "Not answered.", ESSAY),
    "only_spaces": (answering(" \n\u00a0\t\n", ESSAY), 0, "Not answered.", ESSAY),
    "masks_in_place": (answering(IN_PLACE, STEPS), 3.5, "but it changed its input", STEPS),
    "returns_both": (answering(BOTH), 0, "It returned 2 things: return the second one alone."),
    "one_axis_too_many": (answering(LONGER), 0, "Axis 2, of length 1, is one too many."),
    "single_precision": (answering(SINGLE), 2.75, "digit on"),
}


@pytest.fixture(scope="module")
def graded(released, tmp_path_factory):
    """The course in which the class has been graded, and the rows by student."""

    def make(folder):
        shutil.copytree(released.root, folder / "course")
        course = Course.at(folder / "course")
        for student, (change, *_) in CLASS.items():
            hand_in(course, student, None, change)
        return course, {row.student: row for row in grade_class(course, "scoring", GradingOptions(workers=2))}

    course, rows = made_once("pasted", make)
    root = tmp_path_factory.mktemp("copy") / "course"
    shutil.copytree(course.root, root)
    return Course.at(root), rows


def page(course, student):
    """Return the text of a feedback page."""
    text = course.feedback(student, "scoring").read_text(encoding="utf-8")
    text = re.sub(r"<(style|script|svg|math)\b.*?</\1>", "", text, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split())


@pytest.mark.parametrize("student", CLASS)
def test_what_is_pasted_gets_the_points_and_the_words_that_it_deserves(graded, student):
    course, rows = graded
    _, points, words, *others = CLASS[student]
    assert not rows[student].failed
    assert not rows[student].set_aside
    assert load_results(course, "scoring")[student].entries[[*others, CODE][0]].score == points
    assert words in page(course, student)
    assert not rows[student].waiting


@pytest.mark.parametrize("student", ["returns_both", "one_axis_too_many", "single_precision"])
def test_the_grader_says_what_is_wrong_although_the_check_said_so_too(graded, student):
    """The page also has the output of the check, which says the same of the shown case."""
    autograded = json.loads(graded[0].autograded(student, "scoring").read_text(encoding="utf-8"))
    verdict = cell_of(autograded, f"{CODE}-test")["outputs"][-1]["metadata"]["verdict"]
    assert CLASS[student][2] in " ".join([*verdict.get("said", ()), *verdict.get("hints", ())])


@pytest.mark.parametrize("student", ["corrected_at_the_end", "spoilt_at_the_end"])
def test_the_answer_shown_is_the_one_that_was_run(graded, student):
    course, _ = graded
    notebook = json.loads((course.root / "autograded" / student / "scoring" / "scoring.ipynb").read_text())
    answer, test = (notebook["cells"].index(cell_of(notebook, name)) for name in (CODE, f"{CODE}-test"))
    assert answer < test
    assert ("np.tanh" in "".join(notebook["cells"][answer]["source"])) == (student == "corrected_at_the_end")


@pytest.mark.parametrize("student", [name for name in CLASS if name.startswith("imports_")])
def test_the_instructor_s_table_names_the_package_that_the_grader_lacks(graded, student):
    _, rows = graded
    assert any("no_such_" in hint for hint in rows[student].hints)
    table = Console(width=250, file=io.StringIO())
    table.print(grade_table(graded[0].releases("scoring").load().exercises, [rows[student]], 250))
    assert "no_such_" in table.file.getvalue()
