"""The parts of a sandbox: the system call filter, the container's command line, users, limits."""

import dataclasses
import itertools
import os
import re
import struct
import sys
from pathlib import Path

import pytest

from autograder import sandbox
from autograder.courses.course import CONFIG, init
from autograder.errors import CourseError
from autograder.paths import ROOT
from autograder.sandbox import Cell, Limits, Script, bubblewrap, container, seccomp, start
from autograder.with_nbgrader import plugin, preprocessors

LIMITS = Limits(memory_mb=2000, processes=20, disk_mb=32)


def decided(program, number, first=0, machine="x86_64"):
    """Run the filter ``program`` on a system call as the kernel would, and return its decision."""
    architecture = seccomp.MACHINES[machine][0]
    data = struct.pack("IIQQ", number, architecture, 0, first)
    lines = [struct.unpack_from("HBBI", program, at) for at in range(0, len(program), 8)]
    place = value = 0
    while True:
        code, then, otherwise, constant = lines[place]
        place += 1
        if code == seccomp.LOAD:
            (value,) = struct.unpack_from("I", data, constant)
        elif code == seccomp.RETURN:
            return constant
        else:
            holds = {
                seccomp.JUMP_EQUAL: value == constant,
                seccomp.JUMP_AT_LEAST: value >= constant,
                seccomp.JUMP_ANY_BIT: bool(value & constant),
            }[code]
            place += then if holds else otherwise


REFUSED, UNKNOWN = seccomp.ERRNO | seccomp.EPERM, seccomp.ERRNO | seccomp.ENOSYS


HEADERS = {"x86_64": "x86_64-linux-gnu/asm/unistd_64.h", "aarch64": "asm-generic/unistd.h"}


@pytest.mark.parametrize("machine", HEADERS)
def test_the_numbers_of_refused_calls_are_those_of_the_kernels_headers(machine):
    header = Path("/usr/include", HEADERS[machine])
    if not header.is_file():
        pytest.skip("the kernel's headers are not installed")
    stated = re.findall(r"^#define __NR(?:3264)?_(\w+)\s+(\d+)\s*$", header.read_text(), flags=re.MULTILINE)
    numbers = {name: int(number) for name, number in stated}
    column = seccomp.MACHINES[machine][1]
    known = {name: numbers[name] for name in seccomp.REFUSED if name in numbers}
    assert known == {name: seccomp.REFUSED[name][column] for name in known}
    assert len(known) > 0.8 * len(seccomp.REFUSED)
    for name, number in zip(("socket", "clone", "clone3"), seccomp.MACHINES[machine][2:5], strict=True):
        assert numbers[name] == number


@pytest.mark.parametrize("machine", seccomp.MACHINES)
def test_the_filter_refuses_what_it_lists_and_nothing_else(machine):
    program = seccomp.program(machine)
    _, column, socket, clone, clone3, _ = seccomp.MACHINES[machine]
    listed = {numbers[column] for numbers in seccomp.REFUSED.values()}
    assert len(listed) == len(seccomp.REFUSED)
    for number in range(460):
        if number in (socket, clone, clone3):
            continue
        wanted = REFUSED if number in listed else seccomp.ALLOW
        assert decided(program, number, machine=machine) == wanted, number
    assert decided(program, clone3, machine=machine) == UNKNOWN
    assert decided(program, clone, 0x01200011, machine) == seccomp.ALLOW  # fork
    flags = socket & ~seccomp.NEW_NAMESPACES  # on x86_64, the number of `socket`, which would be refused this argument
    assert decided(program, clone, flags, machine) == seccomp.ALLOW
    for flag in (0x10000000, 0x20000000, 0x40000000, 0x00020000, 0x02000000):
        assert decided(program, clone, flag | 17, machine) == REFUSED
    for family, wanted in ((1, seccomp.ALLOW), (2, REFUSED), (10, REFUSED), (16, REFUSED), (40, REFUSED)):
        assert decided(program, socket, family, machine) == wanted


def test_without_local_sockets_there_is_none_at_all():
    for machine, (socket, other) in {"x86_64": (41, 39), "aarch64": (198, 172)}.items():
        program = seccomp.program(machine, local_sockets=False)
        for family in (1, 2, 10, 16, 40):
            assert decided(program, socket, family, machine) == REFUSED
        assert decided(program, other, machine=machine) == seccomp.ALLOW


def test_another_architecture_or_calling_convention_is_ended():
    program = seccomp.program("x86_64")
    assert decided(program, 0, machine="aarch64") == seccomp.KILL
    assert decided(program, 0x40000000 + 39) == seccomp.KILL
    assert seccomp.program("a machine that is not known") == b""


def test_the_container_has_no_network_no_rights_and_no_folder_of_this_machine(monkeypatch):
    command = container.command(LIMITS, "podman")
    assert command[:3] == ["podman", "run", "--rm"]
    pairs = dict(itertools.pairwise(command))
    assert pairs["--network"] == "none"
    assert pairs["--cap-drop"] == "ALL"
    assert pairs["--security-opt"] == "no-new-privileges"
    assert pairs["--user"] == "65534:65534"
    assert pairs["--pids-limit"] == "36"
    assert pairs["--memory"] == pairs["--memory-swap"] == "2000m"
    assert pairs["--pull"] == "never"
    assert "--read-only" in command
    assert not {"--volume", "-v", "--mount", "--privileged", "--device"} & set(command)
    assert command[-5:] == [container.IMAGE, "python", "-I", "-B", "/worker/worker.py"]
    assert os.path.expanduser("~") not in " ".join(command)


