"""The website in a real browser: taps have an effect, nothing fails, and no other host is contacted."""

import contextlib
import functools
import gzip
import io
import itertools
import json
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

import matplotlib.pyplot as plt
import numpy as np
import pytest
from fontTools.ttLib import TTFont
from selenium.common.exceptions import JavascriptException
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

from autograder import formulas
from benchmarks.site import PATIENCE_SECONDS, chromium
from solutions import answer_key
from tests.book.test_build import all_pages
from tests.book.test_notation import CHAPTERS

pytestmark = pytest.mark.e2e

MENU, ON_THIS_PAGE = "nav.bd-links a[href='softmax.html']", "nav.page-toc a[href='#three-ways-to-score']"
WIDTHS = {320: 640, 375: 740, 768: 1024, 1280: 900}  # width of the window: its height


class RecordingHandler(SimpleHTTPRequestHandler):
    """Serves the website, and records failed requests."""

    def log_request(self, code="-", size="-"):
        if int(code) >= 400:
            self.server.failures.append(f"{int(code)} {self.path}")

    def log_error(self, *args):
        pass


READINGS = []  # what `visits` reads: functions of the browser, their pages (none are all) and widths of the window


def reads(names="", widths=(1280,)):
    """Let `visits` call a function of the browser, which leaves a page as it is, on pages of the book."""

    def register(read):
        READINGS.append((read, [f"book/{name}.html" for name in names.split()], widths))
        return read

    return register


@contextlib.contextmanager
def serving(folder):
    """Serve a folder as a website while the context lasts."""
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(RecordingHandler, directory=folder)) as server:
        server.failures = []
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(scope="module")
def server(site):
    with serving(site) as server:
        yield server


