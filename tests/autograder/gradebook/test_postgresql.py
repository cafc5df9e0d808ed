"""A department's gradebook in a real PostgreSQL: released, graded, marked by two at once, exported, backed up and restored."""

import csv
import json
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url

from autograder.courses.course import init
from autograder.errors import CourseError
from autograder.forget import erase
from autograder.gradebook import backup
from autograder.gradebook.scores import load_results
from autograder.marking.session import Conflict, MarkRequest, Session
from autograder.platforms.export import export
from autograder.releases.release import release
from tests.autograder.essays import ESSAY, KEYS, SIGN, grade, hand_in
from tests.autograder.marking.test_marking import group_of, in_gradebook
from tests.shared import free_ports

pytestmark = [pytest.mark.suite("assignments"), pytest.mark.e2e]
REMEDY = "run `make database`, or install PostgreSQL (Debian: apt-get install postgresql)."
USER, PASSWORD = "marker", "not a secret: it rules over nothing but this test"


def program(name):
    """Return the path of a PostgreSQL program; Debian keeps the server's programs off the PATH."""
    beside = [str(path) for path in sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), reverse=True)]
    if not (program_path := shutil.which(name) or next(iter(beside), None)):
        pytest.fail(f"PostgreSQL's {name} is not on this machine: {REMEDY}")
    return program_path


def another_user():
    """Return (prefix that runs a program as another user, that user), because PostgreSQL refuses root; else ([], None)."""
    if os.geteuid() != 0:
        return [], None
    owner = next((user for user in pwd.getpwall() if user.pw_name in ("postgres", "nobody")), None)
    assert owner, "there is no user but root to run PostgreSQL as"
    who = [f"--reuid={owner.pw_uid}", f"--regid={owner.pw_gid}", "--clear-groups"]
    return ["setpriv", *who], owner


