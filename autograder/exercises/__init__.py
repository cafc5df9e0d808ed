"""Exercises, with their cases drawn and their expected values computed.

In: a topic, a seed. Out: frozen ``Exercise`` objects. Reads ``solutions``, touches nothing else.
"""

from autograder.exercises.chains import compile_steps
from autograder.exercises.drawing import PRIMES, SHAPE_DRAWS
from autograder.exercises.loading import (
    TOLERANCE,
    UNREADABLE,
    load,
    load_each,
    load_warm_ups,
    make_exercise,
    reference_of,
    versions,
)
from autograder.exercises.model import Case, Exercise, Outcome, compute_given_shapes, convert, digest, with_points
from autograder.exercises.modules import (
    extract_hidden_code,
    extract_provided_code,
    find_provided_modules,
    module,
    module_at,
    names_provided_code,
    own_parts,
    setup_code,
)

__all__ = [
    "PRIMES",
    "SHAPE_DRAWS",
    "TOLERANCE",
    "UNREADABLE",
    "Case",
    "Exercise",
    "Outcome",
    "compile_steps",
    "compute_given_shapes",
    "convert",
    "digest",
    "extract_hidden_code",
    "extract_provided_code",
    "find_provided_modules",
    "load",
    "load_each",
    "load_warm_ups",
    "make_exercise",
    "module",
    "module_at",
    "names_provided_code",
    "own_parts",
    "reference_of",
    "setup_code",
    "versions",
    "with_points",
]
