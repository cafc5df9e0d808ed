"""The steps of an assignment in nbgrader's exchange, with students in JupyterLab in a browser.

The instructor releases, collects, grades and returns work with the commands that `for_instructors` gives.
"""

import contextlib
import re
import sys
import time
from dataclasses import dataclass

import pytest
from selenium.common.exceptions import (
    ElementClickInterceptedException,
    ElementNotInteractableException,
    StaleElementReferenceException,
)
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

from autograder.paths import ROOT
from tests.autograder.essays import ONE_EXERCISE, copy_released
from tests.autograder.with_nbgrader.people import OF_THEIR_OWN, PATIENCE

NOT_YET = (StaleElementReferenceException, ElementClickInterceptedException, ElementNotInteractableException)
HEAD = "def additive_score(query, keys, W_query, W_key, v): return "
SUM = "(query @ W_query.T)[:, None, :] + keys @ W_key.T"
RIGHT, NO_TANH = f"{HEAD}np.tanh({SUM}) @ v", f"{HEAD}({SUM}) @ v"
EXCHANGE = "/srv/attention/exchange"  # in the book
NAMES = [] if OF_THEIR_OWN else ["--any-owner"]  # one system user plays everybody
RUN_SECONDS = 60  # how long running all cells may take before they are run again
FETCHED, SUBMITTED = "#fetched_assignments_list", "#submitted_assignments_list"


def course_of(instructor, exchange):
    """Return a course in ``instructor``'s home that has released one exercise of scoring, also to ``exchange``."""

    course = copy_released("additive_score", ONE_EXERCISE, instructor.home)
    instructor.owns(course.root)
    with course.config.open("a", encoding="utf-8") as config:
        config.write(f'\nc.Exchange.root = "{exchange}"\n')
    exchange.mkdir()
    exchange.chmod(0o1777)  # as in `for_instructors`
    instructor.run("nbgrader", "release_assignment", "scoring", cwd=course.root)
    return course


def settings(exchange, student=""):
    """Return the students' nbgrader_config.py from `for_instructors`, with another ``exchange``.

    Where one system user plays everybody, it must also name the ``student``.
    """
    shown = read_guide_block("nbgrader_config.py")
    assert EXCHANGE in shown
    who = "" if OF_THEIR_OWN else f"import os\nc.CourseDirectory.student_id = {student}\n"
    return shown.replace(EXCHANGE, str(exchange)) + who


