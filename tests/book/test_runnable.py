"""Chapters as notebooks: they run in an empty folder, take a reader's answers, and hold none of ours."""

import ast
import importlib.util
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
from tests.book.small_site import build_site, write_site

pytestmark = pytest.mark.turns(6, 4)

BLOCK = """
import sys


class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("solutions", "figures", "autograder", "benchmarks"):
            raise ModuleNotFoundError(f"{name} is not here")


sys.meta_path.insert(0, Block())
"""
LACKING = "To go on, this cell needs"


@pytest.fixture(scope="module")
def runnable():
    spec = importlib.util.spec_from_file_location("runnable", ROOT / "book" / "_ext" / "runnable.py")
    module = sys.modules["runnable"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(notebook, folder):
    """Run a notebook in ``folder``, where the project cannot be imported; return ``(exit status, what it said)``."""
    (folder / "block").mkdir()
    (folder / "block" / "sitecustomize.py").write_text(BLOCK)
    path = folder / "chapter.ipynb"
    nbformat.write(notebook, path)
    # as a notebook, a picture is drawn into the page
    environment = {
        **os.environ,
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        "IPYTHONDIR": str(folder / "own"),
    }
    command = [sys.executable, "-m", "IPython", "--no-banner", "--simple-prompt", "--colors=NoColor", path.name]
    environment["PYTHONPATH"] = str(folder / "block")
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600)
    return done.returncode, done.stdout + done.stderr


def answered(topic):
    """Return the assignment of ``topic`` with all answers in it, as a student may have written them."""
    notebook = source_notebook(topic, topic_exercises(topic))
    for cell in notebook.cells:
        cell.source = re.sub(r" *### (BEGIN|END) SOLUTION\n", "", cell.source)
    return notebook


@pytest.mark.parametrize("topic", answer_key.topics())
def test_each_chapter_runs_in_an_empty_folder_and_says_which_answers_it_needs(runnable, topic, tmp_path):
    status, said = run(runnable.notebook(ROOT / "book" / f"{topic}.md"), tmp_path)
    assert status == 0, said
    assert "Traceback" not in said
    assert f"of {topic}.ipynb" in said
    assert LACKING in said


@pytest.mark.parametrize("topic", ["encoder", "softmax"])
def test_with_the_answers_beside_it_all_of_a_chapter_runs(runnable, topic, tmp_path):
    nbformat.write(answered(topic), tmp_path / f"{topic}.ipynb")
    status, said = run(runnable.notebook(ROOT / "book" / f"{topic}.md"), tmp_path)
    assert status == 0, said
    assert LACKING not in said
    assert "passed over" not in said


@pytest.mark.parametrize("topic", answer_key.topics())
def test_no_notebook_holds_an_answer(runnable, topic):
    notebook = runnable.notebook(ROOT / "book" / f"{topic}.md")
    text = "\n".join(cell.source for cell in notebook.cells)
    assert "SOLUTION" not in text
    for other in answer_key.topics():
        for exercise in topic_exercises(other):
            body = exercise.source.partition("### BEGIN SOLUTION")[2].partition("### END SOLUTION")[0]
            lines = [line.strip() for line in body.splitlines() if len(line.strip()) > 25]
            assert not lines or not all(line in text for line in lines), exercise.name


@pytest.mark.parametrize("topic", answer_key.topics())
def test_a_notebook_has_the_code_and_the_headings_of_its_page(runnable, topic):
    notebook = runnable.notebook(ROOT / "book" / f"{topic}.md")
    nbformat.validate(notebook)
    words = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    assert "## By hand" in words or topic == "from_bahdanau_to_transformers"
    assert not re.search(r"^```\{|\{\w+\}`|\]\(\w+\.md", words, flags=re.MULTILINE)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            ast.parse(re.sub(r"^%%.*\n", "", cell.source))


def test_what_follows_from_an_answer_needs_it_too_and_what_takes_its_name_does_not(runnable):
    course = runnable.Course()
    sources = [
        "from solutions.in_numpy.softmax import softmax",
        "weights = softmax([1.0, 2.0])\nother = 1",
        "print(weights)",
        "print(other)",
        "weights = [0.5, 0.5]",
        "print(weights)",
        "from solutions.mistakes import softmax as mistakes\nprint(mistakes)",
    ]
    cells = runnable.read(sources, course)
    asked, here = {"solutions.in_numpy.softmax.softmax"}, {runnable.HERE}
    assert [cell.needs for cell in cells] == [set(), asked, asked, set(), set(), set(), here]
    assert [cell.copied for cell in cells] == [False, False, False, True, True, True, False]
    assert cells[-1].elsewhere == ""


def test_a_part_of_the_course_brings_along_what_it_uses(runnable):
    course = runnable.Course()
    needs = course.take("solutions.in_torch.context", "AdditiveAttention")
    assert needs == set()
    modules = [text.split("\n")[0] for text in course.modules()]
    assert modules.index("%%course solutions.in_torch.softmax") < modules.index("%%course solutions.in_torch.context")
    assert course.take("solutions.in_numpy.encoder", "bidirectional_annotations") == {
        "solutions.in_numpy.encoder.rnn_states"
    }


CONF = """
extensions = ["myst_nb", "sphinx_copybutton", "course_site", "assignment_card", "runnable"]
html_favicon = "favicon.svg"
root_doc = "book/intro"
nb_execution_mode = "off"
"""
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
