"""Marking in a real browser: on the page of `mark`, by keyboard alone, and in nbgrader's own formgrader."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import closing, contextmanager
from dataclasses import replace

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from autograder.courses.locking import exclusive_lock
from autograder.marking import server
from autograder.marking import session as sessions
from autograder.marking.session import ClientState, MarkRequest, Session
from autograder.notebooks.cell_ids import id_of
from tests.autograder.essays import ANSWERS, ESSAY, KEYS, SIGN, essays, grade
from tests.autograder.feedback.test_in_browser import OPEN_ALL, in_mode
from tests.autograder.marking.test_marking import attach, by_hand, in_gradebook, served
from tests.book.test_axe import AXE, findings
from tests.book.test_browser import browser, complaints, open_page, overhang, requests, size, until  # noqa: F401

pytestmark = [pytest.mark.suite("book"), pytest.mark.e2e]


WRITTEN = [student for student, answer in ANSWERS.items() if answer]


@pytest.fixture(scope="module")
def course(released, tmp_path_factory):
    return essays(released, tmp_path_factory.mktemp("essays"))


@contextmanager
def unmarked(browser, course, **options):  # noqa: F811
    """Open the page of an exercise in which nobody has a mark."""
    for student in WRITTEN:
        by_hand(course, student, None)
    with served(Session(course, "scoring", "what_to_recompute", **options)) as address:
        size(browser, 1280)
        open_page(browser, address)
        yield


@contextmanager
def marking(course):
    """Run `mark`; yield the address that it prints, and the process. Ctrl-C ends it, as a marker would."""
    command = [sys.executable, "-u", "-m", "autograder", "mark", "scoring", "what_to_recompute", "--no-browser"]
    process = subprocess.Popen(
        [*command, "--course", course.root], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        first = process.stdout.readline()
        assert first.startswith("Mark here: http://127.0.0.1:"), first + process.stdout.read()
        yield first.removeprefix("Mark here: ").strip(), process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def press(browser, *keys):  # noqa: F811
    for key in keys:
        ActionChains(browser).send_keys(key).perform()


def text_of(browser, selector):  # noqa: F811
    return browser.execute_script("return document.querySelector(arguments[0]).innerText", selector)


def saved(browser, words):  # noqa: F811
    until(browser, lambda: words in text_of(browser, "#said"))


def go_to(browser, words):  # noqa: F811
    """Step through the answers by keyboard to one that contains ``words``."""
    press(browser, *["k"] * 5)
    for _ in range(5):
        if words in text_of(browser, "article[aria-current]"):
            return
        press(browser, "j")
    pytest.fail(f"no answer says {words!r}")


def test_three_answers_are_marked_by_keyboard_alone(browser, course):  # noqa: F811
    with marking(course) as (address, process):
        requests(browser), complaints(browser)
        size(browser, 1280)
        open_page(browser, address)
        assert text_of(browser, "#progress") == "0 of 4 marked"
        assert "2 students say the same" in text_of(browser, "article[aria-current]")  # the most frequent comes first
        assert KEYS in text_of(browser, "article[aria-current]")
        press(browser, "1", "3")
        saved(browser, "Saved: 1.5 of 2 points.")
        press(browser, Keys.ENTER)
        go_to(browser, SIGN)
        press(browser, "a", "c", "See W = w.", Keys.ESCAPE)
        saved(browser, "Saved: 2 of 2 points.")
        until(browser, lambda: text_of(browser, "#progress") == "3 of 4 marked")
        press(browser, "u")
        saved(browser, "it is waiting")
        press(browser, "a")
        saved(browser, "Saved: 2 of 2 points.")
        until(browser, lambda: in_gradebook(course)["cem_kaya"] == (2.0, False, "See W = w."))
        go_to(browser, KEYS)
        press(browser, "w", Keys.ENTER)  # the last comment is offered again
        until(browser, lambda: (in_gradebook(course)["ada_king"][2] or "").endswith("\nSee W = w."))
        go_to(browser, "window.harmed")
        press(browser, "p", Keys.CONTROL + "a" + Keys.NULL, "0.25", Keys.ENTER)
        saved(browser, "Saved: 0.25 of 2 points.")
        assert browser.execute_script("return window.harmed") is None
        assert text_of(browser, "#progress") == "4 of 4 marked"
        assert complaints(browser) == []
        assert {url.split("/")[2] for url in requests(browser)} == {address.split("/")[2]}
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=120)
    assert process.returncode == 0, output
    assert "Marked now: 4. 4 of 4 answers" in output
    assert "Traceback" not in output
    now = in_gradebook(course)
    missed = "W_query times the decoder state is the same for every position j: how many times is it computed?"
    assert now["ada_king"] == now["ben_ito"] == (1.5, False, f"{missed}\nSee W = w.")
    assert now["cem_kaya"] == (2.0, False, "See W = w.")
    points, waiting, comment = now["dora_lee"]
    assert (points, waiting) == (0.25, False)
    assert len(comment.splitlines()) == 3


def test_what_another_marker_gave_is_said_and_like_answers_can_be_marked_apart(browser, course):  # noqa: F811
    with unmarked(browser, course, names=True):
        assert "ada_king" in text_of(browser, "article[aria-current]")
        by_hand(course, "ben_ito", 0.5, "Nearly.")
        press(browser, "a")
        until(browser, lambda: "0.5 of 2 points meanwhile, and says: Nearly." in text_of(browser, "#problem"))
        assert in_gradebook(course)["ada_king"] == (None, True, None)
        press(browser, "m")
        saved(browser, "Saved: 2 of 2 points.")
        assert text_of(browser, "#problem") == ""
        assert in_gradebook(course)["ben_ito"] == (2.0, False, None)
        press(browser, "s", "1")
        saved(browser, "Saved: 1 of 2 points.")
        assert sorted(in_gradebook(course)[name][0] for name in ("ada_king", "ben_ito")) == [1.0, 2.0]
    press(browser, "j", "1")  # the server has stopped
    until(browser, lambda: "has ended" in text_of(browser, "#problem"))
    browser.execute_script("window.addEventListener('beforeunload', (event) => event.stopImmediatePropagation(), true)")


def test_marks_wait_for_another_command_and_are_saved_by_themselves(browser, course):  # noqa: F811
    with unmarked(browser, course):
        with exclusive_lock(course):
            for _ in range(3):  # all answers
                press(browser, "a", Keys.ENTER)
            until(browser, lambda: "3 not saved yet" in text_of(browser, "#progress"))
            until(browser, lambda: "another command, such as `grade`" in text_of(browser, "#problem"))
            shown = {text_of(browser, "article[aria-current] h3")}
            press(browser, Keys.ENTER)  # unsaved ones are not skipped
            shown.add(text_of(browser, "article[aria-current] h3"))
            assert len(shown) == 2
            assert {in_gradebook(course)[student][0] for student in WRITTEN} == {None}
        until(browser, lambda: text_of(browser, "#progress") == "4 of 4 marked")
        assert text_of(browser, "#problem") == ""
    assert {in_gradebook(course)[student][0] for student in WRITTEN} == {2.0}


def test_a_comment_typed_while_marks_are_saved_stays_in_the_field(browser, course):  # noqa: F811
    with unmarked(browser, course):
        with exclusive_lock(course):
            press(browser, "a", "c", "Well put.")
        saved(browser, "Saved: 2 of 2 points.")
        assert browser.execute_script("return document.querySelector('#words').value") == "Well put."
        press(browser, Keys.ESCAPE)
        until(browser, lambda: "Well put." in {comment for _, _, comment in in_gradebook(course).values()})


def test_the_browser_asks_before_a_page_whose_marks_are_still_being_sent_is_closed(browser, course, monkeypatch):  # noqa: F811
    def asks():
        return browser.execute_script(
            "const leave = new Event('beforeunload', {cancelable: true}); return !window.dispatchEvent(leave)"
        )

    monkeypatch.setattr(server, "LOCK_TRIES", 10**6)  # no answer before the course is unlocked
    with unmarked(browser, course):
        assert not asks()
        with exclusive_lock(course):
            press(browser, "a")
            assert asks()
            assert text_of(browser, "#problem") == ""
        saved(browser, "Saved: 2 of 2 points.")
        until(browser, lambda: not asks())


def test_a_comment_is_offered_once_however_often_it_is_saved(browser, course):  # noqa: F811
    def offered():
        return browser.execute_script(
            "return [...document.querySelectorAll('#before-said button')].map((each) => each.textContent)"
        )

    with unmarked(browser, course):
        press(browser, "a", "c", "Well put.", Keys.ESCAPE)
        until(browser, lambda: offered() == ["Well put."])
        press(browser, "0")
        saved(browser, "Saved: 0 of 2 points.")
        assert offered() == ["Well put."]
        press(browser, "j", "w", Keys.ENTER)  # for another answer
        saved(browser, "it is waiting")
        assert offered() == ["Well put."]


def test_each_of_the_answers_that_are_marked_apart_names_its_own_student_alone(browser, released, tmp_path):  # noqa: F811
    course = essays(released, tmp_path)
    attach(course, "cem_kaya", KEYS, {})  # as ada_king wrote it; ben_ito has spelt it differently
    with unmarked(browser, course, names=True):
        assert "3 students say the same" in text_of(browser, "article[aria-current]")
        press(browser, "s")
        shown = browser.execute_script("return [...document.querySelectorAll('article')].map((each) => each.innerText)")
        named = [[student for student in WRITTEN if student in article] for article in shown]
        assert sorted(named) == [[student] for student in WRITTEN]


def test_points_are_no_longer_those_of_a_marker_once_another_has_changed_them(browser, released, tmp_path):  # noqa: F811
    course = essays(released, tmp_path)
    (course.root / "course.toml").write_text('markers = ["ada", "ben"]\n', encoding="utf-8")

    def sit(marker):
        return closing(Session(course, "scoring", "what_to_recompute", marker=marker, student="cem_kaya"))

    with sit("ben") as session:
        (answer,) = session.answers()
        session.mark(MarkRequest((ClientState(**session.shown.add(answer)),), 1.0))
    with sit("ada") as session, served(session) as address:
        size(browser, 1280)
        open_page(browser, address)
        assert text_of(browser, ".state") == "1 of 2 points, marked by ben"
        press(browser, "a")
        saved(browser, "Saved: 2 of 2 points.")
        until(browser, lambda: text_of(browser, ".state") == "2 of 2 points")


def test_changed_criteria_show_whose_marks_they_move_and_ask_before_they_do(browser, course, monkeypatch):  # noqa: F811
    for student in WRITTEN:
        by_hand(course, student, None)
    session = Session(course, "scoring", "what_to_recompute")
    first, second, third = session.scheme.criteria
    by_hand(course, "cem_kaya", 1.5, session._criteria[2].comment)
    session.find_moves()  # so that the marks belong to these criteria
    criteria = (replace(first, points=0.5), second, replace(third, points=1))
    changed = replace(session.scheme, criteria=criteria)
    monkeypatch.setattr(sessions, "load_scheme", lambda *where: changed)
    with served(Session(course, "scoring", "what_to_recompute")) as address:
        complaints(browser)
        size(browser, 1280)
        open_page(browser, address)
        assert "1 answer\t1.5\t1" in text_of(browser, "#moves")
        assert browser.execute_script("return document.querySelectorAll('article').length") == 0
        browser.execute_cdp_cmd("Runtime.evaluate", {"expression": AXE.read_text(encoding="utf-8")})
        assert findings(browser) == []
        assert in_gradebook(course)["cem_kaya"][0] == 1.5
        browser.find_element("id", "move").click()
        until(browser, lambda: browser.execute_script("return document.querySelectorAll('article').length") == 3)
        assert in_gradebook(course)["cem_kaya"][0] == 1.0
        assert browser.execute_script("return document.querySelector('#moves')") is None
        go_to(browser, SIGN)
        assert "1 of 2 points" in text_of(browser, "article[aria-current] .state")
        assert complaints(browser) == []
    by_hand(course, "cem_kaya", None)
    (course.root / ".autograder" / "marking" / "scoring" / f"{ESSAY}.json").unlink()


@pytest.mark.parametrize(("width", "mode"), [(375, "dark"), (1280, "light")])
def test_axe_finds_nothing_amiss_and_nothing_is_wider_than_the_window(browser, course, width, mode):  # noqa: F811
    with served(Session(course, "scoring", "what_to_recompute")) as address:
        size(browser, width)
        with in_mode(browser, mode):
            open_page(browser, address)
            browser.execute_script(OPEN_ALL)
            assert overhang(browser) <= 1
            browser.execute_cdp_cmd("Runtime.evaluate", {"expression": AXE.read_text(encoding="utf-8")})
            assert findings(browser) == []


# --- nbgrader's formgrader -------------------------------------------------------------------------------------------

NO_LABORATORY = ("jupyterlab", "notebook", "notebook_shim", "jupyter_lsp", "jupytext", "jupyter_server_terminals")
FORM = f'[id="{ESSAY}"]'
SCORES = "return [...document.querySelectorAll('.score')].map((each) => each.id)"


@contextmanager
def formgrader(course, folder):
    """Run Jupyter's server in the course directory, with nbgrader's extensions as they install themselves.

    Yields the address of the list of submissions. A browser has to log in first: the cookie that the formgrader's own pages
    set is not sent with its other requests.
    """
    config, runtime = folder / "config", folder / "runtime"
    config.mkdir()
    settings = {"ServerApp": {"jpserver_extensions": dict.fromkeys(NO_LABORATORY, False)}}
    (config / "jupyter_server_config.json").write_text(json.dumps(settings))
    places = {"JUPYTER_CONFIG_DIR": config, "JUPYTER_RUNTIME_DIR": runtime, "JUPYTER_DATA_DIR": folder / "data"}
    programs = os.path.dirname(sys.executable)
    path = os.pathsep.join([programs, os.environ["PATH"]])  # nbgrader calls alembic by name
    command = [sys.executable, "-m", "jupyter_server", "--no-browser", "--ServerApp.ip=127.0.0.1", "--ServerApp.port=0"]
    command += [f"--ServerApp.root_dir={course.root}", *(["--allow-root"] if os.geteuid() == 0 else [])]
    with (folder / "log.txt").open("w") as log:
        environment = {**os.environ, "PATH": path, **{name: str(place) for name, place in places.items()}}
        process = subprocess.Popen(command, cwd=course.root, env=environment, stdout=log, stderr=log)
        try:
            while not (server_files := list(runtime.glob("jpserver-*.json"))):
                assert process.poll() is None, (folder / "log.txt").read_text()
                time.sleep(0.1)
            server = json.loads(server_files[0].read_text())
            yield f"http://127.0.0.1:{server['port']}/login?token={server['token']}&next=/formgrader/gradebook/scoring/scoring"
        finally:
            process.terminate()
            process.wait(60)


def shown_answer(browser):  # noqa: F811
    """Return the answer that the formgrader shows, once it has loaded the marks and knows which are still needed."""
    until(browser, lambda: browser.execute_script(f"return !!document.querySelector('{FORM}.needs_manual_grade')"))
    return browser.execute_script(f"return document.querySelector('{FORM}').closest('.nbgrader_cell').innerText")


def enter(browser, selector, words):  # noqa: F811
    field = browser.find_element("css selector", selector)
    field.clear()
    field.send_keys(words, Keys.TAB)


def test_the_formgrader_opens_scores_comments_leads_on_and_a_regrade_keeps_it(browser, course, tmp_path):  # noqa: F811
    for student in WRITTEN:
        by_hand(course, student, None)
    graded_cells = [
        cell for cell in course.releases("scoring").load().notebooks[0].cells if cell.metadata.nbgrader.grade
    ]
    marks = [(0.5, "One."), (1.0, "Two."), (1.5, "Three."), (2.0, "Four.")]
    marks_by_student = dict(zip(WRITTEN, marks, strict=True))
    size(browser, 1280)
    elsewhere = {"urls": ["*://cdnjs.cloudflare.com/*"]}  # where it would load MathJax from
    browser.execute_cdp_cmd("Network.setBlockedURLs", elsewhere)
    try:
        with formgrader(course, tmp_path) as address:
            open_page(browser, address)
            until(browser, lambda: browser.execute_script("return document.querySelectorAll('.name a').length") > 0)
            browser.execute_script("document.querySelector('.name a').click()")
            marked = []
            for _ in ANSWERS:
                until(browser, lambda: browser.execute_script(f"return !!document.querySelector('{FORM}')"))
                fields = browser.execute_script(SCORES)
                assert fields == [id_of(cell) for cell in graded_cells]
                whose = browser.execute_script("return document.querySelector('a.name-shown').textContent.trim()")
                marked.append(whose)
                if whose in marks_by_student:
                    (points, comment), answer = marks_by_student[whose], shown_answer(browser)
                    assert " ".join(ANSWERS[whose].split())[:20] in " ".join(answer.split())
                    enter(browser, FORM, f"{points:g}")
                    until(browser, lambda whose=whose, row=(points, False): in_gradebook(course)[whose][:2] == row)
                    enter(browser, f'[id="{ESSAY}-comment"]', comment)
                    until(browser, lambda whose=whose, row=(points, False, comment): in_gradebook(course)[whose] == row)
                here = browser.current_url
                browser.execute_script("document.querySelector('li.next a').click()")
                until(browser, lambda here=here: browser.current_url.split("?")[0] != here.split("?")[0])
            assert sorted(marked) == sorted(ANSWERS)
            assert browser.current_url.endswith("/formgrader/gradebook/scoring/scoring")  # the list, after the last one
            assert browser.execute_script("return window.harmed") is None
    finally:
        browser.execute_cdp_cmd("Network.setBlockedURLs", {"urls": []})
    assert not [row.student for row in grade(course) if ESSAY in row.waiting]
    now = in_gradebook(course)
    for student, (points, comment) in marks_by_student.items():
        assert now[student] == (points, False, comment)
    assert "Three." in course.feedback("cem_kaya", "scoring").read_text(encoding="utf-8")
    assert Session(course, "scoring", "what_to_recompute").progress() == {"marked": 4, "of": 4, "untouched": 1}
