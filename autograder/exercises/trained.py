"""What a notebook holds ready, and how a file of trained weights is judged.

In: a topic, or an entry of its key. Out: source text, ``Trained``. Reads ``solutions``, touches nothing else.
"""

import ast
import importlib.util
import inspect
from types import ModuleType

from autograder.exercises.model import Trained
from autograder.exercises.modules import module
from solutions import answer_key


def provided_code(topic: str) -> str:
    """Return the code that the notebook of ``topic`` holds ready for its exercises, or ""."""
    answers = _answers_in_torch(topic)
    imports, blocks = set(), []
    for name in getattr(answers, "PROVIDED", ()):
        item = getattr(answers, name)
        item = inspect.unwrap(item) if callable(item) else item  # a cached function
        if inspect.isfunction(item) or inspect.isclass(item):
            imports |= set(_import_lines(inspect.getmodule(item)))
            blocks.append("\n\n" + inspect.getsource(item).rstrip())
        else:
            blocks.append(f"{name} = {item!r}")
    return "\n".join([*sorted(imports), "", *blocks])


def setup_code(topic: str) -> str:
    """Return the text of the cell that installs what only the notebook of ``topic`` needs, or ""."""
    return getattr(_answers_in_torch(topic), "SETUP", "")


def own_parts(topic: str) -> str:
    """Return the text of the free cell of ``topic``'s notebook, where a student's own functions may join the model, or ""."""
    return getattr(_answers_in_torch(topic), "OWN_PARTS", "")


def _answers_in_torch(topic):
    """Return the module of the answers to ``topic`` in torch, or None."""
    name = f"solutions.in_torch.{topic}"
    return module(name) if importlib.util.find_spec(name) else None


def _import_lines(module):
    """Yield the import lines of ``module`` that lead outside the course."""
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, ast.Import) or (
            isinstance(node, ast.ImportFrom) and (node.module or "solutions").split(".")[0] != "solutions"
        ):
            yield ast.unparse(node)


def load_trained(entry: answer_key.Trained, references: ModuleType, seed: int) -> Trained:
    draw, measure = getattr(references, entry.draw), getattr(references, entry.measure)
    shapes = {name: tuple(parameter.shape) for name, parameter in references.build_model().named_parameters()}
    code = provided_code(entry.topic)
    return Trained(entry.file, shapes, code, draw(seed), seed, entry.run, draw, measure, dict(entry.thresholds))