def read_guide_block(caption):
    """Return the code block in `for_instructors` with this ``caption``."""
    page = (ROOT / "book" / "for_instructors.md").read_text(encoding="utf-8")
    return re.search(rf"^:caption: {re.escape(caption)}\n\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL)[1]


def collect_grade_and_hand_back(instructor, course, exchange):
    """Do the instructor's part once everybody has handed in; return the output of `collect` and `grade`."""
    command = [sys.executable, "-m", "autograder"]
    here = ["--course", course.root]
    output = instructor.run(*command, "collect", "scoring", exchange / "attention" / "inbound", *here, *NAMES)
    output += instructor.run(*command, "grade", "scoring", *here)
    instructor.run("nbgrader", "release_feedback", "scoring", cwd=course.root)
    return output


@dataclass(frozen=True)
class StudentLab:
    """A student's JupyterLab, in the window that ``browser`` shows."""

    browser: object

    def until(self, find):
        """Wait until ``find`` returns something and return that, retrying while the page changes."""
        return WebDriverWait(self.browser, PATIENCE, ignored_exceptions=NOT_YET).until(lambda _: find())

    def all_seen(self, selector, words=""):
        """Return all visible elements that ``selector`` selects and whose text begins with ``words``."""
        elements = self.browser.find_elements("css selector", selector)
        return [element for element in elements if element.is_displayed() and element.text.strip().startswith(words)]

    def seen(self, selector, words=""):
        """Return the first of ``all_seen``, or None."""
        return next(iter(self.all_seen(selector, words)), None)

    def text(self, selector):
        return self.until(lambda: self.seen(selector)).text

    def click(self, selector, words=""):
        def clicked():
            element = self.seen(selector, words)
            return element and (element.click() or True)

        self.until(clicked)

    def menu(self, name, entry):
        def opened():
            if accept := self.seen(".jp-Dialog button.jp-mod-accept"):  # JupyterLab has opened a dialog by itself
                accept.click()
            item = self.seen(".lm-MenuBar-item", name)
            return item and (item.click() or True)

        self.until(opened)
        self.click(".lm-Menu-item", entry)

    def fetch(self):
        """Fetch the assignment from nbgrader's list, and open its notebook."""
        self.menu("Nbgrader", "Assignment List")
        self.click("#released_assignments_list button", "Fetch")
        self.click(f"{FETCHED} a.assignment-notebooks-link", "scoring")
        self.click(f"{FETCHED} .nested_list_item a", "scoring")
        self.until(lambda: self.seen(".jp-Notebook-ExecutionIndicator[data-status=idle]"))

    def cell(self, words):
        """Return the code cell that contains ``words``; JupyterLab only renders cells near the window."""

        def found():
            cells = self.browser.find_elements("css selector", ".jp-Notebook .jp-CodeCell")
            if here := next((cell for cell in cells if words in cell.text), None):
                return here
            self.browser.execute_script(
                """
                const panel = document.querySelector(".jp-NotebookPanel .jp-WindowedPanel-outer");
                const end = panel.scrollHeight - panel.clientHeight - 1;
                panel.scrollTop = panel.scrollTop >= end ? 0 : panel.scrollTop + panel.clientHeight / 2;
                """
            )
            return None

        return self.until(found)

    def run_all(self, pattern, words):
        """Run all cells, and return the match of ``pattern`` in the cell that contains ``words``.

        Without a match after a while, it runs them again: JupyterLab may have lost the first command.
        """
        for _ in range(PATIENCE // RUN_SECONDS):
            self.menu("Run", "Run All Cells")
            ends = time.monotonic() + RUN_SECONDS
            while time.monotonic() < ends:
                with contextlib.suppress(*NOT_YET):
                    if match := re.search(pattern, self.cell(words).text):
                        return match
                time.sleep(0.2)
        pytest.fail(f"no {pattern!r} in the cell with {words!r}")

    def answer(self, text, before="def additive_score"):
        """Type ``text`` into the cell that contains ``before``, run all cells, save; return the check's output and the receipt."""
        editor = self.cell(before).find_element("css selector", ".cm-content")
        editor.click()
        ActionChains(self.browser).key_down(Keys.CONTROL).send_keys("a").key_up(Keys.CONTROL).send_keys(text).perform()
        self.until(lambda: editor.text == text)
        receipt = self.run_all(r"Code: (\S+)", "# Your receipt")[1]
        check_output = self.cell('check("scoring-additive_score")').text
        self.menu("File", "Save Notebook")
        self.until(lambda: not self.seen(".lm-TabBar-tab.jp-mod-dirty"))
        return check_output, receipt

    def validate(self):
        """Return the text of nbgrader's dialog."""
        self.click("jp-button.validate-button")
        message = self.text(".jp-Dialog-content")
        self.click(".jp-Dialog button.jp-mod-accept")
        self.until(lambda: not self.seen(".jp-Dialog"))
        return message

    def submit(self, count=1):
        """Hand in, for the ``count``-th time."""
        self.click(".lm-DockPanel-tabBar .lm-TabBar-tab", "Assignments")
        self.click(f"{FETCHED} button", "Submit")
        self.until(lambda: len(self.all_seen(f"{SUBMITTED} .nested_list_item")) >= count)

    def return_to_notebook(self):
        self.click(".lm-DockPanel-tabBar .lm-TabBar-tab", "scoring.ipynb")

    def folder(self):
        """Return the path of the folder that the file browser lists."""
        crumbs = self.browser.find_elements("css selector", ".jp-BreadCrumbs-item")
        return crumbs[-1].get_attribute("title") if crumbs else ""

    def feedback(self, number=1):
        """Fetch the feedback, open the page on hand-in ``number`` as a student does, and return its text."""
        self.menu("Nbgrader", "Assignment List")
        self.click(f"{SUBMITTED} button", "Fetch Feedback")
        links = self.until(lambda: self.all_seen(f"{SUBMITTED} a", "(view feedback)")[number - 1 :])
        before = self.folder()
        links[0].click()
        self.until(lambda: self.folder() != before)  # the pages of all hand-ins have the same name
        page = self.until(lambda: self.seen(".jp-DirListing-item", "scoring.html"))
        ActionChains(self.browser).double_click(page).perform()
        self.browser.switch_to.frame(self.until(lambda: self.seen(".jp-HTMLViewer iframe")))
        try:
            return self.until(lambda: self.browser.execute_script("return document.body.innerText"))
        finally:
            self.browser.switch_to.default_content()
