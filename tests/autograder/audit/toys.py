"""A toy exercise with a strong key and a weak one, for the tests of the audit."""

from dataclasses import replace

from autograder.audit.outcomes import Outcomes
from autograder.audit.run import audit_exercise
from tests.autograder.exercises import toys

KEY = """
[toy-mix]
kind = "code"
points = 2

[[toy-mix.case]]
name = "worked example"
shown = true
inputs.x = [[1.0, 2.0]]
inputs.y = [[3.0, 5.0]]
expected = [[0.0, 2.0]]
atol = 1e-9

[[toy-mix.case]]
name = "drawn"
CASE
"""
ONE_ROW = '[[toy-mix.case]]\nname = "one row"\nshapes = { x = [1, 3], y = [1, 3] }\n'
STRONG = f"shapes = {{ x = [3, 4], y = [3, 4] }}\n{ONE_ROW}"
WEAK = "inputs.x = [[1.0, 1.0], [1.0, 1.0]]\ninputs.y = [[2.0, 2.0], [2.0, 2.0]]"


def mix(x, y):
    """Return twice x, less a quarter of the sums of y."""
    ### BEGIN SOLUTION
    double = 2 * x
    return double - y.sum(axis=1, keepdims=True) / 4
    ### END SOLUTION


def mix__added(x, y):
    """You added."""
    return x + y


def mix__said_elsewhere(x, y):
    """You returned x."""
    return x


def toy(folder, case, reference=mix, mistakes=()):
    return toys.toy(folder, reference, *mistakes, key=KEY, old="CASE", new=case)


def audited(folder, case, reference=mix, **more):
    """Audit the toy with the hidden cases ``case`` and with sizes that may vary as in STRONG."""
    (exercise,), (strong,) = (toy(folder, each, reference) for each in (case, STRONG))
    draws = [Outcomes(replace(exercise, entry=strong.entry))]
    return audit_exercise(draws, reference, full=True, **more)
