"""The sandbox: what a submission may use and what it cannot see, and that its output cannot harm the host."""

import dataclasses
import json
import socket
from textwrap import dedent

import numpy as np
import pytest

from autograder import sandbox
from autograder.errors import CourseError
from autograder.feedback import sanitize
from autograder.paths import ROOT
from autograder.sandbox import Call, Cell, Limits, Script, bubblewrap, script, wire

pytestmark = pytest.mark.suite("sandbox")
LIMITS = Limits(cell_seconds=5, cell_idle_seconds=3, call_seconds=2, memory_mb=2048, output_kb=64, reply_mb=4)

NO_PIP = "pip does nothing here: the grader has no network, and an answer can import only what the grader has."


def run(*cells, calls=(), isolation="zygote"):
    """Run ``cells``, then call their function ``answer`` with each of ``calls``."""
    listed = [Cell(dedent(source)) for source in cells]
    if calls:
        listed.append(Cell("", "exercise", "answer"))
    calls_by_exercise = {"exercise": tuple(Call(inputs) for inputs in calls)} if calls else {}
    return sandbox.run(Script(tuple(listed), calls_by_exercise), LIMITS, isolation)


def run_both(source, calls=1, limits=LIMITS):
    """Run ``source``, then call its function ``answer`` for the exercise "first", and ``other`` for "second"."""
    cells = Cell(dedent(source)), Cell("", "first", "answer"), Cell("", "second", "other")
    script = Script(cells, {"first": (Call({}),) * calls, "second": (Call({}),)})
    return sandbox.run(script, limits)


def text(done, cell=0):
    return "".join(output.get("text", "") for output in done.outputs[cell][1])


def value(done, call=0):
    return done.replies["exercise", call].value


def test_values_come_back_as_they_were_returned():
    done = run("def answer(x): return {'twice': 2 * x, 'list': [1, 2.5, True, None]}", calls=[{"x": np.ones((2, 3))}])
    np.testing.assert_array_equal(value(done)["twice"], np.full((2, 3), 2.0))
    assert value(done)["list"] == [1, 2.5, True, None]


def test_outputs_are_those_of_a_notebook():
    done = run("import sys\nprint('out')\nprint('err', file=sys.stderr)\n1 + 1", "1 / 0", "x = 3\nx")
    count, (out, err, result) = done.outputs[0]
    assert (count, out["text"], err["name"]) == (1, "out\n", "stderr")
    assert (result["data"]["text/plain"], result["execution_count"]) == ("2", 1)
    assert done.outputs[1][1][0]["ename"] == "ZeroDivisionError"
    assert done.outputs[2][1][0]["execution_count"] == 3


@pytest.mark.parametrize("isolation", ["zygote", "none"])
@pytest.mark.parametrize(
    "command",
    [
        "%pip install --upgrade nowhere==0+none",  # no index can have a local version
        "!pip install 'nowhere==0+none' >/dev/null 2>&1",
        "!python3 -m pip --quiet install nowhere==0+none | tail -1",
    ],
)
def test_pip_installs_nothing_says_why_in_one_line_and_the_cell_goes_on(command, isolation):
    done = run(f"{command}\nprint('exit status', get_ipython().user_ns['_exit_code'])", isolation=isolation)
    assert text(done).splitlines() == [NO_PIP, "exit status 0"]


@pytest.mark.parametrize("isolation", ["zygote", "none"])
@pytest.mark.parametrize("package", ["nowhere==0+none", "https://127.0.0.1:9/nowhere.tar.gz"])
def test_pip_that_is_started_all_the_same_does_not_try_again(package, isolation):
    pip = f"[sys.executable, '-m', 'pip', 'install', '--no-deps', {package!r}]"
    done = run(
        f"import subprocess, sys\nprint(subprocess.run({pip}, capture_output=True, text=True))", isolation=isolation
    )
    assert "returncode=1" in text(done)
    assert "Retrying" not in text(done)


@pytest.mark.parametrize(
    "command", ["!echo pip install; echo other", "!pip install --help && echo other", "%pip list && echo other"]
)
def test_commands_of_the_shell_that_do_more_are_run(command):
    assert text(run(command)).rstrip().endswith("other")


def test_a_plot_is_a_picture():
    done = run("import matplotlib.pyplot as plt\nplt.plot([1, 2]);")
    assert "image/png" in done.outputs[0][1][0]["data"]


