"""The website in a real browser: what a reader taps answers, nothing fails, and no other host is asked."""

import functools
import json
import os
import shutil
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import nbformat
import pytest
from nbgrader.converters import GenerateFeedback
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait
from traitlets.config import Config

from autograder.feedback import harmless
from autograder.notebooks.assemble import source_notebook
from tests.autograder.samples import topic_exercises
from tests.book.test_build import all_pages

WIDTHS = {375: 740, 768: 1024, 1280: 900}  # of the window: its height
PATIENCE = 120  # seconds: machines may be busy
REMEDY = "run `make browser`, or install Chromium and its driver (Debian: apt-get install chromium chromium-driver)."
QUIET = ["--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-sync"]
QUIET += ["--disable-background-networking", "--disable-component-update", "--disable-quic"]


class Handler(SimpleHTTPRequestHandler):
    """Serves the website, and remembers what it could not give."""

    def log_request(self, code="-", size="-"):
        if int(code) >= 400:
            self.server.failures.append(f"{int(code)} {self.path}")

    def log_error(self, *args):
        pass


@pytest.fixture(scope="module")
def server(site):
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=site)) as server:
        server.failures = []
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def address(server):
    return f"http://127.0.0.1:{server.server_port}"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    names = ("chromium", "chromium-browser", "google-chrome")
    program = next(filter(None, map(shutil.which, names)), None)
    driver = shutil.which("chromedriver")
    if not program or not driver:
        pytest.fail(f"Chromium or its driver is not on this machine: {REMEDY}")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    for argument in [*QUIET, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"]:
        options.add_argument(argument)
    if os.geteuid() == 0:
        options.add_argument("--no-sandbox")  # Chromium's own sandbox refuses root; these pages are ours
    browser = webdriver.Chrome(options=options, service=Service(driver))
    browser.set_page_load_timeout(PATIENCE)
    browser.set_script_timeout(PATIENCE)
    yield browser
    browser.quit()


def size(browser, width):
    shape = {"width": width, "height": WIDTHS[width], "deviceScaleFactor": 1, "mobile": width < 992}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", shape)


def until(browser, condition):
    return WebDriverWait(browser, PATIENCE).until(lambda _: condition())


def seen(browser, selector):
    """Return the elements that a reader can see, in the window as it is."""
    return browser.execute_script(
        """
        return [...document.querySelectorAll(arguments[0])].filter((element) => {
          const box = element.getBoundingClientRect();
          return element.checkVisibility({visibilityProperty: true, opacityProperty: true}) && box.width > 0
            && box.height > 0 && box.left >= 0 && box.right <= document.documentElement.clientWidth + 1;
        });
        """,
        selector,
    )


def tap(browser, selector):
    """Tap the one thing to tap there, where it can be seen; something that lies above it would take the tap."""
    (button,) = until(browser, lambda: seen(browser, selector))
    button.click()


def open_page(browser, url):
    """Open a page, and wait until its formulas are typeset, if it has any."""
    browser.get(url)
    browser.execute_async_script(
        """
        const done = arguments[0];
        const ready = () => (window.MathJax?.startup?.promise ?? Promise.resolve()).then(() => document.fonts.ready).then(done);
        document.readyState === "complete" ? ready() : addEventListener("load", ready);
        """
    )


def requests(browser):
    """Return the addresses that the browser has asked for since it was last asked, its own pages left out."""
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    urls = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    return [url for url in urls if urlsplit(url).scheme not in ("data", "blob")]


def complaints(browser):
    return [entry["message"] for entry in browser.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]


@pytest.mark.parametrize("width", [375, 768])
def test_on_a_phone_and_a_tablet_the_menu_opens_and_closes(browser, address, width):
    size(browser, width)
    open_page(browser, f"{address}/book/scoring.html")
    entries = "nav.bd-links a[href='softmax.html']"
    assert not seen(browser, entries)
    tap(browser, "button.primary-toggle")
    until(browser, lambda: seen(browser, entries))
    ActionChains(browser).send_keys(Keys.ESCAPE).perform()
    until(browser, lambda: not seen(browser, entries))
    tap(browser, "button.primary-toggle")
    tap(browser, entries)
    until(browser, lambda: browser.current_url.endswith("/book/softmax.html"))


@pytest.mark.parametrize("width", [375, 768])
def test_on_a_phone_and_a_tablet_on_this_page_opens_leads_on_and_closes(browser, address, width):
    size(browser, width)
    open_page(browser, f"{address}/book/scoring.html")
    entries = "nav.page-toc a[href='#the-idea']"
    assert not seen(browser, entries)
    tap(browser, "button.secondary-toggle")
    until(browser, lambda: seen(browser, entries))
    ActionChains(browser).send_keys(Keys.ESCAPE).perform()
    until(browser, lambda: not seen(browser, entries))
    tap(browser, "button.secondary-toggle")
    tap(browser, entries)
    until(browser, lambda: browser.current_url.endswith("#the-idea") and not seen(browser, entries))


def test_on_a_wide_screen_the_sidebar_goes_and_comes_back(browser, address):
    size(browser, 1280)
    open_page(browser, f"{address}/book/scoring.html")
    entries = "nav.bd-links a[href='softmax.html']"
    assert seen(browser, "nav.page-toc a[href='#the-idea']")
    assert seen(browser, entries)
    tap(browser, "button.primary-toggle")
    until(browser, lambda: not seen(browser, entries))
    tap(browser, "button.primary-toggle")
    until(browser, lambda: seen(browser, entries))


@pytest.mark.parametrize("width", WIDTHS)
def test_there_is_one_way_to_search_and_no_empty_bar(browser, address, width):
    size(browser, width)
    open_page(browser, f"{address}/book/scoring.html")
    assert len(seen(browser, "button.search-button__button, button.search-button")) == 1
    assert not seen(browser, "header.bd-header")


@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_is_no_wider_than_the_window(browser, address, width, site):
    size(browser, width)
    for page in sorted((site / "book").glob("*.html")):
        open_page(browser, f"{address}/book/{page.name}")
        wide = "return document.scrollingElement.scrollWidth - document.documentElement.clientWidth"
        assert browser.execute_script(wide) <= 1, page.name


def test_every_page_is_typeset_without_an_error_and_asks_this_host_only(browser, address, site, server):
    size(browser, 1280)
    requests(browser), complaints(browser), server.failures.clear()
    pages = [str(path.relative_to(site)) for path in sorted(all_pages(site))]
    assert len(pages) > 10
    typeset = 0
    for page in pages:
        open_page(browser, f"{address}/{page}")
        formulas, shown, failed, fonts, barred = browser.execute_script(
            """
            const within = (selector) => document.querySelectorAll(selector).length;
            const failed = within("mjx-merror, [data-mjx-error]");
            const fonts = [...document.fonts].filter((font) => font.status === "error").map((font) => font.family);
            const inline = [...document.querySelectorAll("span.math, span.math > mjx-container")];
            const barred = inline.filter((formula) => formula.offsetHeight > formula.clientHeight + 1).length;
            return [within("span.math, div.math"), within(".math > mjx-container"), failed, fonts, barred];
            """
        )
        assert (shown, failed, fonts, barred) == (formulas, 0, [], 0), page
        typeset += shown
        assert complaints(browser) == [], page
        asked = requests(browser)
        assert asked
        assert [url for url in asked if not url.startswith(f"{address}/")] == [], page
    assert typeset > 500
    assert server.failures == []


def test_the_entrance_leads_to_the_book(browser, address):
    browser.get(f"{address}/")
    until(browser, lambda: browser.current_url == f"{address}/book/intro.html")


def test_a_page_of_feedback_that_is_opened_alone_is_typeset_and_asks_nobody(browser, tmp_path):
    config = Config()
    harmless.configure(config)
    app = GenerateFeedback(config=config)
    notebook = source_notebook("scoring", topic_exercises("scoring"))
    notebook.cells.append(nbformat.v4.new_markdown_cell("$$\\sum_{j=1}^{T_x} \\alpha_{ij} = 1$$"))
    about = {"notebook": "scoring", "score": 1.0, "max_score": 24.0, "late_penalty": 0.0}
    for cell in notebook.cells:
        if cell.metadata.get("nbgrader", {}).get("grade"):
            cell.metadata.nbgrader["score"] = 0.0
    exporter = app.exporter_class(parent=app, config=app.config)
    html, _ = exporter.from_notebook_node(notebook, resources={"nbgrader": about})
    page = tmp_path / "scoring.html"
    page.write_text(html, encoding="utf-8")

    requests(browser), complaints(browser)
    for width in WIDTHS:
        size(browser, width)
        open_page(browser, page.as_uri())
        boxes = browser.execute_script(
            "return [...document.querySelectorAll('math')].map((math) => math.getBoundingClientRect().height)"
        )
        assert len(boxes) > 5
        assert min(boxes) > 5
        wide = "return document.scrollingElement.scrollWidth - document.documentElement.clientWidth"
        assert browser.execute_script(wide) <= 1, width
    assert complaints(browser) == []
    assert set(requests(browser)) == {page.as_uri()}
