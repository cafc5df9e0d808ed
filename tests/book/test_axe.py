"""axe-core finds nothing amiss in the pages of the website, in a real browser."""

import pytest

from autograder.paths import ROOT
from tests.book.test_browser import address, browser, open_page, server, size, until  # noqa: F401
from tests.book.test_build import all_pages

pytestmark = pytest.mark.e2e

AXE = ROOT / "node_modules" / "axe-core" / "axe.min.js"
OF_COLOURS = ["color-contrast", "link-in-text-block"]  # the rules whose result depends on the colour mode


def findings(browser, options=None, include=None):  # noqa: F811
    """Return ``[rule, place, source]`` for each violation that axe-core finds in the page as it is; by default by all rules."""
    # the theme makes scrollable elements focusable, a moment after the window has changed
    may_scroll = "pre, .pst-scrollable-table-container"
    scrolls = f"""[...document.querySelectorAll("{may_scroll}")].every(
        (each) => each.tabIndex >= 0 || each.scrollWidth <= each.clientWidth)"""
    until(browser, lambda: browser.execute_script(f"return {scrolls}"))
    return browser.execute_async_script(
        """
        const [own, include, done] = arguments;
        const options = {resultTypes: ["violations"], preload: false, ...own};
        const told = (rule) => rule.nodes.map((node) => [rule.id, node.target.join(" "), node.html.slice(0, 200)]);
        axe.run(include ?? document, options)
          .then((found) => found.violations.flatMap(told)).then(done, (error) => done([`${error}`]));
        """,
        options or {},
        include,
    )


def hold_still(browser):  # noqa: F811
    """Make colours change at once, or axe-core sees them half-way; show all sections, or it sees no background behind them."""
    still = "*, ::before, ::after {transition: none !important} section {content-visibility: visible !important}"
    browser.execute_script("document.head.insertAdjacentHTML('beforeend', arguments[0])", f"<style>{still}</style>")


# Mark each element whose text looks different from all before it on this page, in any width or mode; return whether any does.
# Elements that look the same on the same background are equally easy to read.
MARK_NEW_LOOKS = """
const seen = (window.looks ??= new Set()), ground = (element) => {
  for (let around = element; around; around = around.parentElement) {
    const {backgroundColor, opacity} = getComputedStyle(around);
    if (opacity !== "1" || !/, 0\\)$/.test(backgroundColor)) return `${backgroundColor} ${opacity}`;
  }
};
document.querySelectorAll("[data-look]").forEach((each) => each.removeAttribute("data-look"));
let found = false;
for (const each of document.querySelectorAll("body *")) {
  const speaks = [...each.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
  if (!each.checkVisibility() || !speaks && !each.matches("input, select, textarea")) continue;
  const {color, fontSize, fontWeight, textDecorationLine} = getComputedStyle(each);
  const around = getComputedStyle(each.parentElement).color, {theme} = document.documentElement.dataset;
  const look = [theme, each.tagName, color, fontSize, fontWeight, textDecorationLine, around, ground(each)].join();
  if (!seen.has(look)) each.dataset.look = found = true;
  seen.add(look);
}
return found;
"""


def test_axe_finds_nothing_amiss_on_any_page_light_or_dark_narrow_or_wide(browser, address, site):  # noqa: F811
    program = AXE.read_text(encoding="utf-8")
    other_rules = {"rules": {rule: {"enabled": False} for rule in OF_COLOURS}}
    amiss, looks = {}, 0
    names = sorted(str(path.relative_to(site)) for path in all_pages(site))
    names.remove("index.html")  # it redirects at once
    assert len(names) > 10
    for page in names:
        size(browser, 1280)
        open_page(browser, f"{address}/{page}")
        browser.execute_script(program)
        browser.execute_script("document.querySelectorAll('details').forEach((each) => (each.open = true))")
        hold_still(browser)
        if page != "book/the_paper.html":  # formulas are many and all alike, so those of one page are enough
            browser.execute_script("document.querySelectorAll('.katex').forEach((formula) => formula.replaceWith('x'))")
        for width, mode in ((1280, "light"), (1280, "dark"), (375, "light")):
            size(browser, width)
            browser.execute_script("document.documentElement.dataset.theme = arguments[0]", mode)
            violations = findings(browser, other_rules) if mode == "light" else []
            if browser.execute_script(MARK_NEW_LOOKS):
                looks += 1
                violations += findings(browser, {"runOnly": OF_COLOURS}, "[data-look]")
            amiss |= {(page, width, mode): violations} if violations else {}
    assert amiss == {}
    assert looks >= 2 * len(names)  # at least light and dark


@pytest.mark.parametrize(
    ("damage", "rule"),
    [
        ("document.querySelector('.search-button-field').replaceChildren()", "button-name"),
        ("document.querySelector('article p').style.color = '#bbb'", "color-contrast"),
    ],
)
def test_axe_would_find_what_is_amiss(browser, address, damage, rule):  # noqa: F811
    size(browser, 1280)
    open_page(browser, f"{address}/book/for_students.html")
    browser.execute_script(AXE.read_text(encoding="utf-8"))
    browser.execute_script(MARK_NEW_LOOKS)
    browser.execute_script(damage)
    assert rule in {name for name, *_ in findings(browser)}
    if rule in OF_COLOURS:  # its look is new
        assert browser.execute_script(MARK_NEW_LOOKS)
        assert findings(browser, {"runOnly": OF_COLOURS}, "[data-look]")
