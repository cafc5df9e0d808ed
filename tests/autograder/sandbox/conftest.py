"""A fixture that several tests of the sandbox use."""

import shutil

import pytest

from autograder.sandbox import bubblewrap


@pytest.fixture(scope="module")
def worker_folder(tmp_path_factory):
    """A folder with the worker's files alone, as in a sandbox, because their neighbours could shadow other modules."""
    folder = tmp_path_factory.mktemp("worker")
    for file in bubblewrap.WORKER_FILES:
        shutil.copy(file, folder)
    return folder
