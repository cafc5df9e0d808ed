"""A gradebook that cannot be read is refused with an explanation."""

import os
import sqlite3

import pytest

from autograder.errors import CourseError
from autograder.gradebook.database import describe_db_error
from autograder.gradebook.scores import load_results
from tests.autograder.with_nbgrader.test_nbgrader_plugin import nbgrader

pytestmark = pytest.mark.suite("assignments")


def test_an_empty_gradebook_is_read_where_the_environment_is_not_on_path(course, monkeypatch):
    course.gradebook.file.write_bytes(b"")
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    with pytest.raises(CourseError, match="the gradebook does not know scoring"):
        load_results(course, "scoring")


WITHOUT_COURSES = """
CREATE TABLE older (id VARCHAR(128) PRIMARY KEY, name VARCHAR(128) NOT NULL UNIQUE, duedate DATETIME);
INSERT INTO older SELECT id, name, duedate FROM assignment;
DROP TABLE assignment;
ALTER TABLE older RENAME TO assignment;
DROP TABLE course;
UPDATE alembic_version SET version_num = '282d30a0218e';
"""
WITHOUT_PLATFORM_IDS = """
ALTER TABLE student DROP COLUMN lms_user_id;
UPDATE alembic_version SET version_num = '167914646830';
"""


@pytest.mark.parametrize(
    "older", [WITHOUT_COURSES, WITHOUT_COURSES + WITHOUT_PLATFORM_IDS], ids=["one migration", "two migrations"]
)
def test_a_gradebook_of_an_older_nbgrader_is_refused_with_the_command_that_upgrades_it(course, older):
    """The gradebook of nbgrader 0.5 stored neither courses nor the students' ids on a learning platform."""
    connection = sqlite3.connect(course.gradebook.file)
    connection.executescript(older)
    connection.close()
    with pytest.raises(CourseError, match="nbgrader db upgrade"):
        load_results(course, "scoring")
    nbgrader("db", "upgrade", cwd=course.root)
    assert os.path.isfile(course.gradebook.file)
    assert load_results(course, "scoring") == {}


@pytest.mark.parametrize(
    ("name", "reason"), [("gradebook.db", "readonly database"), ("nowhere.db", "unable to open database file")]
)
def test_the_remedy_for_files_that_cannot_be_written_is_to_make_them_writable(course, name, reason):
    address = f"{course.gradebook.file.with_name(name).as_uri()}?mode=ro"
    with pytest.raises(sqlite3.OperationalError, match=reason) as refused:
        sqlite3.connect(address, uri=True).execute("DELETE FROM student")
    _, _, remedy = describe_db_error(refused.value, course)
    assert "make sure that you can write to the course directory" in remedy
