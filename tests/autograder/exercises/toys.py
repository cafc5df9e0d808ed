"""Toy exercises, right and wrong: what the tests of this room load."""

import types

from autograder import exercises

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


TOY_SHAPES = """
[toy-shapes]
kind = "shape"
points = 1
parts = { W = 0.5, v = 0.5 }
"""


TOY_NUMBER = """
[toy-number]
kind = "number"
points = 1
atol = 1e-3
"""


WHERE = r"^toy\.toml, line 2, \[toy-\w+\]: "


def double(x):
    return 2 * x


def double__squared(x):
    """You squared."""
    return x**2


def double__raises(x):
    """This raises."""
    raise TypeError


def double__right(x):
    """This is right."""
    return x + x


def double__undocumented(x):
    return x


def double__returns_nothing(x):
    """A print stands where the return belongs."""


def double__returns_words(x):
    """These are words."""
    return "words"


def double_changed(x):
    return 2 * x + 0.1


def double_that_raises(x):
    raise IndexError


def double_of_two(x, y):
    return x + y


def shapes(m, n):
    return {"W": (n, m), "v": (n,)}


def shapes__no_dict(m, n):
    """Return a dict with both shapes."""
    return (n, m)


def other_shapes(m, n):
    return {"W": (n, m), "b": (n,)}


def toy(folder, reference=double, *mistakes, key=TOY, old="", new=""):
    assert old in key
    (folder / "toy.toml").write_text(key.replace(old, new), encoding="utf-8")
    function = key[key.index("-") + 1 : key.index("]")]
    references = types.SimpleNamespace(__name__="toy", **({function: reference} if reference else {}))
    named = types.SimpleNamespace(__name__="mistakes", **{f.__name__: f for f in mistakes})
    return exercises.load_from(folder, "toy", 0, references, named)
