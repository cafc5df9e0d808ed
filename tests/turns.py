"""The whole run takes turns: of what is asked of many alike, and of what takes long, each run does a part.

A pytest plugin. Of a test that is asked of many parameters a run does a part, as ``PARTS`` has it. A test that is marked
``turns(n)`` is done in one run of n; where it has parameters, each is. A file that is marked so is done or left whole,
because what takes long there is what its tests share; such files are spread over the turns, and ``turns(n, place)`` says
which of them it has, so that the very longest do not meet. Which part a run does follows from the commit, so that the same
commit is tested in the same way again, and the commits that follow do the rest; ``--turn K`` chooses, and ``--full`` does
everything. So does naming files, or a test: who asks for one test wants all of it. What is marked ``each_time`` is never
left out, nor is anything of the sandbox that does not say so itself.
"""

import os
import subprocess
import zlib
from collections import defaultdict

import pytest

PARTS = {80: 12, 15: 6, 6: 4}  # a test with more parameters than this: one in so many
QUICK_PARTS = {15: 12, 3: 6}  # the same, of the quick tests
ALL_TURNS = 12  # after so many, each test has been done, be it one of two, three, four, six or twelve
TURN = "TESTS_TURN"  # in the environment, where the processes of pytest-xdist find it; empty: everything
LEFT = pytest.StashKey()


def add_option(parser):
    parser.addoption("--turn", type=int, help="which part of what takes turns (by default the commit decides)")


def pytest_configure(config):
    config.addinivalue_line("markers", "turns(n, place): takes long; done in one run of n")
    config.addinivalue_line("markers", "each_time: never left out")
    config.stash[LEFT] = []
    if not hasattr(config, "workerinput"):
        turn = config.getoption("--turn")
        os.environ[TURN] = str(_by_commit(config.rootpath) if turn is None else turn) if _takes_turns(config) else ""


def is_whole(config):
    """Return whether all tests are asked for, in turns or not: no file is named, and it is not the quick part."""
    return not (_is_named(config) or config.getoption("--quick"))


def _is_named(config):
    return config.args_source is pytest.Config.ArgsSource.ARGS or bool(config.getoption("keyword"))


def _takes_turns(config):
    return config.getoption("--turn") is not None or not (_is_named(config) or config.getoption("--full"))


def _by_commit(root):
    """Return a number that the commit under test decides; 0 where there is none."""
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=root, capture_output=True, text=True)
    return int(done.stdout[:8], 16) % ALL_TURNS if done.returncode == 0 else 0


def in_turn(things, turns):
    """Return those of ``things`` whose turn it is: one in ``turns`` of them, all where everything is asked for."""
    if not os.environ[TURN]:
        return list(things)
    return [thing for place, thing in enumerate(things) if (place + int(os.environ[TURN])) % turns == 0]


def _turns_of(items, suite, parts):
    """Return in how many runs the tests of one function are done once, the file that is done whole or not at all, its place.

    The number is 1 for what each run does, the file None where the tests of a function take turns among themselves, the place
    None where nobody has said it.
    """
    marks = {mark.name: (node, mark) for node, mark in reversed(list(items[0].iter_markers_with_node()))}
    if "each_time" in marks:
        return 1, None, None
    if "turns" in marks:
        node, mark = marks["turns"]
        return mark.args[0], None if node is items[0] else node.nodeid, *(mark.args[1:] or (None,))
    return next((turns for many, turns in parts.items() if len(items) > many and suite != "sandbox"), 1), None, None


def keep(config, items, suite_of):
    """Leave in ``items`` those whose turn it is, in their order."""
    if not os.environ[TURN]:
        return
    groups, left, parts = defaultdict(list), [], QUICK_PARTS if config.getoption("--quick") else PARTS
    for item in items:
        own = next((mark.args[0] for _, mark in item.iter_markers_with_node("turns")), 1)  # a parameter's own, perhaps
        groups[item.nodeid.partition("[")[0], own].append(item)
    turns_of = {name: _turns_of(group, suite_of(group[0]), parts) for name, group in groups.items()}
    alike = defaultdict(list)  # the files that are done as rarely, spread over the turns among themselves
    for turns, file in sorted({(turns, file) for turns, file, place in turns_of.values() if file and place is None}):
        alike[turns].append(file)
    for name, group in groups.items():
        turns, file, place = turns_of[name]
        if file:
            place = alike[turns].index(file) if place is None else place
            left += group if (int(os.environ[TURN]) + place) % turns else []
            continue
        turn = int(os.environ[TURN]) + zlib.crc32(name[0].encode())  # or the first of each would fall together
        left += [item for place, item in enumerate(group) if (place + turn) % turns]
    config.stash[LEFT] = left
    config.hook.pytest_deselected(items=left)
    away = {id(item) for item in left}
    items[:] = [item for item in items if id(item) not in away]
    if hasattr(config, "workeroutput"):
        config.workeroutput["left"] = len(left)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    """Hear from the processes how many tests they left out: each of them left out the same."""
    if hasattr(node, "workeroutput"):  # a process that was killed says nothing
        node.config.stash[LEFT] = range(node.workeroutput.get("left", 0))


def said(config):
    """Return the sentence that a run ends with; None where nothing was left out."""
    left = len(config.stash[LEFT])
    return left and (
        f"{left} tests were left to other turns: this was turn {os.environ[TURN]} of {ALL_TURNS}. The commit decides; "
        "`--turn K` does another, `make test-full` all; a file that is named is done whole."
    )
