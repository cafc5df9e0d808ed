"""A run that takes turns leaves nothing out for good, and one that is asked for a test does it."""

import os
import subprocess
import sys
from types import MappingProxyType, SimpleNamespace

import pytest

from autograder.paths import ROOT
from tests import turns
from tests.turns import ALL_TURNS, PARTS, TURN, in_turn, keep, said

VERY_MANY, _, MANY = PARTS
FILE = SimpleNamespace(nodeid="test_x.py")
FUNCTIONS = {  # name: how many parameters, its marks, its suite
    "few": (MANY, (), "autograder"),
    "many": (MANY + 1, (), "autograder"),
    "very_many": (VERY_MANY + 1, (), "autograder"),
    "many_each_time": (MANY + 1, (pytest.mark.each_time.mark,), "autograder"),
    "many_of_the_sandbox": (MANY + 1, (), "sandbox"),
    "long": (1, (pytest.mark.turns(2).mark,), "sandbox"),
    "long_and_few": (8, (pytest.mark.turns(4).mark,), "audit"),
    "second_is_long": (2, (pytest.mark.turns(2).mark,), "sandbox"),
}
PLACED = SimpleNamespace(nodeid="test_y.py")
OF_A_LONG_FILE = {
    "shares": (2, (pytest.mark.turns(3).mark,), "sandbox"),
    "shares_too": (9, (pytest.mark.turns(3).mark,), "book"),
}
ALL = sum(count for count, _, _ in (FUNCTIONS | OF_A_LONG_FILE).values())
CONFTEST = """
from tests import turns

def pytest_addoption(parser):
    parser.addoption("--full", action="store_true")
    parser.addoption("--quick", action="store_true")
    turns.add_option(parser)

def pytest_configure(config):
    config.pluginmanager.register(turns, "turns")

def pytest_collection_modifyitems(config, items):
    turns.keep(config, items, lambda item: "autograder")
"""


def done_by(turn, monkeypatch, files=MappingProxyType({})):
    """Return the names of the tests that a turn does, and what is said of those that it does not."""
    monkeypatch.setenv(TURN, str(turn))
    items = []
    for name, (count, marks, suite) in (FUNCTIONS | OF_A_LONG_FILE).items():
        for number in range(count):
            item = SimpleNamespace(nodeid=f"test_x.py::{name}[{number}]", suite=suite)
            is_short = name == "second_is_long" and number == 0
            marked = [
                (files.get(name, FILE if name in OF_A_LONG_FILE else item), mark) for mark in marks if not is_short
            ]
            item.iter_markers_with_node = lambda name=None, marked=marked: (
                each for each in marked if name in (None, each[1].name)
            )
            items.append(item)
    before, gone = list(items), []
    hook = SimpleNamespace(pytest_deselected=lambda items: gone.extend(items))
    config = SimpleNamespace(stash={turns.LEFT: []}, hook=hook, getoption=lambda name: False)
    keep(config, items, lambda item: item.suite)
    assert [item for item in before if item not in gone] == items
    return [item.nodeid for item in items], said(config)


def test_all_turns_together_do_every_test_and_differ(monkeypatch):
    done = [frozenset(done_by(turn, monkeypatch)[0]) for turn in range(ALL_TURNS)]
    assert len(frozenset().union(*done)) == ALL
    assert len(set(done)) == ALL_TURNS


@pytest.mark.parametrize("turn", range(4))
def test_a_turn_leaves_out_what_may_be_left_out_and_says_how_much(turn, monkeypatch):
    names, sentence = done_by(turn, monkeypatch)
    done = {name: sum(f"::{name}[" in each for each in names) for name in FUNCTIONS}
    whole = {"few": MANY, "many_each_time": MANY + 1, "many_of_the_sandbox": MANY + 1, "long_and_few": 2}
    assert {name: done[name] for name in whole} == whole
    assert 0 <= done["many"] - MANY // PARTS[MANY] <= 1
    assert 0 <= done["very_many"] - VERY_MANY // PARTS[VERY_MANY] <= 1
    assert sentence.startswith(f"{ALL - len(names)} tests")


def test_a_parameter_may_take_turns_by_itself(monkeypatch):
    done = [{name for name in done_by(turn, monkeypatch)[0] if "second_is_long" in name} for turn in range(4)]
    assert all("test_x.py::second_is_long[0]" in names for names in done)
    assert sum("test_x.py::second_is_long[1]" in names for names in done) == 2


def test_a_file_is_done_whole_or_not_at_all(monkeypatch):
    whole = {f"test_x.py::{name}[{number}]" for name, (count, *_) in OF_A_LONG_FILE.items() for number in range(count)}
    done = [whole & set(done_by(turn, monkeypatch)[0]) for turn in range(3)]
    assert sorted(done, key=len) == [set(), set(), whole]


@pytest.mark.parametrize(
    ("asked", "read"), [([], {"book", "autograder"}), (["--no-website"], {"autograder"}), (["--quick"], {"autograder"})]
)
def test_a_run_without_the_website_reads_no_test_of_the_book(asked, read):
    files = ["tests/book/test_address.py", "tests/autograder/test_formulas.py"]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--collect-only", *asked, *files]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    found = {line.split("/")[1] for line in done.stdout.splitlines() if "::" in line}
    assert found == read, done.stdout + done.stderr


def test_a_file_that_names_its_place_is_done_there(monkeypatch):
    monkeypatch.setitem(FUNCTIONS, "placed", (3, (pytest.mark.turns(3, 2).mark,), "book"))
    done = [sum("placed" in name for name in done_by(turn, monkeypatch, {"placed": PLACED})[0]) for turn in range(4)]
    assert done == [0, 3, 0, 0]


def test_where_everything_is_asked_for_nothing_is_left_out(monkeypatch):
    names, sentence = done_by("", monkeypatch)
    assert len(names) == ALL
    assert not sentence
    assert in_turn("abcdef", 3) == list("abcdef")
    monkeypatch.setenv(TURN, "1")
    assert in_turn("abcdef", 3) == ["c", "f"]


@pytest.mark.parametrize(
    ("asked", "said_at_the_end"),
    [
        ([], "10 passed, 50 deselected"),
        (["--quick"], "5 passed, 55 deselected"),
        (["--full"], "60 passed"),
        (["tests/test_one.py"], "60 passed"),
    ],
)
def test_what_is_named_is_done_whole(tmp_path, asked, said_at_the_end):
    (tmp_path / "tests").mkdir()
    text = "import pytest\n@pytest.mark.parametrize('number', range(60))\ndef test_one(number): pass\n"
    (tmp_path / "tests" / "test_one.py").write_text(text, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\ntestpaths = tests\n", encoding="utf-8")
    (tmp_path / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    env = {name: value for name, value in os.environ.items() if name != TURN} | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *asked]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=env)
    assert said_at_the_end in done.stdout, done.stdout + done.stderr
