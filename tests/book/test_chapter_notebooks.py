"""Chapters as notebooks: they run in an empty folder, use a reader's answers, and contain none of ours."""

import ast
import json
import os
import re
import subprocess
import sys

import nbformat
import pytest
from bs4 import BeautifulSoup

from autograder.notebooks.assemble import source_notebook
from autograder.paths import ROOT
from solutions import answer_key
from tests.autograder.samples import topic_exercises
from tests.book.small_site import build_site, import_extension, write_site

chapter_notebooks = import_extension("chapter_notebooks")

# Runs the notebook of each folder in a process that has done the slow imports and cannot import the project.
RUN_EACH = """
import os
import sys

import IPython
import matplotlib.pyplot
import torch


class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("solutions", "figures", "autograder", "benchmarks"):
            raise ModuleNotFoundError(f"{name} is not here")


sys.meta_path.insert(0, Block())
for folder in sys.argv[1:]:
    child = os.fork()
    if not child:
        os.chdir(folder)
        os.mkdir("own")
        said = os.open("said.txt", os.O_WRONLY | os.O_CREAT)
        os.dup2(said, 1), os.dup2(said, 2)
        options = ["--no-banner", "--simple-prompt", "--colors=NoColor", "--ipython-dir=own"]
        sys.exit(IPython.start_ipython([*options, "chapter.ipynb"]))
    with open(os.path.join(folder, "status.txt"), "w") as file:
        file.write(str(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])))
"""
LACKING = "To go on, this cell needs"
CHAPTER = """---
jupytext: {text_representation: {extension: .md, format_name: myst}}
kernelspec: {display_name: Python 3, language: python, name: python3}
---
# Softmax: a chapter

**You will** learn.

```{code-cell} python
from solutions.in_numpy.softmax import softmax
```

```{code-cell} python
print(1 + 1)
```

## Exercises
"""
SOURCES = [
    "from solutions.in_numpy.softmax import masked_softmax",
    "weights = masked_softmax([[1.0, 2.0]], [[True, True]])\nother = 1",
    "print(weights)",
    "print('other', other)",
    "weights = [0.5, 0.5]",
    "print(weights)",
    "from solutions.mistakes import softmax as mistakes\nprint(mistakes)",
    "print('here')\nprint(open('../file').read())",
]
PROVIDED = [
    "weights = [1.0]",
    "from solutions.in_numpy.softmax import masked_softmax",
    "weights = masked_softmax(2)",
    "print(weights)",
]
ANSWERED = ("encoder", "softmax")


@pytest.fixture(scope="module")
def notebooks():
    """The notebook of each chapter."""
    return {topic: chapter_notebooks.build_notebook(ROOT / "book" / f"{topic}.md") for topic in answer_key.topics()}


@pytest.fixture(scope="module")
def ran(notebooks, tmp_path_factory):
    """``{name: (exit status, output)}`` of chapters, of chapters with answers beside them, and of test pages."""
    root = tmp_path_factory.mktemp("ran")
    pages = {
        "following": page_of(SOURCES),
        "provided": page_of(PROVIDED),
        "failing": CHAPTER.replace("print(1 + 1)", "print(1 + unknown)"),
    }
    jobs = {**notebooks, **{f"{topic}, answered": notebooks[topic] for topic in ANSWERED}}
    for name, text in pages.items():
        (root / f"{name}.md").write_text(text, encoding="utf-8")
        jobs[name] = chapter_notebooks.build_notebook(root / f"{name}.md")
    jobs["provided, answered"] = jobs["provided"]
    beside = {f"{topic}, answered": (topic, answered(topic)) for topic in ANSWERED}
    beside["provided, answered"] = ("softmax", answered_with_what_is_provided())
    return run_notebooks(root, jobs, beside)


def page_of(sources):
    """Return a page whose code cells are ``sources``."""
    cells = "\n\n".join(f"```{{code-cell}} python\n{source}\n```" for source in sources)
    return f"{CHAPTER.partition('```')[0]}{cells}\n"


def run_notebooks(root, jobs, beside):
    """Run each of ``jobs``, ``{name: notebook}``, in a folder of ``root``; ``beside`` has a topic and its assignment by name."""
    for name, notebook in jobs.items():
        (root / name).mkdir()
        nbformat.write(notebook, root / name / "chapter.ipynb")
    for name, (topic, notebook) in beside.items():
        nbformat.write(notebook, root / name / f"{topic}.ipynb")
    # in a notebook, pictures are drawn inline
    environment = {**os.environ, "MPLBACKEND": "module://matplotlib_inline.backend_inline"}
    command = [sys.executable, "-c", RUN_EACH, *(root / name for name in jobs)]
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, timeout=7200)
    assert done.returncode == 0, done.stderr
    return {
        name: (int((root / name / "status.txt").read_text()), (root / name / "said.txt").read_text(encoding="utf-8"))
        for name in jobs
    }


def answered(topic):
    """Return the assignment of ``topic`` with all answers filled in, as a student may have written them."""
    notebook = source_notebook(topic, topic_exercises(topic))
    for cell in notebook.cells:
        cell.source = re.sub(r" *### (BEGIN|END) SOLUTION\n", "", cell.source)
    return notebook


def answered_with_what_is_provided():
    """Return an assignment whose only answer uses a function that its notebook provides."""
    provided = nbformat.v4.new_code_cell("def double(x):\n    return 2 * x")
    provided.metadata["nbgrader"] = {"grade_id": "provided", "solution": False}
    answer = nbformat.v4.new_code_cell("def masked_softmax(x):\n    return double(x)")
    answer.metadata["nbgrader"] = {"grade_id": "softmax-masked_softmax", "solution": True}
    return nbformat.v4.new_notebook(cells=[provided, answer])


