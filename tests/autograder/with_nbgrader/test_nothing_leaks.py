"""Files beside a notebook reach no page that nbgrader publishes, and keep nobody from being graded."""

import codecs
import os
import shutil
import subprocess

import pytest
from nbgrader.api import Gradebook

from autograder.batch.context import GradingOptions
from autograder.batch.grade_class import grade_class
from autograder.courses.course import Course
from autograder.courses.submissions import list_submitters, set_aside_folder
from autograder.platforms.formats import login_of
from autograder.with_nbgrader.exchange import exchange_problems
from tests.autograder.essays import ONE_EXERCISE, copy_released
from tests.autograder.test_main import succeed
from tests.autograder.with_nbgrader.test_nbgrader_plugin import nbgrader

pytestmark = pytest.mark.suite("assignments")
HIDDEN, SCRIPT = "BEGIN HIDDEN TESTS", "<script>alert(1)</script>"


def link_everything(folder, course):
    (folder / "x.html").symlink_to(course.source("scoring"))
    (folder / "y.html").symlink_to(course.gradebook.file)
    (folder / "z.html").write_text(SCRIPT)
    (folder / "deeper").mkdir()
    (folder / "deeper" / "x.html").symlink_to(course.source("scoring"))
    (folder / "all").symlink_to(course.root)


HAND_INS = {
    "eve": link_everything,
    "pat": lambda folder, course: os.mkfifo(folder / "pipe"),
    "dan": lambda folder, course: (folder / "gone.txt").symlink_to("nowhere"),
    "bo": lambda folder, course: _prepend_bom(folder / "scoring.ipynb"),
    "noon": lambda folder, course: (folder / "timestamp.txt").write_text("the day before yesterday"),
    "bytes": lambda folder, course: (folder / "timestamp.txt").write_bytes(b"\xff\xfe\x00\xd8"),
    "nines": lambda folder, course: (folder / "timestamp.txt").write_text("9" * 30),
}


def _prepend_bom(path):
    path.write_bytes(codecs.BOM_UTF8 + path.read_bytes())


def make_course(folder):
    """Return a course in ``folder`` in which each student of ``HAND_INS`` has handed in the release and other files."""
    course = copy_released("additive_score", ONE_EXERCISE, folder)
    for student, make_odd in HAND_INS.items():
        path = course.submission(student, "scoring")
        path.parent.mkdir(parents=True)
        shutil.copy(course.releases("scoring").file, path)
        make_odd(path.parent, course)
    return course


def rows(course):
    with Gradebook(course.gradebook.url) as gradebook:
        return {
            student: [
                (grade.name, grade.auto_score, grade.needs_manual_grade)
                for grade in gradebook.find_submission_notebook("scoring", "scoring", student).grades
            ]
            for student in HAND_INS
        }


def published(course):
    folders = [course.autograded(student, "scoring").parent for student in HAND_INS]
    folders += [course.feedback(student, "scoring").parent for student in HAND_INS]
    return {str(path.relative_to(course.root)): path for folder in folders for path in folder.rglob("*")}


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """The same hand-ins, graded by nbgrader's commands in one course, and by `grade` in another."""
    stock, ours = (make_course(tmp_path_factory.mktemp(name)) for name in ("stock", "ours"))
    output = nbgrader("autograde", "scoring", cwd=stock.root)
    (stock.autograded("eve", "scoring").with_name("left.html")).write_text(SCRIPT)  # left by an earlier version
    nbgrader("generate_feedback", "scoring", cwd=stock.root)
    table = grade_class(ours, "scoring", GradingOptions(workers=1))
    assert not [row for row in table if row.set_aside or row.failed]
    return stock, ours, output


def test_nbgraders_own_commands_grade_what_grade_grades(graded):
    stock, ours, _ = graded
    assert rows(stock) == rows(ours)
    assert all(grades[0][1] == 0 for grades in rows(ours).values())  # nobody has answered anything


def test_nothing_but_the_notebook_the_page_and_what_the_exchange_needs_is_copied(graded):
    names = {"scoring.ipynb", "scoring.html", "timestamp.txt", "submission_secret.txt"}
    for course in graded[:2]:
        paths = published(course)
        assert len(paths) >= 2 * len(HAND_INS)
        assert {path.name for path in paths.values()} <= names
        assert not [path for path in paths.values() if path.is_symlink()]
        for path in paths.values():
            text = path.read_text(encoding="utf-8")
            assert HIDDEN not in text
            assert SCRIPT not in text


