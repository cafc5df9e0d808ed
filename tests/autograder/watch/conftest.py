"""The course with which the tests of `watch` begin."""

from tests.autograder.watch.hub import hub  # noqa: F401  (a fixture)