@pytest.fixture(scope="module")
def address(server):
    return f"http://127.0.0.1:{server.server_port}"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with chromium(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


def size(browser, width):
    shape = {"width": width, "height": WIDTHS[width], "deviceScaleFactor": 1, "mobile": width < 992}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", shape)


def draw_anew(browser):
    """Wait until the figures of a page have reacted to another size of the window."""
    browser.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")


def keep_nothing(browser, wanted):
    """Switch the browser's cache off if ``wanted``, and on again otherwise."""
    browser.execute_cdp_cmd("Network.setCacheDisabled", {"cacheDisabled": wanted})


def open_untouched(browser, page, name, width):
    """Open ``page`` at its figure ``name``, nothing of which is in the browser's cache; return the figure's element."""
    size(browser, width)
    browser.get("about:blank")
    keep_nothing(browser, wanted=True)
    browser.get(f"{page}#figure-{name}")
    until(browser, lambda: browser.execute_script("return document.readyState === 'complete'"))
    keep_nothing(browser, wanted=False)
    requests(browser)
    return browser.find_element(By.TAG_NAME, f"{name}-figure")


def until(browser, condition):
    return WebDriverWait(browser, PATIENCE_SECONDS).until(lambda _: condition())


def seen(browser, selector):
    """Return the elements that a reader can see in the window as it is."""
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
    """Tap the only visible element for ``selector``; an element on top of it would intercept the tap."""
    (button,) = until(browser, lambda: seen(browser, selector))
    button.click()


def open_page(browser, url):
    """Open a page, and wait for its fonts."""
    browser.get(url)
    browser.execute_async_script(
        """
        const done = arguments[0];
        const ready = () => document.fonts.ready.then(done);
        document.readyState === "complete" ? ready() : addEventListener("load", ready);
        """
    )


def requests(browser):
    """Return the addresses that the browser has requested since the last call, except its own pages.

    Its start page is one of those, and may still be loading while the first test runs.
    """
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    urls = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    return [url for url in urls if urlsplit(url).scheme not in ("data", "blob", "chrome", "chrome-untrusted")]


def complaints(browser):
    return [entry["message"] for entry in browser.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]


@pytest.mark.parametrize("width", [375, 768])
@pytest.mark.parametrize(
    ("toggle", "entry", "reached"),
    [("primary", MENU, "/book/softmax.html"), ("secondary", ON_THIS_PAGE, "#three-ways-to-score")],
    ids=["menu", "on this page"],
)
def test_on_a_phone_and_a_tablet_a_menu_opens_closes_and_leads_on(browser, address, width, toggle, entry, reached):
    size(browser, width)
    open_page(browser, f"{address}/book/scoring.html")
    assert not seen(browser, entry)
    tap(browser, f"button.{toggle}-toggle")
    until(browser, lambda: seen(browser, entry))
    ActionChains(browser).send_keys(Keys.ESCAPE).perform()
    until(browser, lambda: not seen(browser, entry))
    tap(browser, f"button.{toggle}-toggle")
    tap(browser, entry)
    until(browser, lambda: browser.current_url.endswith(reached) and not seen(browser, entry))


def test_on_a_phone_an_entry_that_opens_in_another_tab_leaves_the_menu_open(browser, address):
    size(browser, 375)
    open_page(browser, f"{address}/book/scoring.html")
    tap(browser, "button.primary-toggle")
    (entry,) = until(browser, lambda: seen(browser, MENU))
    tab = browser.current_window_handle
    ActionChains(browser).key_down(Keys.CONTROL).click(entry).key_up(Keys.CONTROL).perform()
    until(browser, lambda: len(browser.window_handles) == 2)
    (opened,) = set(browser.window_handles) - {tab}
    browser.switch_to.window(opened)
    browser.close()
    browser.switch_to.window(tab)
    assert seen(browser, MENU) == [entry]


def test_in_a_wide_window_the_menu_has_the_place_of_the_bar_and_its_switch(browser, address):
    size(browser, 1280)
    open_page(browser, f"{address}/book/scoring.html")
    assert seen(browser, ON_THIS_PAGE)
    assert seen(browser, MENU)
    assert not seen(browser, ".bd-header-article")
    mode = "return document.documentElement.dataset.mode"
    before = browser.execute_script(mode)
    for _ in range(3):  # light, dark, and as the system is
        tap(browser, ".bd-sidebar-primary .theme-switch-button")
    assert browser.execute_script(mode) == before
    tap(browser, ".bd-sidebar-primary .theme-switch-button")
    assert browser.execute_script(mode) != before
    browser.execute_script("localStorage.clear()")


def test_a_page_is_printed_in_light_colours_and_then_has_its_own_again(browser, address):
    size(browser, 1280)
    open_page(browser, f"{address}/book/scoring.html")
    browser.execute_script("document.documentElement.dataset.theme = 'dark'")
    fire = "dispatchEvent(new Event(arguments[0])); return document.documentElement.dataset.theme"
    themes = [browser.execute_script(fire, event) for event in ("beforeprint", "beforeprint", "afterprint")]
    assert themes == ["light", "light", "dark"]  # a preview may be drawn twice
    browser.execute_script("document.documentElement.dataset.theme = 'light'")
    assert [browser.execute_script(fire, event) for event in ("beforeprint", "afterprint")] == ["light", "light"]


@reads("scoring", WIDTHS)
def tools(browser):
    """Return how many switches, ways to search and bars above the page a reader sees."""
    searches = "button.search-button__button, button.search-button"
    return [len(seen(browser, selector)) for selector in (".theme-switch-button", searches, "header.bd-header")]


@pytest.mark.parametrize("width", WIDTHS)
def test_there_is_one_switch_between_light_and_dark(visits, width):
    ((switches, _, _),) = readings(visits, tools, width).values()
    assert switches == 1


@reads(widths=WIDTHS)
def overhang(browser):
    """Return by how many pixels the page is wider than the window."""
    return browser.execute_script("return document.scrollingElement.scrollWidth - document.documentElement.clientWidth")


def lay_out_all(browser):
    """Make the browser lay out sections outside the window too, which it otherwise defers, and change sizes at once."""
    style = "<style>section {content-visibility: visible !important} * {transition: none !important}</style>"
    browser.execute_script("document.head.insertAdjacentHTML('beforeend', arguments[0])", style)


@reads(widths=WIDTHS)
def cut_off(browser):
    """Return the formulas that stick out of the page's text, except those in a table, which scrolls."""
    return browser.execute_script(
        """
        return [...document.querySelectorAll(".math")].filter((formula) => {
          if (formula.closest(".pst-scrollable-table-container")) return false;
          const line = formula.querySelector(".katex-display");
          if (innerWidth > 320 && line && line.scrollWidth > line.clientWidth + 1) return true;  // there, one scrolls
          const around = formula.parentElement.closest("div, section, p, li, dd").getBoundingClientRect();
          return [...formula.querySelectorAll(".katex-base")].some((part) => {
            const box = part.getBoundingClientRect();
            return box.right > around.right + 1 || box.left < around.left - 1;
          });
        }).map((formula) => formula.querySelector("math").textContent);
        """
    )


@pytest.mark.parametrize("width", WIDTHS)
def test_there_is_one_way_to_search_and_no_empty_bar(visits, width):
    ((_, searches, bars),) = readings(visits, tools, width).values()
    assert (searches, bars) == (1, 0)


@pytest.fixture(scope="module")
def visits(browser, address, site, server):
    """What the browser reports on every page, each opened once: how it is typeset, what it requests, all `READINGS`."""
    keep_nothing(browser, True)  # or fonts of the page before count as asked for
    browser.get("about:blank")
    requests(browser), complaints(browser), server.failures.clear()
    by_page = {}
    for page in sorted(str(path.relative_to(site)) for path in all_pages(site)):
        size(browser, 1280)
        open_page(browser, f"{address}/{page}")
        formulas, shown, fonts, needs = browser.execute_script(
            """
            const within = (selector) => document.querySelectorAll(selector).length;
            const fonts = [...document.fonts].filter((font) => font.status === "error").map((font) => font.family);
            const needs = performance.getEntriesByType("resource").map((entry) => entry.name);
            const formulas = within("span.math, div.math:not(.side-by-side), .side-by-side > *");
            return [formulas, within(".math > .katex, .math > .katex-display"), fonts, needs];
            """
        )
        seen_there = {"formulas": formulas, "shown": shown, "fonts": fonts, "needs": [browser.current_url, *needs]}
        seen_there |= {"complaints": complaints(browser), "asked": requests(browser), "failures": list(server.failures)}
        lay_out_all(browser)
        for width in WIDTHS if page.startswith("book/") else ():  # the entrance has redirected by now
            size(browser, width)
            draw_anew(browser)
            for read, pages, widths in READINGS:
                if width in widths and page in (pages or [page]):
                    try:
                        seen_there[read, width] = read(browser)
                    except JavascriptException as error:
                        seen_there[read, width] = error
        by_page[page] = seen_there
    keep_nothing(browser, False)
    assert len(by_page) > 10
    assert set().union(*(pages for _, pages, _ in READINGS)) <= set(by_page)
    return by_page


def readings(visits, read, width=1280):
    """Return ``{page: what a function of `READINGS` read there}``."""
    found = {page: visit[read, width] for page, visit in visits.items() if (read, width) in visit}
    assert {page: each.msg for page, each in found.items() if isinstance(each, JavascriptException)} == {}
    return found


@pytest.mark.parametrize("width", WIDTHS)
def test_no_page_is_wider_than_the_window(visits, width):
    wide = readings(visits, overhang, width)
    assert len(wide) > 10
    assert max(wide.values()) <= 1, wide


@pytest.mark.parametrize("width", [320, 375])
def test_the_buttons_above_the_text_fit_at_twice_the_size_of_text(browser, address, width):
    size(browser, width)
    open_page(browser, f"{address}/book/scoring.html")
    browser.execute_script("document.documentElement.style.fontSize = '200%'")
    boxes = browser.execute_script(
        """
        const shown = [...document.querySelectorAll(".bd-header-article .btn")].filter((button) => button.checkVisibility());
        return shown.map((button) => button.getBoundingClientRect().toJSON());
        """
    )
    assert len(boxes) >= 4
    for box in boxes:
        assert 0 <= box["left"] < box["right"] <= width, boxes
        assert min(box["width"], box["height"]) >= 24, boxes


@pytest.mark.parametrize("width", WIDTHS)
def test_every_formula_is_seen_whole_without_scrolling(visits, width):
    cut = readings(visits, cut_off, width)
    assert len(cut) > 10
    assert {page: tex for page, tex in cut.items() if tex} == {}


@reads(widths=[375])
def lettering(browser):
    return browser.execute_script(
        """
        return [...document.querySelectorAll(".picture")].map((picture) => {
          const svgs = [...picture.querySelectorAll("svg")].filter((svg) => svg.checkVisibility());
          const letters = svgs.flatMap((svg) => {
            const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
            return [...svg.querySelectorAll("text, tspan")].filter((each) => each.textContent.trim())
              .map((each) => [scale * parseFloat(getComputedStyle(each).fontSize), each.getBoundingClientRect()]);
          });
          const around = picture.getBoundingClientRect();
          return {
            drawn: svgs.length,
            smallest: Math.min(...letters.map(([size]) => size)),
            overhang: Math.max(...letters.map(([, box]) => Math.max(box.right - around.right, around.left - box.left))),
          };
        });
        """
    )


def test_the_letters_of_every_picture_are_large_enough_and_whole_on_a_phone(visits):
    seen_there = readings(visits, lettering, 375)
    assert sum(map(len, seen_there.values())) > 10
    for page, pictures in seen_there.items():
        for picture in pictures:
            assert picture["drawn"] == 1, page
            assert picture["smallest"] >= 11, (page, picture)
            assert picture["overhang"] <= 1, (page, picture)


@reads("spelling the_paper whole_model for_instructors", [375, 1280])
def cut_code(browser):
    return browser.execute_script(
        """
        const folded = [...document.querySelectorAll("details:not([open])")];
        folded.forEach((each) => (each.open = true));
        const blocks = [...document.querySelectorAll("div.highlight pre")];
        const cut = blocks.filter((one) => one.scrollWidth > one.clientWidth + 1).map((one) => one.textContent);
        folded.forEach((each) => (each.open = false));
        return [blocks.length, cut];
        """
    )


@pytest.mark.parametrize("width", [375, 1280])
def test_no_line_of_code_is_cut_off_or_has_to_be_scrolled_to(visits, width):
    for page, (blocks, cut) in readings(visits, cut_code, width).items():
        assert blocks > 5, page
        assert cut == [], page


@reads("softmax capstone for_students")
def letters_a_line(browser):
    return browser.execute_script(
        """
        const length = (part) => part.textContent.length;
        const letters = (one) => [...one.querySelectorAll(".cited")].reduce((sum, beside) => sum - length(beside), length(one));
        return [...document.querySelectorAll("article section > p")].slice(0, 20).filter((one) => letters(one) > 250)
          .map((one) => letters(one) * parseFloat(getComputedStyle(one).lineHeight) / one.getBoundingClientRect().height);
        """
    )


def test_lines_of_text_have_about_70_characters(visits):
    for page, lengths in readings(visits, letters_a_line).items():
        assert len(lengths) > 2, page
        assert 58 < sum(lengths) / len(lengths) < 70, (page, lengths)


@reads("output_layer")
def text_widths(browser):
    return browser.execute_script(
        """
        const shown = [...document.querySelectorAll(".bd-article section > p")].filter((text) => !text.closest(".exercise"));
        return [...shown, ...document.querySelectorAll(".exercise-content > p")].map((text) => text.clientWidth);
        """
    )


def test_an_exercise_is_as_wide_as_other_text(visits):
    (widths,) = readings(visits, text_widths).values()
    assert {*widths[-20:]} == {max(widths)} == {608}  # 38rem


@reads("output_layer capstone for_instructors")
def right_edges(browser):
    return browser.execute_script(
        """
        const among = (part) => `.bd-article section > ${part}, .bd-article .cell > ${part}`;
        const edges = (kind, selector) => [...document.querySelectorAll(selector)].map((part) => part.getBoundingClientRect())
          .filter((box) => box.width).map((box) => [kind, Math.round(box.right)]);
        const parts = [".cell_input", "div.highlight", "div.math", "div.exercise"].map((part) => [part, among(part)]);
        return [["text", ".bd-article > section > section > p:not(.symbols-of)"], ...parts].flatMap((each) => edges(...each));
        """
    )


def test_what_is_set_among_the_text_ends_where_it_ends(visits):
    edges = {(part, right) for found in readings(visits, right_edges).values() for part, right in found}
    assert len(edges) > 3
    assert len({right for _, right in edges}) == 1, edges


@pytest.mark.parametrize("width", [375, 1280])
def test_a_page_is_as_long_at_first_as_when_all_of_it_is_laid_out(browser, address, width):
    size(browser, width)
    for name in ("capstone", "notation", "whole_model"):
        browser.get(f"{address}/book/{name}.html")
        height = "return document.documentElement.scrollHeight"
        first = browser.execute_script(height)
        lay_out_all(browser)
        assert 0.75 < first / browser.execute_script(height) < 1.25, name


@reads("output_layer")
def core_path(browser):
    return browser.execute_script(
        """
        const title = document.querySelector(".exercise.core-path > .admonition-title");
        const mark = getComputedStyle(title, "::after");
        return [mark.content, mark.position, title.getBoundingClientRect().height];
        """
    )


def test_the_mark_of_the_core_path_stands_after_the_title(visits):
    (shown,) = readings(visits, core_path).values()
    assert shown[:2] == ['" core\u00a0path"', "static"]
    assert shown[2] < 40  # one line


@reads("scoring", [375, 1280])
def side_by_side(browser):
    return browser.execute_script(
        """
        const blocks = [...document.querySelectorAll("div.side-by-side")], parts = blocks.flatMap((block) => [...block.children]);
        const four = [...blocks.find((block) => block.children.length === 4).children];
        return [four.map((part) => part.getBoundingClientRect()).map((box) => [box.y, box.x, box.height]),
                parts.filter((part) => part.scrollWidth > part.clientWidth).map((part) => part.textContent)];
        """
    )


@pytest.mark.parametrize("width", [375, 1280])
def test_equations_side_by_side_keep_their_order_and_break_between_them(visits, width):
    ((places, scrolling),) = readings(visits, side_by_side, width).values()
    assert sorted(places) == places
    assert len({y for y, _, _ in places}) == (1 if width > 1000 else 2)
    assert len({height for _, _, height in places}) == 1  # none breaks within
    assert scrolling == []


def test_beside_a_long_page_the_contents_follow_the_reader(browser, address):
    size(browser, 1280)
    browser.get(f"{address}/book/scoring.html#exercises")
    here = "[...document.querySelectorAll('nav.page-toc a.active')].pop()"
    until(browser, lambda: browser.execute_script(f"return {here}?.hash === '#exercises'"))
    box = f"(({{top, bottom}}) => top >= 0 && bottom <= innerHeight)({here}.getBoundingClientRect())"
    until(browser, lambda: browser.execute_script(f"return {box}"))


@reads("scoring", WIDTHS)
def steps(browser):
    return browser.execute_script(
        """const box = (part) => part.getBoundingClientRect();
        const named = (step) => { const range = document.createRange(); range.selectNodeContents(step); return box(range); };
        const steps = [...document.querySelectorAll(".steps a")];
        const dot = (step) => box(step).left + parseFloat(getComputedStyle(step, "::before").left);
        return [steps.map((step) => [dot(step), box(step).top]), box(document.querySelector(".bd-header-article")).bottom,
                steps.map(named).map(({left, right, top, bottom}) => [left, right, top, bottom])]"""
    )


@pytest.mark.parametrize("width", WIDTHS)
def test_the_steps_of_attention_are_as_far_from_each_other_and_clear_of_the_bar(visits, width):
    ((dots, bar, names),) = readings(visits, steps, width).values()
    for (left, right, top, bottom), other in itertools.combinations(names, 2):
        assert right < other[0] or bottom <= other[2] or other[3] <= top, (left, other)
    assert all(right <= width for _, right, _, _ in names)
    apart = np.diff([left for left, _ in dots])
    assert len(apart) == 6
    assert apart.max() - apart.min() < 2
    assert min(top for _, top in dots) >= bar + 12


@pytest.mark.parametrize("width", [1280, 1920])
def test_the_contents_mark_the_section_that_is_read_wherever_a_reader_scrolls(browser, address, width):
    shape = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", shape)
    open_page(browser, f"{address}/book/scoring.html")
    marked = "return [...document.querySelectorAll('nav.page-toc .active')].map((link) => link.hash)"
    scroll = "scrollBy({top: arguments[0], behavior: 'instant'})"
    read = """const parts = document.elementsFromPoint(document.querySelector("article").getBoundingClientRect().left + 60, 140);
      const link = (part) => document.querySelector(`nav.page-toc a[href="#${part.id}"]`);
      return parts.filter((part) => part.id && link(part)).map((part) => "#" + part.id)[0]"""
    seen_sections = set()
    for distance in (3400, 7000, -3000, 12_000, -9000):
        browser.execute_script(scroll, distance)
        until(browser, lambda: browser.execute_script(marked) == [browser.execute_script(read)])
        seen_sections.add(browser.execute_script(read))
    assert len(seen_sections) > 3
    browser.execute_script("scrollTo({top: 1e6, behavior: 'instant'})")
    until(browser, lambda: browser.execute_script(marked) == ["#sources"])


def test_the_search_stays_in_reach_above_a_menu_that_was_scrolled(browser, address):
    size(browser, 1280)
    browser.get(f"{address}/book/softmax.html")
    browser.execute_script("document.querySelector('.bd-sidebar-primary').scrollTo(0, 1000)")
    until(
        browser, lambda: browser.execute_script("return document.querySelector('.bd-sidebar-primary').scrollTop > 50")
    )
    (search,) = seen(browser, ".bd-sidebar-primary .search-button-field")
    assert 0 <= search.rect["y"] - browser.execute_script("return scrollY") < 100


def test_a_picture_takes_its_colours_from_the_mode_and_its_font_from_its_caption(browser, address):
    size(browser, 1280)
    open_page(browser, f"{address}/book/softmax.html")
    looks = []
    for mode in ("light", "dark"):
        browser.execute_script("document.documentElement.dataset.theme = arguments[0]", mode)
        looks.append(
            browser.execute_script(
                """
                const [caption, page] = ["figcaption p", "article > section > p"].map((part) =>
                  getComputedStyle(document.querySelector(part)));
                const [line, text] = [".wide path[style*='--figure-1']", ".wide text"].map((part) =>
                  getComputedStyle(document.querySelector(`.picture ${part}`)));
                return [line.stroke, text.fill, text.fontFamily === caption.fontFamily, text.fill === page.color];
                """
            )
        )
    (light_line, light_text, *agree), (dark_line, dark_text, *agree_too) = looks
    assert light_line != dark_line
    assert light_text != dark_text
    assert agree == agree_too == [True, True]


def test_a_formula_without_room_scrolls_by_itself_and_shows_that_it_does(browser, address):
    size(browser, 320)
    open_page(browser, f"{address}/book/scoring.html")
    hidden, attached = browser.execute_script(
        """
        const formula = document.querySelector("div.math:not(.side-by-side):has(.mtable)");
        formula.style.width = "1em";
        const scrolls = formula.querySelector(".katex-display");
        return [scrolls.scrollWidth - scrolls.clientWidth, getComputedStyle(scrolls).backgroundAttachment];
        """
    )
    assert hidden > 20
    assert attached == "local, local, scroll, scroll"  # the covers move with the formula, the shadows stay
    assert overhang(browser) <= 1


def test_on_a_phone_code_shows_that_it_goes_on_and_can_be_copied_without_hovering(browser, address):
    size(browser, 375)
    browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": True})
    open_page(browser, f"{address}/book/for_contributors.html")
    shown = browser.execute_script(
        """
        const code = [...document.querySelectorAll("div.highlight pre")].find((pre) => pre.checkVisibility());
        const button = code.closest("div.highlight").querySelector("button.copybtn");
        return [getComputedStyle(code).backgroundAttachment, getComputedStyle(button).opacity];
        """
    )
    browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": False})
    assert shown == ["local, local, scroll, scroll, scroll", "1"]


COVERS_ARE_OF_THE_GROUND = """
const pen = Object.assign(document.createElement("canvas"), {width: 1, height: 1}).getContext("2d", {willReadFrequently: true});
const mixed = (colours) => {
  for (const colour of ["#fff", ...colours]) {
    pen.fillStyle = colour;
    pen.fillRect(0, 0, 1, 1);
  }
  return [...pen.getImageData(0, 0, 1, 1).data];
};
const found = {};
for (const each of document.querySelectorAll(arguments[0])) {
  const cover = each.appendChild(document.createElement("i")), behind = [];
  cover.style.background = "var(--ground)";
  const ground = mixed([getComputedStyle(cover).backgroundColor]);
  cover.remove();
  for (let around = each.parentElement; around; around = around.parentElement)
    behind.unshift(getComputedStyle(around).backgroundColor);
  const there = mixed(behind), kind = each.closest(".exercise") ? "exercise" : each.closest(".admonition") ? "admonition" : "text";
  (found[kind] ??= []).push(Math.max(...there.map((part, n) => Math.abs(part - ground[n]))));
}
return found;
"""


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_what_covers_the_shadows_has_the_colour_of_what_lies_behind(browser, address, mode):
    size(browser, 375)
    apart = {}
    for page in ("softmax", "decoder_fusion", "from_bahdanau_to_transformers"):
        open_page(browser, f"{address}/book/{page}.html")
        browser.execute_script("document.documentElement.dataset.theme = arguments[0]", mode)
        for scrolls in ("div.math > .katex-display", ".pst-scrollable-table-container"):
            by_kind = browser.execute_script(COVERS_ARE_OF_THE_GROUND, f".bd-content {scrolls}")
            for kind, differences in by_kind.items():
                apart.setdefault((scrolls, kind), []).extend(differences)
    assert {kind for _, kind in apart} >= {"exercise", "text"}
    assert min(map(len, apart.values())) > 0
    assert max(map(max, apart.values())) <= 2, apart  # of 255: parts are rounded


@reads("notation scoring softmax context for_instructors from_bahdanau_to_transformers the_paper", WIDTHS)
def torn(browser):
    return browser.execute_script(
        """
        const lines = (element) => {
          const range = document.createRange();
          range.selectNodeContents(element);
          return new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size;
        };
        const found = {
          names: [...document.querySelectorAll(".bd-content :is(td, th) code .pre")].filter((name) => lines(name) > 1),
          signs: [...document.querySelectorAll(".together")].filter((both) => {
            const last = [...both.querySelectorAll(".katex-base")].at(-1), range = document.createRange();
            range.selectNodeContents(both.lastChild);
            return last && range.getBoundingClientRect().top > last.getBoundingClientRect().bottom;
          }),
          formulas: [...document.querySelectorAll(".math.whole")].filter((formula) => {
            const parts = [...formula.querySelectorAll(".katex-base")].map((part) => part.getBoundingClientRect());
            return parts.some((part) => part.top >= parts[0].bottom);
          }),
          citations: [...document.querySelectorAll("p > a.footnote-reference")].filter((reference) => {
            const before = reference.previousSibling, range = document.createRange();
            if (before?.nodeType !== Node.TEXT_NODE || before.length < 3) return false;
            range.setStart(before, before.length - 2);
            range.setEnd(before, before.length - 1);
            return reference.getBoundingClientRect().top >= range.getBoundingClientRect().bottom;
          }),
          options: [...document.querySelectorAll(".bd-content p > code .pre, .bd-content li > code .pre")].filter(
            (name) => name.textContent.length < 24 && lines(name) > 1),
          errata: [...document.querySelectorAll('.bd-content a[href*="errata.html#"]')].filter((number) => lines(number) > 1),
          intervals: [...document.querySelectorAll(".together:not(:has(.math))")].filter((interval) => lines(interval) > 1),
          pairs: [...document.querySelectorAll(".moving .pair")].filter((pair) => innerWidth > 320 && lines(pair) > 1),
          ways: [...document.querySelectorAll(".prev-next-area a")].filter((way) => {
            const box = way.getBoundingClientRect(), text = document.querySelector("h1").getBoundingClientRect();
            return box.left < text.left - 1 || box.right > text.right + 1 || way.scrollWidth > way.clientWidth;
          }),
        };
        return Object.fromEntries(Object.entries(found).map(([kind, each]) => [kind, each.map((one) => one.textContent)]));
        """
    )


@pytest.mark.parametrize("width", WIDTHS)
def test_no_name_is_torn_no_comma_begins_a_line_and_every_way_on_keeps_to_the_text(visits, width):
    found = readings(visits, torn, width)
    assert {f"{page}, {kind}": texts for page, kinds in found.items() for kind, texts in kinds.items() if texts} == {}


def test_fields_beside_each_other_are_on_one_line(browser, address):
    size(browser, 1280)
    open_page(browser, f"{address}/book/capstone.html")
    fields = "[...document.querySelectorAll('capstone-figure :is([name=sentence], button)')]"
    boxes = until(
        browser, lambda: browser.execute_script(f"return {fields}.map((field) => field.getBoundingClientRect())")
    )
    assert len(boxes) == 2
    assert boxes[0]["x"] != boxes[1]["x"]
    assert (boxes[0]["y"], boxes[0]["height"]) == (boxes[1]["y"], boxes[1]["height"])


def test_on_a_phone_no_letter_of_code_lies_behind_the_button_that_copies_it(browser, address):
    size(browser, 375)
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"features": [{"name": "hover", "value": "none"}, {"name": "pointer", "value": "coarse"}]},
    )
    behind, beside, with_room = [], [], {}
    for page in ("the_paper", "whole_model", "for_instructors"):
        open_page(browser, f"{address}/book/{page}.html")
        with_room |= browser.execute_script(  # measured before there is a button, so that nothing moves when it appears
            """
            return Object.fromEntries([...document.querySelectorAll("div.highlight > pre")].map((pre) => [
              pre.textContent, [Boolean(pre.parentElement.querySelector("button.copybtn")),
                                getComputedStyle(pre, "::before").float === "right"]]));
            """
        )
        lay_out_all(browser)
        behind += browser.execute_script(
            """
            return [...document.querySelectorAll("div.highlight:has(button.copybtn)")].map((code) => {
              const { left, bottom } = code.querySelector("button.copybtn").getBoundingClientRect();
              const letters = document.createTreeWalker(code.querySelector("pre"), NodeFilter.SHOW_TEXT), range = new Range();
              let behind = 0;
              while (letters.nextNode()) {
                if (!letters.currentNode.data.trim()) continue;
                range.selectNodeContents(letters.currentNode);
                behind += [...range.getClientRects()].filter((box) => box.right > left + 1 && box.top < bottom - 1).length;
              }
              return behind;
            });
            """
        )
        beside += browser.execute_script(  # a long first line is not below the button
            """
            const top = (part) => part.getBoundingClientRect().top;
            return [...document.querySelectorAll("div.highlight:has(button.copybtn) pre > .long-line:first-child")]
              .map((line) => top(line) - top(line.closest("pre")));
            """
        )
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    on_paper = browser.execute_script(
        """
        return [...document.querySelectorAll("div.highlight > pre")]
          .map((pre) => getComputedStyle(pre, "::before").float);
        """
    )
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
    assert set(on_paper) == {"none"}
    assert len(behind) >= 3
    assert set(behind) == {0}
    assert len(beside) >= 3
    assert max(beside) < 24
    assert {has_button for has_button, _ in with_room.values()} == {True, False}
    assert [code for code, (has_button, has_room) in with_room.items() if has_button != has_room] == []