def test_without_a_container_engine_the_remedy_is_said(monkeypatch):
    monkeypatch.setattr(container, "engine", lambda: "")
    with pytest.raises(CourseError, match="no container engine"):
        sandbox.run(Script((Cell("1"),), {}), LIMITS, "container")


def test_the_engine_that_is_installed_is_taken_unless_another_is_named(monkeypatch):
    monkeypatch.delenv("AUTOGRADER_ENGINE", raising=False)
    monkeypatch.setattr(container.shutil, "which", lambda name: f"/bin/{name}" if name == "docker" else None)
    assert container.engine() == "docker"
    monkeypatch.setenv("AUTOGRADER_ENGINE", "nerdctl")
    assert container.engine() == "nerdctl"


def test_an_engine_that_fails_is_the_machines_fault(monkeypatch):
    monkeypatch.setattr(container, "engine", lambda: "false")
    with pytest.raises(CourseError, match=r"the sandbox did not start(.|\n)*docker build"):
        sandbox.run(Script((Cell("1"),), {}), LIMITS, "container")


ENGINE = """#!{python}
import sys
from pathlib import Path
command = sys.argv[sys.argv.index("{image}") + 1:]
exec(command[3].replace("/worker/", "{worker}/"))
"""


@pytest.mark.parametrize(("changed", "refused"), [("", False), ("wire.py", True), ("compare.py", True)])
def test_an_image_of_another_version_is_refused_with_the_remedy(tmp_path, monkeypatch, changed, refused):
    """The engine here is a program that runs commands on its own files, as a container would."""
    for path in container.files_in_image():
        text = path.read_text(encoding="utf-8") + ("# older" if path.name == changed else "")
        (tmp_path / path.name).write_text(text, encoding="utf-8")
    program = tmp_path / "engine"
    program.write_text(ENGINE.format(python=sys.executable, image=container.IMAGE, worker=tmp_path))
    program.chmod(0o755)
    if not refused:
        container.require_image(str(program))
        return
    monkeypatch.setattr(container, "engine", lambda: str(program))
    with pytest.raises(CourseError, match=r"another version of the grader(.|\n)*build it again(.|\n)*docker build"):
        sandbox.run(Script((Cell("1"),), {}), LIMITS, "container")


def test_the_containers_image_holds_the_worker_and_what_it_imports():
    text = (bubblewrap.WORKER_FILES[0].with_name("Containerfile")).read_text()
    for path in bubblewrap.WORKER_FILES:
        assert path.name in text or path.name == "zygote.py"


@pytest.mark.parametrize(
    ("mapped", "own"),
    [("0 0 4294967295", True), ("0 1000 1\n1 100000 65536", False), ("0 0 1\n2000000000 5 120000000", True)],
)
def test_each_sandbox_of_root_has_a_user_of_its_own_where_there_are_enough(tmp_path, monkeypatch, mapped, own):
    (tmp_path / "map").write_text(mapped)
    monkeypatch.setattr(bubblewrap, "open", lambda path: (tmp_path / "map").open(), raising=False)
    users = {bubblewrap.unused_uid() for _ in range(20)}
    assert (
        (len(users) > 15 and all(int(user) in bubblewrap.UNUSED_UIDS for user in users)) if own else users == {"65534"}
    )


def test_every_limit_can_be_set_in_nbgraders_configuration_as_the_guide_says():
    page = (ROOT / "book" / "for_instructors.md").read_text(encoding="utf-8")
    for limit in dataclasses.fields(Limits):
        trait = preprocessors.Judge.class_traits(config=True)[limit.name]
        assert trait.default_value == limit.default
        assert f"# c.Judge.{limit.name} = {limit.default:g}" in CONFIG
        assert trait.help == limit.metadata["help"]
        assert f"| `c.Judge.{limit.name} = {limit.default:g}` |" in page


def test_limits_of_the_configuration_count(tmp_path):
    course = init(tmp_path / "course")
    course.config.write_text(CONFIG.replace("# c.Judge.cell_seconds = 20", "c.Judge.cell_seconds = 7"))
    limits, isolation = plugin.settings(course)
    assert limits == Limits(cell_seconds=7)
    assert isolation == "zygote"


@pytest.mark.suite("sandbox")
def test_all_outputs_together_are_limited():
    limits = Limits(outputs_mb=1, output_kb=600)
    done = sandbox.run(Script(tuple(Cell("print('x' * 500_000)") for _ in range(4)), {}), limits)
    texts = [outputs[0]["text"] if outputs else "" for _, outputs in done.outputs.values()]
    assert [len(text) > 400_000 for text in texts] == [True, True, False, False]
    assert "too long" in texts[3]


def test_a_worker_whose_pipe_is_closed_is_known_from_one_that_may_still_speak():
    reader, writer = os.pipe()
    os.write(writer, b"last words")
    assert not start._is_closed(reader)
    os.write(writer, b"and more")
    os.close(writer)
    assert start._is_closed(reader)
    os.close(reader)
