"""Import a module of answers: reference, mistakes, or the right answers that the tests try.

In: the name of a module, or the path of a file. Out: the module. What cannot be imported is refused in a sentence with
file, line and remedy: who wrote it needs no traceback through the grader.
"""

import importlib
import traceback
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

from autograder.paths import ROOT, short
from solutions.errors import AnswerKeyError


def module(name: str) -> ModuleType:
    """Return the module called ``name``, of ``solutions``.

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
    found = ModuleType(path.stem)
    try:
        SourceFileLoader(path.stem, str(path)).exec_module(found)
    except Exception as error:
        raise refusal(error, path) from error
    return found


def refusal(error: BaseException, path: Path) -> AnswerKeyError:
    """Return the refusal of what could not be imported: the place is the last line of an answer that was reached."""
    frames = [(Path(frame.filename), frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    reached = [(file, line) for file, line in frames if file == path or file.is_relative_to(ROOT / "solutions")]
    if isinstance(error, SyntaxError) and error.filename:
        reached.append((Path(error.filename), error.lineno))
    file, line = reached[-1] if reached else (path, 1)
    place = f"{short(file)}, line {line}"
    return AnswerKeyError(f"cannot be imported: {type(error).__name__}: {error}", place, "fix that line.")