def test_on_paper_the_roots_and_arrows_of_formulas_are_drawn(browser, address):
    size(browser, 1280)
    heights = {}
    for page in ("encoder", "from_bahdanau_to_transformers"):
        open_page(browser, f"{address}/book/{page}.html")
        for media in ("screen", "print"):
            browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media})
            heights[page, media] = browser.execute_script(
                """
                return [...document.querySelectorAll(".katex svg")].map((drawn) => drawn.getBoundingClientRect().height
                  / parseFloat(getComputedStyle(drawn).fontSize));
                """
            )
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
        assert len(heights[page, "screen"]) > 3
        assert heights[page, "print"] == pytest.approx(heights[page, "screen"], rel=0.05)


@reads("intro softmax capstone")
def right_ends(browser):
    return browser.execute_script(
        """
        const right = (part) => part.getBoundingClientRect().right;
        const text = right(document.querySelector("article section > p"));
        const parts = "figure, figcaption, .cell_input, div.math, .self-check, .contents, .steps, .prev-next-area";
        return [...document.querySelectorAll(`.bd-content :is(${parts})`)].filter((part) => part.checkVisibility())
          .map((part) => Math.round(right(part) - text));
        """
    )


def test_all_ends_where_the_text_ends_or_where_its_margin_does(visits):
    ends = {page: set(found) for page, found in readings(visits, right_ends).items()}
    wide = max(ends["book/intro.html"])
    assert wide > 300
    assert set().union(*ends.values()) == {0, wide}, ends


