"""Toy exercises, valid and invalid, for the tests in this folder."""

import types

from autograder import exercises
from solutions import answer_key

TOY = """
[toy-double]
kind = "code"
points = 2

[[toy-double.case]]
name = "worked example"
shown = true
inputs.x = [1.0, 2.0]
expected = [2.0, 4.0]
atol = 1e-9

[[toy-double.case]]
name = "drawn"
shapes = { x = [3, 4] }
"""


WHERE = r"^toy\.toml, line 2, \[toy-\w+\]: "


def double(x):
    return 2 * x


def toy(folder, reference=double, *mistakes, key=TOY, old="", new=""):
    """Return the one exercise of ``key`` with ``old`` replaced by ``new``."""
    assert old in key
    (folder / "toy.toml").write_text(key.replace(old, new), encoding="utf-8")
    (entry,) = answer_key.load("toy", folder).values()
    references = types.SimpleNamespace(__name__="toy", **({entry.function: reference} if reference else {}))
    named = types.SimpleNamespace(__name__="mistakes", **{f.__name__: f for f in mistakes})
    return (exercises.make_exercise(entry, 0, references, named),)