def test_what_is_not_copied_is_kept_and_named(graded):
    stock, _, output = graded
    folder = set_aside_folder(stock, "eve", "scoring")
    assert sorted(path.name.partition("-")[2] for path in folder.iterdir()) == [
        "all", "deeper", "x.html", "y.html", "z.html"
    ]  # fmt: skip
    assert "z.html is not part of the assignment: moved to" in output
    assert stock.source("scoring").is_file()
    assert stock.gradebook.file.is_file()


def test_what_an_earlier_run_left_is_neither_kept_nor_published(graded, tmp_path):
    ignored = shutil.ignore_patterns("set_aside")
    course = Course.at(shutil.copytree(graded[0].root, tmp_path / "course", symlinks=True, ignore=ignored))
    for student in ("eve", "pat"):
        folder = course.feedback(student, "scoring").parent
        shutil.copy(course.source("scoring"), folder / "x.html")
        (folder / "y.html").symlink_to(course.gradebook.file)
        (course.autograded(student, "scoring").parent / "deeper").mkdir()
        (folder / "submission_secret.txt").write_text(f"secret of {student}")
        (folder / "timestamp.txt").write_text("2030-01-01 00:00:00 UTC")
    exchange = tmp_path / "exchange"
    (exchange / "attention" / "inbound").mkdir(parents=True)
    with course.config.open("a", encoding="utf-8") as config:
        config.write(f'\nc.Exchange.root = "{exchange}"\n')
    output = nbgrader("release_feedback", "scoring", cwd=course.root)
    pages = sorted((exchange / "attention" / "feedback").iterdir())
    assert len(pages) == 2  # for the two that have a secret
    assert all(HIDDEN not in page.read_text() and "Additive scores" in page.read_text() for page in pages)
    assert output.count("so this did not come through an exchange") == len(HAND_INS) - 2
    assert {path.name for path in course.feedback("eve", "scoring").parent.iterdir()} == {
        "scoring.html", "timestamp.txt", "submission_secret.txt"
    }  # fmt: skip
    grade_class(course, "scoring", GradingOptions(workers=1))
    assert not [path for path in published(course).values() if path.name == "deeper"]


def test_nbgraders_own_collect_takes_what_our_collect_takes(course, tmp_path):
    me = login_of(os.geteuid())
    inbound = tmp_path / "exchange" / "attention" / "inbound"
    for folder, source in (
        (f"{me}+scoring+2025-11-29 10:00:00.000000 UTC+a1", "the answer"),
        (f"{me}+scoring+2025-11-29 11:00:00.000000 UTC+b2", course.source("scoring")),
        ("ada+scoring+2025-11-29 10:00:00.000000 UTC+c3", "forged"),
        ("junk", "junk"),
    ):
        (inbound / folder).mkdir(parents=True)
        path = inbound / folder / "scoring.ipynb"
        path.write_text(source) if isinstance(source, str) else path.symlink_to(source)
    with course.config.open("a", encoding="utf-8") as config:
        config.write(f'\nc.Exchange.root = "{tmp_path / "exchange"}"\n')
    output = nbgrader("collect", "scoring", "--update", cwd=course.root)
    assert list_submitters(course, "scoring") == [me]
    assert course.submission(me, "scoring").read_text() == "the answer"
    assert f"it claims to be ada's, but belongs to the account {me}" in output
    assert "there is a link" in output
    assert "Not taken: junk/scoring.ipynb" in output


def test_an_exchange_that_others_can_put_theirs_in_the_place_of_is_found(course, tmp_path):
    exchange = tmp_path / "exchange"
    (exchange / "attention" / "inbound").mkdir(parents=True)
    exchange.chmod(0o777)
    (exchange / "attention" / "inbound").chmod(0o2733)
    with course.config.open("a", encoding="utf-8") as config:
        config.write(f'\nc.Exchange.root = "{exchange}"\n')
    problems = [(folder, remedy) for _, folder, remedy in exchange_problems(course)]
    assert [folder for folder, _ in problems] == [str(exchange), str(exchange / "attention" / "inbound")]
    for folder, remedy in problems:
        subprocess.run(remedy.split("`")[1], shell=True, check=True)
        assert os.stat(folder).st_mode & 0o1002 == 0o1002
    assert exchange_problems(course) == []
    succeed("doctor", "--course", course.root)
    course.root.chmod(0o755)
    output = " ".join(succeed("doctor", "--course", course.root, status=1).split())
    assert "other accounts on this machine have access to it" in output
    subprocess.run(output.split("`")[-2], shell=True, check=True)
    assert course.root.stat().st_mode & 0o007 == 0
    exchange.chmod(0o777)
    output = succeed("doctor", "--course", course.root, status=1)
    assert "anyone can move" in " ".join(output.split())