@reads("intro")
def forms_of_numbers(browser):
    return browser.execute_script(
        """
        return ["a.footnote-reference", ".cited", ".footnote .label"].map((kind) => {
          const number = document.querySelector(`article ${kind}`), { fontWeight, verticalAlign } = getComputedStyle(number);
          return [number.textContent.match(/^\\[\\d+\\]/)?.[0], fontWeight, verticalAlign];
        });
        """
    )


def test_the_number_of_a_source_has_one_form(visits):
    (forms,) = readings(visits, forms_of_numbers).values()
    assert forms == [["[1]", "400", "baseline"]] * 3


@reads("capstone spelling for_instructors notation output_layer")
def tables(browser):
    return browser.execute_script(
        """
        const right = (part) => part.getBoundingClientRect().right, text = document.querySelector("article section > p");
        const cut = [...document.querySelectorAll(".pst-scrollable-table-container")].filter((one) =>
          one.checkVisibility() && one.scrollWidth > one.clientWidth).map((one) => one.textContent.slice(0, 40));
        return [cut, [...document.querySelectorAll("article table.table")].map((table) => right(table) - right(text))];
        """
    )


def test_no_table_of_results_is_cut_in_a_wide_window_and_most_end_where_text_ends(visits):
    found = readings(visits, tables)
    assert {page: cut for page, (cut, _) in found.items() if cut} == {}
    ends = [end for _, there in found.values() for end in there]
    assert max(ends) <= 64  # a figure's width
    assert sum(abs(end) < 1 for end in ends) > len(ends) / 2


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_links_have_one_colour_and_tables_rules_but_neither_stripes_nor_columns(browser, address, mode):
    size(browser, 1280)
    open_page(browser, f"{address}/book/notation.html")
    browser.execute_script("document.documentElement.dataset.theme = arguments[0]", mode)
    colours = """return ["article p > a", "article table a", ".bd-sidenav a.current"].map((link) =>
      getComputedStyle(document.querySelector(link)).color)"""
    assert len(set(browser.execute_script(colours))) == 1
    styles = """return [...document.querySelectorAll("article table.table :is(tr, td, th)")].map((part) =>
      [getComputedStyle(part).backgroundColor, getComputedStyle(part).borderLeftWidth].join())"""
    assert set(browser.execute_script(styles)) == {"rgba(0, 0, 0, 0),0px"}
    rules = """const width = (part) => getComputedStyle(part).borderBottomColor, table = document.querySelector("article table");
      return ["thead tr", "tbody tr:first-child td"].map((part) => width(table.querySelector(part)))"""
    head, row = browser.execute_script(rules)
    assert head != row


