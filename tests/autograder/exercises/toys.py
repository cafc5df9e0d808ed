"""Toy exercises, valid and invalid, for the tests in this folder."""

import importlib
import itertools
import types

from autograder import exercises
from autograder.exercises import own_numbers
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


HAND_WORKED = """
import numpy as np


def by_hand():
    ### BEGIN SOLUTION
    query = np.array([0.5, -0.2])
    keys = np.array([[0.3, 1.0], [-0.4, 2.5]])
    return [float(key @ query) for key in keys]
    ### END SOLUTION
"""


HAND_WORKED_MISTAKE = '''
import numpy as np


def by_hand__query_dropped():
    """The query is missing."""
    return np.array([[0.3, 1.0], [-0.4, 2.5]]).sum(axis=1).tolist()
'''


HAND_WORKED_KEY = """
[{topic}-by_hand]
kind = "number"
points = 1
atol = 1e-4
own = ["query", "keys"]
"""

_numbers = itertools.count()


def toy_topic(folder, monkeypatch, reference=HAND_WORKED, mistakes=HAND_WORKED_MISTAKE, key=HAND_WORKED_KEY):
    """Return the exercise of a new topic in ``folder``; its modules can be imported like those of ``solutions``."""
    topic = f"toy{next(_numbers)}"  # a new name, because Python caches modules
    for package, text in (("in_numpy", reference), ("mistakes", mistakes)):
        place = folder / package
        place.mkdir()
        (place / f"{topic}.py").write_text(text, encoding="utf-8")
        parent = importlib.import_module(f"solutions.{package}")
        monkeypatch.setattr(parent, "__path__", [*parent.__path__, str(place)])
    (folder / f"{topic}.toml").write_text(key.format(topic=topic), encoding="utf-8")
    monkeypatch.setattr(own_numbers, "_load_key", lambda topic: answer_key.load(topic, folder))
    (entry,) = answer_key.load(topic, folder).values()
    return exercises.make_exercise(entry)
