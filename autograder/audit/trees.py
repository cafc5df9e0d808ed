"""A reference as a syntax tree, and a changed tree as a function again.

In: a function, or a text. Out: the other. Touches nothing.
"""

import ast
import inspect
import textwrap


def parsed(function):
    text = textwrap.dedent(inspect.getsource(function))
    tree = ast.parse(text)
    body = tree.body[0].body
    if ast.get_docstring(tree.body[0]) is not None and len(body) > 1:
        del body[0]
    return text, tree, function.__code__.co_firstlineno


def compiled(text, function, **names):
    """Return the function in ``text``, with the globals of ``function`` around it."""
    scope = {**function.__globals__, **names}
    exec(compile(text, "<mutant>", "exec"), scope)
    return scope[function.__name__]
