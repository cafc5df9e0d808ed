"""A reference as a syntax tree, and a changed tree as a function again.

In: a function, or a text. Out: the other. Touches nothing.
"""

import ast
import inspect
import textwrap
from collections.abc import Callable
from types import FunctionType
from typing import Any, cast


def parsed(function: FunctionType) -> tuple[str, ast.Module, int]:
    text = textwrap.dedent(inspect.getsource(function))
    tree = ast.parse(text)
    definition = cast("ast.FunctionDef", tree.body[0])  # the source of a function is one def
    if ast.get_docstring(definition) is not None and len(definition.body) > 1:
        del definition.body[0]
    return text, tree, function.__code__.co_firstlineno


def compiled(text: str, function: FunctionType, **names: object) -> Callable[..., object]:
    """Return the function in ``text``, with the globals of ``function`` around it."""
    scope: dict[str, Any] = {**function.__globals__, **names}
    exec(compile(text, "<mutant>", "exec"), scope)
    return scope[function.__name__]
