"""The course that the tests of `watch` begin with."""

from tests.autograder.watch.hub import hub  # noqa: F401  (a fixture)
