"""Import a module of references, mistakes or right answers, and extract from it the code that a notebook provides.

In: the name of a module, the path of a file, or a topic. Out: the module, source text. A failed import is reported in a
sentence with file, line and remedy: its author does not need a traceback through the grader.
"""

import ast
import importlib.util
import inspect
import re
import sys
import traceback
from collections.abc import Callable
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

from autograder.exercises.ast_utils import names_in
from autograder.paths import ROOT, short
from solutions.errors import AnswerKeyError


def module(name: str) -> ModuleType:
    """Return the module of ``solutions`` called ``name``.

    Raises
    ------
    AnswerKeyError
        If there is none, or it cannot be imported.
    """
    try:
        return importlib.import_module(name)
    except Exception as error:
        place = name.replace(".", "/") + ".py"
        if isinstance(error, ModuleNotFoundError) and error.name == name:
            raise AnswerKeyError("there is no such file", place, "write it: every topic has one.") from None
        raise refusal(error, ROOT / place) from error


def module_at(path: Path) -> ModuleType:
    """Return the module in the file at ``path``, whether or not Python would find it by a name.

    Raises
    ------
    AnswerKeyError
        If it cannot be imported.
    """
    loaded = ModuleType(path.stem)
    try:
        SourceFileLoader(path.stem, str(path)).exec_module(loaded)
    except Exception as error:
        raise refusal(error, path) from error
    return loaded


def refusal(error: BaseException, path: Path) -> AnswerKeyError:
    """Return the error for a failed import, which names the last line reached in a file of answers."""
    frames = [(Path(frame.filename), frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    reached = [(file, line) for file, line in frames if file == path or file.is_relative_to(ROOT / "solutions")]
    if isinstance(error, SyntaxError) and error.filename:
        reached.append((Path(error.filename), error.lineno))
    file, line = reached[-1] if reached else (path, 1)
    place = f"{short(file)}, line {line}"
    return AnswerKeyError(f"cannot be imported: {type(error).__name__}: {error}", place, "fix that line.")


def extract_provided_code(topic: str) -> str:
    """Return the code that the notebook of ``topic`` provides for its exercises, or ""."""
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


def names_provided_code(topic: str, source: str) -> bool:
    """Return whether the function in ``source`` uses something that the notebook of ``topic`` provides."""
    used = names_in(ast.parse(source))
    return not set(used).isdisjoint(getattr(_answers_in_torch(topic), "PROVIDED", ()))


def extract_hidden_code(topic: str, *functions: Callable[..., object]) -> str:
    """Return the source of ``functions`` and of what they call of ours, except for what the notebook of ``topic`` provides."""
    answers = _answers_in_torch(topic)
    items = [getattr(answers, name) for name in getattr(answers, "PROVIDED", ())]
    provided = [inspect.unwrap(item) for item in items if callable(item)]
    waiting, needed = list(functions), []
    while waiting:
        function = inspect.unwrap(waiting.pop(0))
        if function in needed or function in provided:
            continue
        needed.append(function)
        called = [function.__globals__.get(name) for name in _names_in(function.__code__)]
        waiting += [item for item in called if inspect.isfunction(item) and item.__module__.startswith("solutions.")]
    source = "\n\n".join(map(inspect.getsource, needed))
    return re.sub(r" *### (BEGIN|END) SOLUTION\n", "", source)


def _names_in(code):
    """Yield the names that ``code`` looks up, and those that the functions and classes within it look up."""
    yield from code.co_names
    for inner in code.co_consts:
        yield from _names_in(inner) if inspect.iscode(inner) else ()


def setup_code(topic: str) -> str:
    """Return the text of the cell that installs what only the notebook of ``topic`` needs, or ""."""
    return getattr(_answers_in_torch(topic), "SETUP", "")


def find_provided_modules(topic: str) -> list[str]:
    """Return the modules that the locked code of the notebook of ``topic`` needs besides numpy, torch and the standard library."""
    code = f"{setup_code(topic)}\n{extract_provided_code(topic)}"
    named = set(re.findall(r"find_spec\(\"(\w+)\"\)", code))
    for node in ast.walk(ast.parse(code)):
        named |= {alias.name for alias in node.names} if isinstance(node, ast.Import) else set()
        named |= {node.module} if isinstance(node, ast.ImportFrom) and node.module else set()
    return sorted({name.partition(".")[0] for name in named} - {*sys.stdlib_module_names, "numpy", "torch"})


def own_parts(topic: str) -> str:
    """Return the text of the cell in which students may put their own functions into the model of ``topic``, or ""."""
    return getattr(_answers_in_torch(topic), "OWN_PARTS", "")


def _answers_in_torch(topic):
    """Return the module of the answers to ``topic`` in torch, or None."""
    name = f"solutions.in_torch.{topic}"
    return module(name) if importlib.util.find_spec(name) else None


def _import_lines(answers):
    """Yield the import lines of the module ``answers`` that import from outside the course."""
    for node in ast.parse(inspect.getsource(answers)).body:
        if isinstance(node, ast.Import) or (
            isinstance(node, ast.ImportFrom) and (node.module or "solutions").split(".")[0] != "solutions"
        ):
            yield ast.unparse(node)