@pytest.mark.parametrize("topic", answer_key.topics())
def test_each_chapter_runs_in_an_empty_folder_and_says_which_answers_it_needs(ran, topic):
    status, output = ran[topic]
    assert status == 0, output
    assert "Traceback" not in output
    assert f"of {topic}.ipynb" in output
    assert LACKING in output


@pytest.mark.parametrize("topic", ANSWERED)
def test_with_the_answers_beside_it_all_of_a_chapter_runs(ran, topic):
    status, output = ran[f"{topic}, answered"]
    assert status == 0, output
    assert LACKING not in output
    assert "passed over" not in output


@pytest.mark.parametrize("topic", answer_key.topics())
def test_no_notebook_holds_an_answer(notebooks, topic):
    text = "\n".join(cell.source for cell in notebooks[topic].cells)
    assert "SOLUTION" not in text
    for other in answer_key.topics():
        for exercise in topic_exercises(other):
            body = exercise.source.partition("### BEGIN SOLUTION")[2].partition("### END SOLUTION")[0]
            lines = [line.strip() for line in body.splitlines() if len(line.strip()) > 25]
            assert not lines or not all(line in text for line in lines), exercise.name


@pytest.mark.parametrize("topic", answer_key.topics())
def test_a_notebook_has_the_code_and_the_headings_of_its_page(notebooks, topic):
    notebook = notebooks[topic]
    nbformat.validate(notebook)
    words = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    page = (ROOT / "book" / f"{topic}.md").read_text(encoding="utf-8").partition("\n## Check yourself\n")[0]
    headings = re.findall(r"^##+ .*$", page, flags=re.MULTILINE)
    assert [heading for heading in headings if heading not in words.splitlines()] == []
    assert not re.search(r"^```\{|\{\w+\}`|\]\(\w+\.md", words, flags=re.MULTILINE)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            ast.parse(re.sub(r"^%%.*\n", "", cell.source))


def test_what_follows_from_an_answer_needs_it_too_and_what_takes_its_name_does_not(ran):
    assert chapter_notebooks.copyable(SOURCES) == [False, False, False, True, True, True, False, False]
    status, output = ran["following"]
    assert (status, output.splitlines()) == (
        0,
        [
            *[f"{LACKING} masked_softmax of softmax.ipynb."] * 2,
            "other 1",
            "[0.5, 0.5]",
            "Here the page goes on with what only the repository of the course can run.",
            "here",
            "Here the page goes on with what only the repository of the course can run.",
        ],
    )


def test_answers_may_use_what_is_provided_and_a_lost_name_has_no_older_value(ran):
    assert ran["provided, answered"] == (0, "4\n")
    assert ran["provided"] == (0, f"{LACKING} masked_softmax of softmax.ipynb.\n" * 2)


def test_what_makes_the_modules_of_a_notebook_is_folded(notebooks):
    for topic, notebook in notebooks.items():
        made = [cell for cell in notebook.cells if "%%course" in cell.source or "_lost" in cell.source]
        assert made, topic
        assert all(cell.metadata.jupyter.get("source_hidden") for cell in made), topic


def test_an_error_that_lacks_no_answer_is_raised(ran):
    assert "NameError: name 'unknown' is not defined" in ran["failing"][1]


def test_a_part_of_the_course_brings_along_what_it_uses():
    names = list(chapter_notebooks.module_cells("from solutions.in_torch.context import AdditiveAttention"))
    assert names.index("solutions.in_torch.softmax") < names.index("solutions.in_torch.context")
    (text,) = chapter_notebooks.module_cells(
        "from solutions.in_numpy.encoder import bidirectional_annotations"
    ).values()
    assert "rnn_states" in text.partition("\n")[0].split()
    drawn = chapter_notebooks.module_cells("from figures.drawings import draw_order")
    assert list(drawn) == ["figures.pictures", "figures.drawings"]
    drawn = chapter_notebooks.module_cells("from figures.both_directions import draw_both_directions")
    assert list(drawn) == ["figures.pictures", "figures.drawings", "figures.both_directions"]


CONF = """
extensions = ["myst_nb", "sphinx_copybutton", "course_site", "chapters", "chapter_notebooks"]
html_favicon = "favicon.svg"
root_doc = "book/intro"
nb_execution_mode = "off"
"""


def test_a_site_offers_the_notebook_on_the_card_and_copies_only_what_runs_anywhere(tmp_path):
    intro = "# Book\n\nAll.\n\n```{toctree}\nsoftmax\n```\n"
    write_site(tmp_path, CONF, {"favicon.svg": "<svg/>", "book/intro.md": intro, "book/softmax.md": CHAPTER})
    site, _ = build_site(tmp_path)
    page = BeautifulSoup((site / "book" / "softmax.html").read_text(encoding="utf-8"), "html.parser")
    (link,) = page.select(".assignment-card a[download]")
    assert link.text == "Download the chapter’s code"
    notebook = (site / "book" / link["href"]).resolve()
    assert notebook.name == "softmax-code.ipynb"
    assert json.loads(notebook.read_text(encoding="utf-8"))["cells"][-1]["source"] == ["print(1 + 1)"]
    script = (site / "_static" / "copybutton.js").read_text(encoding="utf-8")
    (selector,) = re.findall(r"COPYBUTTON_SELECTOR = '(.*)';", script)
    assert [block.get_text().strip() for block in page.select(selector)] == ["print(1 + 1)"]
