"""Processes that grade: what ends one of them ends no other's work."""

import math
from concurrent.futures.process import BrokenProcessPool

import pytest

from autograder.grading.workers import Workers

pytestmark = pytest.mark.slow


def test_where_the_pool_has_given_up_the_next_task_gets_a_new_one():
    with Workers(1, {}) as workers:
        assert workers.submit(math.sqrt, 4.0).result() == 2.0
        given_up = workers.pool
        assert workers.submit(math.sqrt, 1.0).result() == 1.0
        assert workers.pool is given_up
        given_up._pool_manager.handle_broken_pool(BrokenProcessPool("as where a process dies before it was heard"))
        assert workers.submit(math.sqrt, 9.0).result() == 3.0
        assert workers.pool is not given_up
