"""A notebook's first cell says what is missing, and its code runs on the oldest Python that it allows."""

import ast
import json
import re
import shutil
import subprocess
import sys
import types

import pytest

from autograder.notebooks.cells import MIN_VERSIONS
from autograder.notebooks.ready import NotReady, require
from tests.autograder.samples import TOPICS, notebook_of, topic_exercises

OLD = shutil.which("python{}.{}".format(*MIN_VERSIONS["python"]))


def test_a_machine_with_everything_is_ready():
    require(MIN_VERSIONS["python"], MIN_VERSIONS["packages"])


def package(**names):
    module = types.ModuleType("package")
    vars(module).update(names)
    return module


LACKING = {
    "missing": (None, "package is missing. Run %pip install --upgrade package"),
    "too old": (
        package(__version__="1.9.2+cpu"),
        "needs package 1.22 or newer; this is 1.9.2+cpu. Run %pip install",
    ),
    "another file": (package(), "Is there a file package.py in this folder?"),
}


@pytest.mark.parametrize(("module", "message"), LACKING.values(), ids=LACKING)
def test_what_is_lacking_is_said_in_one_sentence_with_the_command_that_brings_it(monkeypatch, module, message):
    if module:
        monkeypatch.setitem(sys.modules, "package", module)
    with pytest.raises(NotReady) as caught:
        require((3, 9), {"package": (1, 22)})
    assert message in str(caught.value)
    assert caught.value._render_traceback_() == [f"NotReady: {caught.value}"]


def test_a_python_that_is_too_old_is_named_before_anything_is_imported(monkeypatch):
    monkeypatch.setattr(sys, "version_info", (3, 8, 18, "final", 0))
    with pytest.raises(NotReady, match=r"needs Python 3\.9 or newer; this is 3\.8\."):
        require((3, 9), {"no_such_package": (1,)})


def code_cells(topic):
    """Yield ``(grade_id, source)`` of the code cells in the source notebook of ``topic``."""
    for cell in notebook_of(topic).cells:
        if cell.cell_type == "code":
            yield cell.metadata.nbgrader.grade_id, cell.source


@pytest.mark.slow
@pytest.mark.parametrize("topic", TOPICS)
def test_the_first_cell_can_be_read_by_a_python_that_is_too_old(topic):
    name, source = next(code_cells(topic))
    assert name == "compare"
    ast.parse(source, feature_version=(3, 8))


NEWER = {"aiter", "anext", "EncodingWarning", "ExceptionGroup", "BaseExceptionGroup"}  # builtins added since 3.10


@pytest.mark.slow
@pytest.mark.parametrize("topic", TOPICS)
def test_what_travels_in_a_notebook_is_python_of_the_oldest_version(topic):
    stay = {f"{exercise.name}{part}" for exercise in topic_exercises(topic) for part in ("", "-test")}
    travelling = {name: source for name, source in code_cells(topic) if name not in stay}
    assert {"imports", "compare"} < set(travelling)
    for name, text in travelling.items():
        for node in ast.walk(ast.parse(text, name, feature_version=MIN_VERSIONS["python"])):
            assert not (isinstance(node, ast.Name) and node.id in NEWER), (name, node.lineno)
            assert not (isinstance(node, ast.keyword) and node.arg == "strict"), (name, node.lineno)


TORCH = f', "torch": {MIN_VERSIONS["packages"]["torch"]}'
RUN = """
import ast, json, sys
name_space, earned = {}, 0.0
for source in json.load(sys.stdin):
    *body, last = ast.parse(source).body
    exec(compile(ast.Module([*body], []), "cell", "exec"), name_space)
    if isinstance(last, ast.Expr):
        value = eval(compile(ast.Expression(last.value), "cell", "eval"), name_space)
        earned += value if isinstance(value, float) else 0
    else:
        exec(compile(ast.Module([last], []), "cell", "exec"), name_space)
print(earned)
"""


if OLD and not subprocess.run([OLD, "-c", "import numpy"], capture_output=True).returncode:  # otherwise only parsed
    # The packages of the course need a newer Python, so `make test` cannot install this one.

    @pytest.mark.parametrize("topic", TOPICS)
    def test_right_answers_earn_all_points_under_the_oldest_python(topic):
        """All exercises but those in torch, because with so old a Python only numpy is required."""
        asked = [exercise for exercise in topic_exercises(topic) if exercise.is_called and not exercise.in_torch]
        wanted = {f"{exercise.name}{part}" for exercise in asked for part in ("", "-check", "-test")}
        cells = [
            # the reference uses strict, which is new in 3.10
            re.sub(r"(?m), strict=True|^(import )?torch.*", "", source.replace(TORCH, ""))
            for name, source in code_cells(topic)
            if name in wanted | {"imports", "compare"}
        ]
        done = subprocess.run([OLD, "-c", RUN], input=json.dumps(cells), capture_output=True, text=True, env={})
        assert done.returncode == 0, done.stderr
        assert float(done.stdout.split()[-1]) == pytest.approx(sum(exercise.points for exercise in asked))