def test_without_a_menu_beside_the_text_the_bar_of_buttons_stays_in_reach(browser, address):
    size(browser, 768)
    open_page(browser, f"{address}/book/scoring.html")
    browser.execute_script("scrollTo({top: 2000, behavior: 'instant'})")
    assert seen(browser, ".bd-header-article button.primary-toggle")
    bar = "return document.querySelector('.bd-header-article').getBoundingClientRect().bottom"
    assert browser.execute_script(bar) > 0


@pytest.mark.parametrize("width", [375, 1280])
def test_the_page_of_results_begins_where_other_pages_do_and_no_rule_is_below_nothing(browser, address, width):
    size(browser, width)
    lefts = set()
    for page in ("search.html", "404.html", "book/notation.html"):
        open_page(browser, f"{address}/{page}")
        title = "return document.querySelector('h1').getBoundingClientRect().left"
        lefts.add(round(browser.execute_script(title)))
        assert bool(seen(browser, ".prev-next-area")) == page.startswith("book")
    assert len(lefts) == 1


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_on_a_phone_a_table_shows_on_which_side_it_goes_on(browser, address, mode):
    size(browser, 375)
    open_page(browser, f"{address}/book/notation.html")
    browser.execute_script("document.documentElement.dataset.theme = arguments[0]", mode)
    table = next(
        each
        for each in browser.find_elements("css selector", ".pst-scrollable-table-container")
        if browser.execute_script("return arguments[0].scrollWidth - arguments[0].clientWidth", each) > 100
    )
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", table)

    def shades():
        """Return how much the left and right edges differ from the background inside: most of a column is background."""
        drawn = plt.imread(io.BytesIO(table.screenshot_as_png))[:, :, :3].mean(axis=2)
        left, right, within = (np.median(drawn[:, column]) for column in (2, -3, drawn.shape[1] // 2))
        return abs(left - within), abs(right - within)

    left, right = shades()
    assert left < 0.06 < 0.1 < right
    browser.execute_script("arguments[0].scrollLeft = arguments[0].scrollWidth", table)
    until(browser, lambda: shades()[0] > 0.1)
    left, right = shades()
    assert right < 0.06 < 0.1 < left


def test_without_scripts_every_page_can_be_gone_to_and_no_button_is_dead(address, tmp_path):
    with chromium(tmp_path, preferences={"profile.managed_default_content_settings.javascript": 2}) as browser:
        for width in WIDTHS:
            size(browser, width)
            browser.get(f"{address}/book/scoring.html")
            buttons = browser.find_elements(By.CSS_SELECTOR, ".bd-header-article button")
            assert [button.accessible_name for button in buttons if button.is_displayed()] == [], width
            link = browser.find_element(By.CSS_SELECTOR, MENU)
            words, leads_on = (
                browser.find_element(By.CSS_SELECTOR, f".bd-article {what}").value_of_css_property("color")
                for what in ("p", "p a[href$='.html']")
            )
            assert leads_on not in (words, "rgba(0, 0, 238, 1)"), width  # nor the browser's default
            assert 0 <= link.rect["x"] < width
            link.click()
            assert browser.current_url.endswith("/softmax.html"), width


def test_a_page_that_was_opened_from_a_file_says_that_its_figures_do_not_move(browser, address, site):
    browser.get((site / "book" / "scoring.html").as_uri())
    (note,) = until(browser, lambda: seen(browser, "article > p[role=note]"))
    assert note.text.startswith("This page was opened from a file, so its figures do not move. Run make serve")
    open_page(browser, f"{address}/book/scoring.html")
    assert seen(browser, "article > p[role=note]") == []
    complaints(browser)  # those about the modules that were not loaded


def test_every_page_is_typeset_without_an_error(visits):
    for page, visit in visits.items():
        assert (visit["fonts"], visit["complaints"]) == ([], []), page
        assert visit["shown"] == visit["formulas"], page
    assert sum(visit["shown"] for visit in visits.values()) > 500


def test_every_page_asks_this_host_only_and_finds_what_it_asks_for(visits, address):
    for page, visit in visits.items():
        assert f"{address}/{page}" in visit["asked"]
        assert [url for url in visit["asked"] if not url.startswith(f"{address}/")] == [], page
        assert visit["failures"] == [], page


FONTS = {".woff", ".woff2"}
PACKED = {".png", *FONTS}  # gzip makes them no smaller


@pytest.fixture(scope="module")
def weights(visits, address, site):
    """``{page of the book: {file: its bytes as sent}}`` for everything that a page requests on the first visit.

    A trained model has a budget of its own, because it is fetched after the first paint.
    """

    def weigh(path):
        data = path.read_bytes()
        return len(data) if path.suffix in PACKED else len(gzip.compress(data, 6))

    books = {page: visit["needs"] for page, visit in visits.items() if page.startswith("book/")}
    files = {page: {Path(site, unquote(urlsplit(url).path)[1:]) for url in urls} for page, urls in books.items()}
    files = {page: {path for path in paths if path.parent != site / "made"} for page, paths in files.items()}
    sizes = {path: weigh(path) for path in set().union(*files.values())}
    return {page: {path: sizes[path] for path in paths} for page, paths in files.items()}


def test_no_page_weighs_more_than_350_kilobytes_with_all_that_it_shows(weights):
    heavy = {page: sum(files.values()) for page, files in weights.items()}
    assert len(heavy) > 10
    assert max(heavy.values()) <= 350_000, heavy


def test_no_trained_model_is_larger_than_500_kilobytes(site):
    models = {path.name: path.stat().st_size for path in (site / "made").glob("*.npz")}
    assert set(models) == {"capstone.npz", "spelling.npz"}
    assert max(models.values()) <= 500_000, models


def test_a_second_page_brings_40_kilobytes_at_most(weights, site):
    first, second = weights["book/scoring.html"], {}
    for page, files in weights.items():
        second[page] = sum(size for path, size in files.items() if path not in first or path == site / page)
    assert len(second) > 10
    assert {page: size for page, size in second.items() if size > 40 * 1024} == {}


def test_a_second_page_has_no_font_to_wait_for(weights):
    first = weights["book/for_students.html"]  # this page shows neither Hindi nor a formula
    fonts = {path.name for files in weights.values() for path in files if path.suffix in FONTS}
    assert {"KaTeX_Main-Regular.woff2", "KaTeX_AMS-Regular.woff2"} < fonts
    assert any(name.startswith("noto-sans-devanagari") for name in fonts)
    assert fonts == {path.name for path in first if path.suffix in FONTS}


@reads("scoring errata for_students")
def icons(browser):
    return browser.execute_script(
        """
        return [...document.querySelectorAll("*")].flatMap((element) => ["::before", "::after"].map((part) => {
          const style = getComputedStyle(element, part);
          const named = /(^| )fa-(?!solid|lg)/.test(element.className) && part === "::before";
          return named || /Awesome/.test(style.fontFamily) ? style.content : "none";
        })).filter((content) => content !== '""');
        """
    )


def test_every_icon_is_in_the_font_of_icons(visits, site):
    font = {chr(code) for code in TTFont(site / "_static" / "styles" / "icons.woff2").getBestCmap()}
    shown = set().union(*readings(visits, icons).values())
    assert "normal" not in shown  # an icon without a rule
    letters = {content.strip('"') for content in shown - {"none"}}
    assert len(letters) > 6
    assert letters <= font


@reads("notation context output_layer sources errata from_bahdanau_to_transformers capstone spelling")
def letters_by_look(browser):
    return browser.execute_script(
        """
        const found = {}, walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
        while (walk.nextNode()) {
          const around = walk.currentNode.parentElement;
          if (!around.closest(".katex-html, .picture .m")) continue;
          const {fontFamily, fontWeight, fontStyle} = getComputedStyle(around);
          const look = [fontFamily.split(",")[0].replaceAll('"', ""), fontWeight, fontStyle].join();
          found[look] = (found[look] ?? "") + walk.currentNode.data;
        }
        return found;
        """
    )


def test_every_letter_of_a_formula_is_in_the_font_that_the_page_sets_it_in(visits, site):
    shown = {}
    for by_look in readings(visits, letters_by_look).values():
        for look, there in by_look.items():
            shown.setdefault(look, set()).update(there)
    faces = {}
    for look, letters in shown.items():
        family, weight, style = look.split(",")
        if family.startswith("KaTeX_"):
            name = {"font-family": family, "font-weight": weight, "font-style": style}
            faces[formulas.face(name)] = letters
    assert {"AMS-Regular", "Main-Bold", "Main-Regular", "Math-Italic", "Size1-Regular"} <= set(faces)
    for face, letters in faces.items():
        whole = TTFont(formulas.KATEX / "fonts" / f"KaTeX_{face}.ttf").getBestCmap()
        light = TTFont(site / "_static" / "katex" / "fonts" / f"KaTeX_{face}.woff2").getBestCmap()
        assert {ord(letter) for letter in letters} & set(whole) <= set(light), face


@reads(" ".join(CHAPTERS))
def unexplained(browser):
    """Return how many letters the formulas have, and which of them the page on notation does not explain."""
    return browser.execute_async_script(
        """
        const done = arguments[0];
        const {names, notation, describe} = symbolsAtHand;
        notation().then((symbols) => {
          const all = [...document.querySelectorAll("article section .math")];
          const formulas = all.filter((each) => !each.closest("figure, output"));
          const letters = formulas.flatMap((each) => [...each.querySelectorAll(".katex-html .mathnormal")]);
          const explained = (letter) => names(letter).some((name) => describe(name, symbols, letter.closest("section")));
          done([letters.length, letters.filter((letter) => !explained(letter)).map((letter) => names(letter)[0])]);
        }, (error) => done([0, [`${error}`]]));
        """
    )


def test_every_letter_in_the_formulas_of_every_chapter_is_explained(visits):
    found = readings(visits, unexplained)
    assert {page: unknown for page, (_, unknown) in found.items() if unknown} == {}
    assert sum(count for count, _ in found.values()) > 2000


COLOURED = ("intro", "encoder", "scoring", "softmax", "context")  # pages whose formulas colour the running example


@reads(" ".join(COLOURED))
def colours(browser):
    """Return the colours in formulas in each mode, and whether each is that of the figures."""
    return browser.execute_script(
        """
        const named = (name) => {
          const probe = document.body.appendChild(document.createElement("i"));
          probe.style.color = `var(${name})`;
          const {color} = getComputedStyle(probe);
          probe.remove();
          return color;
        };
        const {dataset} = document.documentElement, {theme} = dataset;
        const shown = ["light", "dark"].map((mode) => {
          dataset.theme = mode;
          const wanted = {blue: named("--figure-1"), orange: named("--figure-2"), green: named("--figure-3")};
          return [mode, [...document.querySelectorAll(".katex-html [style*='color:']")].map((part) => {
            const name = /color:(\\w+)/.exec(part.getAttribute("style"))[1];
            return [name, getComputedStyle(part).color === wanted[name] && new Set(Object.values(wanted)).size === 3];
          })];
        });
        dataset.theme = theme;
        return shown;
        """
    )


@pytest.mark.parametrize("page", COLOURED)
def test_a_page_shows_its_own_colours_in_formulas_in_both_modes(visits, page):
    for mode, shown in readings(visits, colours)[f"book/{page}.html"]:
        assert {name for name, _ in shown} == {"blue", "orange", "green"}, mode
        assert all(right for _, right in shown), mode


def stop(browser):
    """Press Tab; return what has the focus, even inside a custom element."""
    ActionChains(browser).send_keys(Keys.TAB).perform()
    return browser.execute_script(
        """
        let element = document.activeElement;
        while (element.shadowRoot?.activeElement) element = element.shadowRoot.activeElement;
        const style = getComputedStyle(element);
        const outlined = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
        return {
          tag: element.tagName,
          what: `${element.tagName} ${element.className} ${element.textContent.trim().slice(0, 40)}`,
          ring: outlined || /0px 0px 0px [2-9]/.test(style.boxShadow),
          formula: element.closest(".math") !== null,
          assignment: element.matches("a[download]"),
          skip: element.matches(".skip-link a[href='#exercises']"),
        };
        """
    )


@pytest.mark.parametrize("width", [375, 1280])
def test_the_keyboard_sees_where_it_is_and_stops_at_no_formula(browser, address, width):
    size(browser, width)
    open_page(browser, f"{address}/book/scoring.html")
    stops = []
    while (here := stop(browser))["tag"] != "BODY" and len(stops) < 500:
        stops.append(here)
    assert 40 < len(stops) < 500
    assert [each["what"] for each in stops if each["formula"] or not each["ring"]] == []


def test_tables_and_code_are_measured_for_the_keyboard_when_they_come_into_view(browser, address):
    def measured(selector):
        elements = "[...document.querySelectorAll(arguments[0])]"
        return browser.execute_script(f"return {elements}.map((each) => each.hasAttribute('tabindex'))", selector)

    size(browser, 375)
    open_page(browser, f"{address}/book/notation.html")
    table = "#what-the-notes-call-it .pst-scrollable-table-container"
    assert measured(table) == [False]
    browser.execute_script("document.querySelector(arguments[0]).scrollIntoView()", table)
    until(browser, lambda: measured(table) == [True])
    assert browser.execute_script("return document.querySelector(arguments[0]).tabIndex", table) == 0
    open_page(browser, f"{address}/book/scoring.html")
    code = ".cell:has(#moving-scoring) details.hide pre"
    browser.execute_script("document.querySelector(arguments[0]).closest('section').scrollIntoView()", code)
    assert measured(code) == [False]
    browser.execute_script("document.querySelector(arguments[0]).closest('details').open = true", code)
    until(browser, lambda: measured(code) == [True])


def test_the_keyboard_gets_from_the_top_of_each_chapter_to_its_assignment(browser, address):
    size(browser, 1280)
    for topic in answer_key.topics():
        open_page(browser, f"{address}/book/{topic}.html")
        for _ in range(40):
            here = stop(browser)
            if here["assignment"]:
                break
            if here["skip"]:
                ActionChains(browser).send_keys(Keys.ENTER).perform()
        assert here["assignment"], topic


@pytest.mark.parametrize(
    "place",
    [
        "scoring.html#gradients-of-the-parameters",
        "decoder_fusion.html#exercises",
        "decoder_fusion.html#how-much-do-the-weights-matter",
    ],
)
def test_a_link_leads_to_its_place_past_sections_that_are_not_laid_out(browser, address, pytestconfig, place):
    size(browser, 375)
    below_top = "return document.getElementById(location.hash.slice(1)).getBoundingClientRect().top"
    for _ in range(8 if pytestconfig.getoption("--full") else 3):  # with estimated heights, some loads may miss
        browser.get("about:blank")
        open_page(browser, f"{address}/book/{place}")
        until(browser, lambda: abs(browser.execute_script(below_top)) < 120)
    skipped = """return [...document.querySelectorAll(".bd-article section > *")]
        .filter((each) => !each.checkVisibility({contentVisibilityAuto: true}) && !each.closest("details")).length"""
    assert browser.execute_script(skipped) > 0


def test_a_search_finds_its_page(browser, address):
    size(browser, 1280)
    open_page(browser, f"{address}/book/scoring.html")
    tap(browser, "button.search-button__button, button.search-button")
    (field,) = until(browser, lambda: seen(browser, "dialog input[type=search]"))
    field.send_keys("bottleneck", Keys.ENTER)
    until(browser, lambda: seen(browser, "#search-results a[href*='intro.html']"))


def test_the_entrance_leads_to_the_book(browser, address):
    browser.get(f"{address}/")
    until(browser, lambda: browser.current_url == f"{address}/book/intro.html")


def test_each_part_of_the_whole_model_is_a_link_that_a_keyboard_reaches_and_shows(browser, address):
    size(browser, 1280)
    open_page(browser, f"{address}/book/whole_model.html")
    links = browser.find_elements(By.CSS_SELECTOR, "#picture-whole-model svg.wide a")
    assert len(links) == 7
    browser.find_element(By.TAG_NAME, "h1").click()  # the keyboard may have left the page in another test
    browser.execute_script("arguments[0].focus({focusVisible: true})", links[0])
    for link in links:
        assert browser.switch_to.active_element == link
        outline = browser.execute_script("return getComputedStyle(arguments[0].querySelector('path')).stroke", link)
        assert outline != "none"
        link.send_keys(Keys.TAB)
    links[2].send_keys(Keys.ENTER)
    until(browser, lambda: browser.current_url.endswith("/book/scoring.html"))
