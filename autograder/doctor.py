"""Find out whether this machine can keep submissions apart, by sending a canary that tries to leave.

In: an isolation. Out: what the canary could do. Starts one sandbox.
"""

import os
import tempfile
from pathlib import Path

from autograder import sandbox
from autograder.errors import CourseError
from autograder.sandbox import bubblewrap

CANARY = """
import os, socket

def reads(paths):
    return [path for path in paths if os.path.exists(path)]

def network():
    try:
        socket.create_connection(("127.0.0.1", {port}), timeout=1).close()
    except OSError:
        return False
    return True

def processes():
    return sum(name.isdigit() for name in os.listdir("/proc")) if os.path.isdir("/proc") else 0

def writes(folders):
    def can(folder):
        path = os.path.join(folder, "canary")
        try:
            with open(path, "w") as file:
                file.write("out")
            os.remove(path)
        except OSError:
            return False
        return True
    return [folder for folder in folders if can(folder)]

def raises_limits():
    import resource
    try:
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    except (ValueError, OSError):
        return False
    return True

def canary():
    return {{
        "reads": reads({paths!r}), "network": network(), "processes": processes(),
        "writes": writes({folders!r}), "raises_limits": raises_limits(), "root": os.getuid() == 0,
        "environment": sorted(set(os.environ) & {{"AUTOGRADER_CANARY", "SSH_AUTH_SOCK", "USER", "LOGNAME"}}),
    }}
"""


def examine(isolation="single-use"):
    """Return ``[(what was tried, whether it was stopped)]`` for ``isolation``.

    Raises
    ------
    CourseError
        If the sandbox does not start.
    """
    import socket

    with tempfile.NamedTemporaryFile(prefix="canary-") as secret, socket.create_server(("127.0.0.1", 0)) as server:
        paths = [secret.name, *(str(Path(folder) / "README.md") for folder in sandbox.course_folders())]
        paths += [str(Path.home() / ".bashrc"), "/etc/shadow", "/etc/passwd"]
        folders = ["/", "/usr", "/var/tmp", "/worker", str(Path(__file__).parent)]
        source = CANARY.format(port=server.getsockname()[1], paths=paths, folders=folders)
        script = sandbox.Script(
            (sandbox.Cell(source), sandbox.Cell("", "doctor-canary", "canary")), {"doctor-canary": (sandbox.Call({}),)}
        )
        reply = sandbox.run(script, isolation=isolation).replies.get(("doctor-canary", 0), sandbox.Reply())
    seen = reply.value
    if not isinstance(seen, dict):
        raise CourseError(f"the canary gave no answer ({reply.raised or 'nothing'})", "the sandbox", bubblewrap.REMEDY)
    return [
        ("reads files of the host, the project or the home directory", seen["reads"] == []),
        ("opens a connection to this machine", seen["network"] is False),
        ("sees processes other than its own", type(seen["processes"]) is int and seen["processes"] <= 4),
        ("writes outside its scratch directory", seen["writes"] == []),
        ("raises its own limits", seen["raises_limits"] is False),
        ("runs as root", seen["root"] is False),
        ("sees the environment of the grader", seen["environment"] == []),
    ]


def require(isolation):
    """Refuse to grade where the canary gets out.

    Raises
    ------
    CourseError
        If ``isolation`` does not hold on this machine.
    """
    if isolation == "none":
        return
    os.environ.setdefault("AUTOGRADER_CANARY", "1")
    escaped = [what for what, stopped in examine(isolation) if not stopped]
    if escaped:
        raise CourseError(
            f"a submission could leave the sandbox: it {'; it '.join(escaped)}", "this machine", bubblewrap.REMEDY
        )