@pytest.fixture(scope="module")
def server():
    """The address of an empty database in its own server on loopback; the server's folder is deleted afterwards."""
    with tempfile.TemporaryDirectory(prefix="postgresql-") as folder:
        place, (as_user, owner) = Path(folder), another_user()
        (place / "password").write_text(PASSWORD)
        if owner:
            for path in (place, place / "password"):
                os.chown(path, owner.pw_uid, owner.pw_gid)
        initdb = [program("initdb"), "--no-sync", "--encoding=UTF8", "--locale=C", f"--username={USER}"]
        initdb += ["--auth=scram-sha-256", f"--pwfile={place / 'password'}", f"--pgdata={place / 'data'}"]
        subprocess.run([*as_user, *initdb], cwd=place, check=True, capture_output=True)
        (port,) = free_ports(1)
        options = f"-c listen_addresses=127.0.0.1 -c port={port} -c unix_socket_directories='' -c fsync=off"
        control = [*as_user, program("pg_ctl"), f"--pgdata={place / 'data'}", "--wait", "--timeout=300"]
        log = f"--log={place / 'log'}"
        started = subprocess.run(
            [*control, "start", log, "--options", options],
            cwd=place,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        assert started.returncode == 0, (place / "log").read_text()
        try:
            yield make_url("postgresql+psycopg://127.0.0.1/postgres").set(username=USER, password=PASSWORD, port=port)
        finally:
            subprocess.run([*control, "stop", "--mode=immediate"], cwd=place, check=True, stdout=subprocess.DEVNULL)


@pytest.fixture(scope="module")
def course(server, tmp_path_factory):
    """A course that keeps its gradebook on ``server``, released and graded."""
    course = init(tmp_path_factory.mktemp("department") / "course")
    address = server.render_as_string(hide_password=False)
    with course.config.open("a", encoding="utf-8") as file:
        file.write(f"\nc.CourseDirectory.db_url = {address!r}\n")
    assert course.gradebook.is_on_a_server
    release(course, "scoring", seed=0)
    hand_in(course, "ada", KEYS)
    hand_in(course, "ben", SIGN)
    rows = {row.student: row for row in grade(course)}
    assert [row.waiting for row in rows.values()] == [(ESSAY,), (ESSAY,)]
    assert not course.gradebook.file.exists()
    return course


def rows_of(course, table):
    engine = create_engine(course.gradebook.url)
    try:
        with engine.connect() as connection:
            return connection.execute(text(f"SELECT count(*) FROM {table}")).scalar()
    finally:
        engine.dispose()


def test_two_mark_at_once_and_a_regrade_an_export_and_a_restore_keep_what_they_gave(course, tmp_path):
    sessions = [Session(course, "scoring", "what_to_recompute") for _ in range(2)]
    seen = [group_of(session, KEYS) for session in sessions]
    outcomes, begin = [], threading.Barrier(2)

    def mark(number):
        begin.wait()
        try:
            sessions[number].mark(MarkRequest(seen[number], 1.0 + number, f"From {number}."))
            outcomes.append(number)
        except Conflict:
            outcomes.append(None)

    threads = [threading.Thread(target=mark, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (winner,) = (number for number in outcomes if number is not None)
    assert outcomes.count(None) == 1
    marked = (1.0 + winner, False, f"From {winner}.")
    assert in_gradebook(course)["ada"] == marked
    sessions[0].mark(MarkRequest(group_of(sessions[0], SIGN), 0.5))

    counted = {table: rows_of(course, table) for table in ("grade", "comment", "submitted_assignment", "student")}
    assert not [row.student for row in grade(course) if row.waiting]
    assert in_gradebook(course)["ada"] == marked
    assert counted == {table: rows_of(course, table) for table in counted}
    assert {name: result.earned for name, result in load_results(course, "scoring").items()} == {
        "ada": marked[0],
        "ben": 0.5,
    }

    target = tmp_path / "grades.csv"
    assert export(course, "scoring", "csv", target).count == 2
    with target.open(encoding="utf-8") as file:
        assert {line["student"]: float(line["score"]) for line in csv.DictReader(file)} == {
            "ada": marked[0],
            "ben": 0.5,
        }

    backup.back_up(course, "trial")
    newest = backup.list_backups(course)[0]
    assert newest.stat().st_mode & 0o077 == 0
    backup.back_up(course, "trial")
    assert backup.list_backups(course)[0] == newest  # no new backup, because nothing has changed
    sessions[0].mark(MarkRequest(group_of(sessions[0], KEYS), None))
    assert in_gradebook(course)["ada"][0] is None
    backup.restore(course, newest.name)
    assert in_gradebook(course)["ada"] == marked
    assert counted == {table: rows_of(course, table) for table in counted}
    assert "before-restore" in backup.list_backups(course)[0].name
    with pytest.raises(CourseError, match="no backup"):
        backup.restore(course, "gradebook.db")


def test_a_student_is_forgotten_there_too(course):
    erase(course, "ada")
    counted = {table: rows_of(course, table) for table in ("student", "submitted_assignment", "submitted_notebook")}
    assert counted == dict.fromkeys(counted, 1)
    assert [*load_results(course, "scoring")] == ["ben"]
    assert [row.student for row in grade(course)] == ["ben"]


def test_a_server_that_is_not_there_is_refused_in_words_without_its_password(tmp_path):
    other = init(tmp_path / "course")
    (port,) = free_ports(1)
    address = f"postgresql://{USER}:hush@127.0.0.1:{port}/postgres"
    other.config.write_text(f"{other.config.read_text()}\nc.CourseDirectory.db_url = {address!r}\n")
    for refused in (lambda: load_results(other, "scoring"), lambda: backup.back_up(other, "grade")):
        with pytest.raises(CourseError, match="db_url") as error:
            refused()
        assert "hush" not in str(error.value)
    assert not list((other.root / ".autograder" / "backups").iterdir())  # not even a partial backup


def test_the_programs_of_a_backup_go_where_the_gradebook_is(tmp_path):
    course = init(tmp_path / "course")
    address = "postgresql://ada:hush@/grades?host=/run/elsewhere&port=5433&sslmode=verify-full"
    course.config.write_text(f"{course.config.read_text()}\nc.CourseDirectory.db_url = {address!r}\n")
    heard = tmp_path / "heard.json"
    program = f"import json, os; json.dump(dict(os.environ), open({str(heard)!r}, 'w'))"
    backup._run_postgresql(course, sys.executable, ["-c", program])
    known = {
        name: value for name, value in json.loads(heard.read_text(encoding="utf-8")).items() if name.startswith("PG")
    }
    assert known == {
        "PGUSER": "ada",
        "PGPASSWORD": "hush",
        "PGDATABASE": "grades",
        "PGHOST": "/run/elsewhere",
        "PGPORT": "5433",
        "PGSSLMODE": "verify-full",
    }


@pytest.mark.parametrize("address", ["mysql://host/grades", "sqlite:////elsewhere/gradebook.db"])
def test_a_database_that_nobody_here_keeps_is_refused_in_words(tmp_path, address):
    course = init(tmp_path)
    course.config.write_text(f"{course.config.read_text()}\nc.CourseDirectory.db_url = {address!r}\n")
    with pytest.raises(CourseError, match="db_url"):
        load_results(course, "scoring")