def test_a_call_that_swallows_every_interrupt_is_stopped_and_the_other_exercises_go_on():
    loop = """
        import time
        def answer():
            while True:
                try: time.sleep(9)
                except BaseException: pass
        def other(): return 5
        """
    done = run_both(loop)
    assert done.replies["first", 0].raised == "CellIdle"
    assert done.reached == {"call_seconds"}
    assert done.replies["second", 0].value == 5


def test_a_cell_that_swallows_every_interrupt_ends_the_run_with_a_sentence():
    stubborn = "import time\nwhile True:\n    try: time.sleep(9)\n    except BaseException: pass"
    done = run(stubborn, "print('after')")
    assert done.failure == "Stopped at cell 1 of 2: it waited 3 seconds without computing (cell_idle_seconds)."
    assert (done.ended_in, done.reached) == (0, {"cell_idle_seconds"})


@pytest.mark.parametrize("source", ["os._exit(0)", "ctypes.string_at(0)", "os.abort()"])
def test_a_cell_that_ends_python_is_named(source):
    done = run("import ctypes, os", source, "x")
    assert done.ended_in == 1
    assert "Python ended at cell 2 of 3" in done.failure


@pytest.mark.parametrize("isolation", ["zygote", "none"])
def test_a_kill_that_notebooks_use_to_restart_is_named_or_has_no_effect(isolation):
    done = run("import os", "os.kill(os.getpid(), 9)", "print('after')", isolation=isolation)
    if isolation == "zygote":  # the first process of a namespace cannot be killed from inside
        assert text(done, 2) == "after\n"
    else:
        assert done.ended_in == 1


def test_leaving_python_politely_ends_nothing():
    done = run("import sys\nsys.exit(0)", "exit()", "print('still here')")
    assert done.failure == ""
    assert text(done, 2) == "still here\n"


def test_memory_is_limited():
    assert run("x = bytearray(8 * 2**30)").outputs[0][1][0]["ename"] == "MemoryError"


def test_disk_is_limited_and_empty_for_the_next_one():
    first = run("open('/scratch/mark', 'w').write('me')\nopen('/scratch/big', 'wb').write(bytes(200 * 2**20))")
    assert first.outputs[0][1][0]["ename"] == "OSError"
    assert "mark" not in text(run("import os\nprint(os.listdir('/scratch'), os.listdir('/dev/shm'))"))


def test_processes_are_limited():
    source = """
        import os, time
        try:
            for n in range(500):
                if os.fork() == 0:
                    time.sleep(30)
                    os._exit(0)
        except OSError as error:
            print(n, error)
        """
    assert "Resource temporarily unavailable" in text(run(source))


def test_the_traceback_of_a_limit_ends_in_the_student_s_own_line():
    checks = "import time\n\ndef make_checks():\n    pass\n\ndef check(function):\n    function()\n"
    cells = tuple(map(Cell, (checks, "def spin():\n    while True:\n        pass", "check(spin)")))
    script = Script(cells, {}, prepared=sandbox.Prepared((checks,)))
    (error,) = sandbox.run(script, dataclasses.replace(LIMITS, cell_seconds=0.5)).outputs[2][1]
    text = sanitize.plain("\n".join(error["traceback"]))
    assert text.rstrip().endswith("CellTimeout: stopped: it used 0.5 seconds of CPU time")
    assert "check(spin)" in text
    assert "while True:" in text
    assert "checks.py" not in text
    assert "worker.py" not in text


def test_what_cells_leave_running_is_dead_before_the_calls():
    source = """
        import os, subprocess, sys
        left = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True)
        def answer():
            lines = [open(f"/proc/{n}/cmdline").read() for n in os.listdir("/proc") if n.isdigit()]
            return [line for line in lines if "time.sleep" in line]
        """
    assert value(run(source, calls=[{}])) == []


WAYS_OUT = {  # source -> the error that it must raise
    "import socket; socket.create_connection(('127.0.0.1', {port}), timeout=2).close()": "PermissionError",
    "open({here!r}).read()": "FileNotFoundError",
    "open('/etc/passwd').read()": "FileNotFoundError",
    "open({beside!r} + '/mark', 'w').close()": "FileNotFoundError",
    "import os; os.stat({worker!r})": "FileNotFoundError",
    "import sys; sys.path.append({project!r}); import autograder.errors": "ModuleNotFoundError",
    "import sys; sys.path.append({project!r}); import solutions.answer_key": "ModuleNotFoundError",
}
CLOSED = [  # a forbidden operation, and a similar one that is allowed
    ("open('/worker/worker.py', 'a').close()", "open('/scratch/worker.py', 'a').close()"),
    ("open('/usr/mark', 'w').close()", "open('/scratch/mark', 'w').close()"),
    ("import os; os.setuid(0)", "import os; os.setuid(os.getuid())"),
    (
        "import resource; resource.setrlimit(resource.RLIMIT_CORE, (7, 7))",
        "import resource; resource.setrlimit(resource.RLIMIT_CORE, (0, 0))",
    ),
]


