"""Of an assignment's releases: the number of each, the last one, the log, and the seed of the next."""

import json

import nbformat
import pytest
from nbformat.v4 import new_markdown_cell, new_notebook

from autograder.courses.course import init
from autograder.errors import CourseError
from autograder.files import write_text

pytestmark = pytest.mark.suite("assignments")


@pytest.fixture
def releases(tmp_path):
    return init(tmp_path / "course").releases("scoring")


def notebook(words):
    return nbformat.writes(new_notebook(cells=[new_markdown_cell(words, id="words")]))


def release(releases, words, seed=0, attempt_seeds=()):
    """Release the notebook with these ``words``, and return its number."""
    write_text(notebook(words), releases.file)
    return releases.record(seed, words, [f"It says {words}."], attempt_seeds)


def test_a_notebook_that_is_released_again_keeps_its_number_and_is_the_last_one(releases):
    assert [release(releases, words) for words in ("one", "two", "one")] == [1, 2, 1]
    assert [releases.number_of(notebook(words)) for words in ("one", "two", "three")] == [1, 2, 0]
    write_text(notebook("three"), releases.file)  # by a release that was interrupted
    assert releases.last()[0].cells[0].source == "one"
    log = releases.log.read_text(encoding="utf-8").splitlines()
    assert [line for line in log if line.startswith(("# ", "- "))] == [
        "# Releases of scoring", "- It says one.", "- It says two.", "- It says one."
    ]  # fmt: skip


def test_a_record_of_an_earlier_version_numbers_its_releases_from_the_oldest(releases):
    for words in ("one", "two"):
        release(releases, words)
    record = json.loads(releases._record_file.read_text(encoding="utf-8"))
    for name in ("versions", "log"):
        del record[name]
    write_text(json.dumps(record), releases._record_file)
    assert [releases.number_of(notebook(words)) for words in ("one", "two")] == [1, 2]
    assert release(releases, "three") == 3
    assert releases.log.read_text(encoding="utf-8").count("# Releases of scoring") == 1


def test_what_was_not_released_is_refused_with_the_command_that_releases_it(releases):
    with pytest.raises(CourseError, match="there is no assignment 'scoring'") as refused:
        releases.load()
    assert "release scoring --course" in refused.value.args[2]


def test_a_given_seed_counts_before_that_of_the_plan_and_that_before_the_one_of_the_last_release(releases):
    assert releases.choose_seed() is None
    release(releases, "one", seed=7, attempt_seeds=[40])
    assert (releases.choose_seed(), releases.attempt_seeds(7), releases.attempt_seeds(8)) == (7, (40,), ())
    write_text("[assignment.scoring]\nseed = 0\n", releases.root / "course.toml")
    assert (releases.choose_seed(), releases.choose_seed(3)) == (0, 3)