def ended_in(source, tmp_path, isolation="zygote"):
    """Run ``source`` with its placeholders filled in; return the name of the error that it raised, or ""."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        places = {"here": __file__, "beside": str(tmp_path), "worker": sandbox.__file__, "project": str(ROOT)}
        source = source.format(port=server.getsockname()[1], **places)
        done = run(f"{source}\nprint('done')", isolation=isolation)
    assert done.failure == ""
    last = done.outputs[0][1][-1]
    assert (last.get("text") == "done\n") != (last["output_type"] == "error")
    return last.get("ename", "")


@pytest.mark.parametrize("source", WAYS_OUT)
def test_a_way_out_is_closed_that_is_open_where_there_is_no_sandbox(source, tmp_path):
    assert ended_in(source, tmp_path) == WAYS_OUT[source]
    assert ended_in(source, tmp_path, "none") == ""


@pytest.mark.parametrize(("refused", "allowed"), CLOSED)
def test_rights_that_a_submission_has_not_are_refused_and_those_that_it_has_are_not(refused, allowed, tmp_path):
    assert ended_in(refused, tmp_path) in ("OSError", "PermissionError", "ValueError")
    assert ended_in(allowed, tmp_path) == ""


def test_neither_the_environment_nor_other_processes_can_be_seen(monkeypatch):
    monkeypatch.setenv("SECRET_TOKEN", "hush")
    source = """
        import os
        print(dict(os.environ))
        for n in os.listdir("/proc"):
            if n.isdigit():
                print(n, open(f"/proc/{n}/cmdline").read())
        """
    seen = text(run(source))
    assert not [word for word in ("hush", "pytest", "--ro-bind", "worker.py", "zygote.py") if word in seen]


def test_a_flood_of_output_is_cut_and_the_next_cell_has_room_again():
    done = run("for i in range(200_000): print('x' * 100)", "print('after')")
    assert len(text(done)) < 80 * 1024
    assert "output cut" in text(done)
    assert text(done, 1) == "after\n"


def test_all_outputs_of_a_cell_share_one_budget():
    flood = "import sys\nfor stream in [sys.stdout, sys.stderr] * 3:\n    print('a' * 30_000, file=stream)\n"
    done = run(flood, "print('b')")
    assert 60_000 <= text(done).count("a") <= LIMITS.output_kb * 1024
    assert text(done).count("output cut here") == 1
    assert text(done, 1) == "b\n"  # the next cell has its own budget


def test_a_flood_on_the_pipe_ends_the_run_with_a_sentence():
    source = """
        import os
        for fd in range(3, 20):
            try:
                while True: os.write(fd, b"x" * 65536)
            except OSError: pass
        """
    assert run(source).failure


LIES = [
    b"{" * 5000,
    b"9" * 6000,
    b'"\\ud800"',
    b"[[[[",
    b'{"exercise": "exercise", "call": 0, "value": {"array": {"dtype": "object", "shape": [1], "data": ""}}}',
    b'{"exercise": "exercise", "call": 0, "value": {"array": {"dtype": "float64", "shape": [-1], "data": ""}}}',
    b'{"exercise": "exercise", "call": 0, "raised": {"not": "text"}, "line": "seven"}',
    b'{"exercise": ["a list"], "call": "0", "status": null}',
]


def test_what_is_written_on_the_pipe_beside_the_worker_is_not_believed():
    source = f"""
        import os
        for lie in {LIES!r}:
            for fd in range(3, 20):
                try: os.write(fd, b"\\n" + lie + b"\\n")
                except OSError: pass
        def answer(): return 7
        """
    done = run(source, calls=[{}])
    assert done.failure == ""
    assert value(done) == 7


FORGE = """
    import json, os, time
    def say(call, **more):
        message = {"exercise": "exercise", "call": call, **more}
        for fd in range(3, 20):  # the first that can be written is the way to the host
            try: return os.write(fd, b"\\n" + json.dumps(message).encode() + b"\\n")
            except OSError: pass
    """


def test_the_line_that_raised_is_named_and_quoted_from_the_notebook():
    helper, answer = "def helper(x):\n    # of another cell\n    return 1 / x", "def answer(): return helper(0)"
    reply = run(helper, answer, calls=[{}]).replies["exercise", 0]
    assert (reply.raised, reply.line, reply.text) == ("ZeroDivisionError", 3, "return 1 / x")


def test_no_text_of_the_worker_is_quoted_as_a_line():
    """A forged line could contain hidden inputs, so the host looks up the line that it quotes."""
    forged = dedent(FORGE) + "def answer(x): say(0, raised='ValueError', line=1, cell=x, text=x)\n"
    reply = run(forged, calls=[{"x": "a secret"}]).replies["exercise", 0]
    assert (reply.raised, reply.line, reply.text) == ("ValueError", 1, "")


def test_only_arguments_of_the_call_are_named_as_changed_each_once():
    forged = dedent(FORGE) + "def answer(a, b): say(0, value=1, changed=['b', 'b', 'c', 'x' * 79] * 1000)\n"
    assert run(forged, calls=[{"a": 1, "b": 2}]).replies["exercise", 0].changed == ("b",)
    done = run("def answer(a, b): a += 1; b += 1", calls=[{"a": np.ones(1), "b": np.ones(1)}])
    assert done.replies["exercise", 0].changed == ("a", "b")


def test_a_call_that_takes_its_clock_away_counts_as_a_time_out_when_the_host_says_so():
    late = """
        import signal, time
        def answer(seconds):
            signal.setitimer(signal.ITIMER_REAL, 0)
            time.sleep(seconds)
            return 7
        """
    over = LIMITS.call_seconds + script.GRACE_SECONDS + 1
    done = run(late, calls=[{"seconds": 0.0}, {"seconds": over}, {"seconds": 0.0}, {"seconds": 0.0}])
    replies = [done.replies["exercise", n] for n in range(4)]
    assert [reply.raised for reply in replies] == ["", *["CellIdle"] * 3]
    assert [reply.value for reply in replies] == [7, None, None, None]
    assert done.reached == {"call_seconds"}
    assert not run(late, calls=[{"seconds": 0.0}]).reached


def test_replies_that_come_again_do_not_turn_the_hosts_clock_back():
    forged = """
        import signal
        def answer(wait):
            signal.setitimer(signal.ITIMER_REAL, 0)
            for _ in range(wait):
                say(0, value=7)
                time.sleep(1)
            return 7
        """
    over = int(LIMITS.call_seconds + script.GRACE_SECONDS + 2)
    done = run(dedent(FORGE) + dedent(forged), calls=[{"wait": n} for n in (0, over, 0, 0, 0)])
    assert [done.replies["exercise", n].raised for n in range(5)] == ["", *["CellIdle"] * 4]


@pytest.mark.parametrize(
    ("answer", "raised"), [("while True: pass", "CellTimeout"), ("return np.ones(3_000_000)", "TooLarge")]
)
def test_after_a_call_that_runs_too_long_or_returns_too_much_the_others_of_its_exercise_are_not_made(answer, raised):
    source = f"import numpy as np\ndef answer():\n    {answer}\ndef other(): return 5"
    done = run_both(source, calls=40)  # making all of them would exceed the submission's time limit
    assert {done.replies["first", n].raised for n in range(40)} == {raised}
    assert done.replies["second", 0].value == 5
    assert not done.failure


def test_calls_that_are_each_a_little_too_short_for_the_clock_do_not_take_the_time_of_what_comes_after():
    limits = dataclasses.replace(LIMITS, call_seconds=0.5)
    done = run_both("import time\ndef answer(): time.sleep(0.3)\ndef other(): return 5", 40, limits)
    raised = [done.replies["first", n].raised for n in range(40)]
    assert raised[0] == ""
    assert raised[-20:] == ["CellIdle"] * 20
    assert done.replies["second", 0].value == 5
    assert not done.failure


@pytest.mark.parametrize("end", ["os._exit(0)", "os.kill(os.getpid(), 9)", "os.abort()", "time.sleep(60)"])
def test_what_was_returned_before_a_call_that_ends_its_process_is_kept(end):
    source = f"import os, signal, time\ndef answer(n):\n    if n == 3:\n        {end}\n    return n"
    if "sleep" in end:  # ignoring the alarm
        source = source.replace("        time", "        signal.signal(signal.SIGALRM, signal.SIG_IGN)\n        time")
    done = run(source, calls=[{"n": n} for n in range(5)])
    assert [done.replies["exercise", n].value for n in range(5)] == [0, 1, 2, None, None]


def test_long_replies_and_many_short_ones_all_arrive():
    sizes = [1, 3, 7000, 9000, 2, *[1] * 300, 20_000, 1]
    done = run("import numpy as np\ndef answer(n): return np.full(n, 0.5)", calls=[{"n": n} for n in sizes])
    assert [len(done.replies["exercise", call].value) for call in range(len(sizes))] == sizes


def test_a_call_whose_process_was_killed_is_known_as_such_and_one_that_left_is_not():
    killed = run("import os\ndef answer(): os.kill(os.getpid(), 9)", calls=[{}])
    assert (killed.killed, killed.reached, killed.replies["exercise", 0].raised) == (True, set(), "no reply")
    for end in ("os._exit(9)", "return 1", "os.abort()"):
        assert not run(f"import os\ndef answer(): {end}", calls=[{}]).killed


@pytest.mark.parametrize("isolation", ["zygote", "none"])
def test_a_cell_whose_process_was_killed_each_time_is_known_as_such(isolation):
    if isolation == "zygote":
        sandbox.close()
        from tests.autograder.batch.test_resume import kill_soon

        thread = kill_soon("child", times=2)
        waiting = Script((Cell("import time\ntime.sleep(50)"),), {})  # until it is killed
        done = sandbox.run(waiting, dataclasses.replace(LIMITS, cell_idle_seconds=60), isolation)
        thread.join()
    else:
        done = run("import os\nos.kill(os.getpid(), 9)", isolation=isolation)
    assert done.killed
    assert done.failure
    assert not run("import os\nos._exit(0)", isolation=isolation).killed


def test_a_value_too_large_to_read_is_no_value():
    done = run("import numpy as np\ndef answer(): return np.zeros(50_000_000)", calls=[{}])
    reply = done.replies.get(("exercise", 0))
    assert "MB" in done.failure if reply is None else reply.raised


def test_inputs_of_calls_are_not_in_the_process_while_cells_run():
    source = """
        import gc
        print([thing for thing in gc.get_objects() if isinstance(thing, dict) and "secret" in thing])
        def answer(secret): return secret
        """
    done = run(source, calls=[{"secret": 12345}])
    assert text(done).strip() == "[]"
    assert value(done) == 12345


def test_a_worker_that_never_starts_is_our_fault_and_no_verdict(monkeypatch):
    sandbox.close()
    refusal = ["/bin/sh", "-c", "echo no namespaces here >&2; exit 1"]
    monkeypatch.setattr("autograder.sandbox.bubblewrap.command", lambda *args: (["--ro-bind", "/", "/"], refusal))
    with pytest.raises(CourseError, match="no namespaces here"):
        run("1")


def test_without_bubblewrap_the_sandbox_is_refused_with_the_remedy(monkeypatch):
    sandbox.close()
    monkeypatch.setattr("autograder.sandbox.bubblewrap.is_installed", lambda: False)
    with pytest.raises(CourseError, match="install bubblewrap"):
        run("1")


def test_what_has_no_place_on_the_wire_is_named_by_its_type():
    assert isinstance(value(run("def answer(): return object()", calls=[{}])), wire.UnsendableValue)


def test_no_process_may_use_much_more_cpu_time_than_the_submission():
    """The kernel's own limit, for isolations in which the host cannot measure."""
    seen = json.loads(text(run("import json, resource; print(json.dumps(resource.getrlimit(resource.RLIMIT_CPU)))")))
    assert seen == [LIMITS.submission_seconds + 15] * 2


def test_what_a_cell_starts_counts_towards_its_cpu_time():
    child = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'while True: pass'])"
    done = sandbox.run(Script((Cell(child), Cell("print('after')")), {}), dataclasses.replace(LIMITS, cell_seconds=1))
    assert done.failure == "Stopped at cell 1 of 2: it used more than 1 seconds of CPU time (cell_seconds)."
    assert done.reached == {"cell_seconds"}
    assert done.used["sandbox"] > 1


LOOKS_ROUND = """
import os, json
null = os.stat(os.devnull).st_rdev
print(json.dumps([[os.fstat(number).st_rdev == null for number in range(3)], dict(os.environ)]))
"""


def test_a_submission_has_standard_streams_that_lead_nowhere_and_an_environment_made_for_it():
    done = run(LOOKS_ROUND)
    are_null, environment = json.loads(text(done))
    assert are_null == [True] * 3
    assert bubblewrap.ENVIRONMENT.items() <= environment.items()
    assert not {"USER", "SSH_AUTH_SOCK"} & set(environment)
