"""What axe-core finds amiss in the pages of the website, in a real browser: nothing."""

import pytest

from autograder.paths import ROOT
from tests.book.test_browser import address, browser, open_page, server, size, until  # noqa: F401
from tests.book.test_build import all_pages

AXE = ROOT / "node_modules" / "axe-core" / "axe.min.js"
OF_COLOURS = ["color-contrast", "link-in-text-block"]  # the rules whose answer hangs on the colour mode


def findings(browser, rules=None):  # noqa: F811
    """Return ``[rule, place, its source]`` for what axe-core finds amiss in the page as it is; by default by all rules."""
    # the theme makes what scrolls a stop of the keyboard, a moment after the window has changed
    scrolls = (
        "[...document.querySelectorAll('pre[tabindex=\"-1\"]')].every((code) => code.scrollWidth <= code.clientWidth)"
    )
    until(browser, lambda: browser.execute_script(f"return {scrolls}"))
    return browser.execute_async_script(
        """
        const [rules, done] = arguments;
        const options = rules ? {resultTypes: ["violations"], runOnly: rules} : {resultTypes: ["violations"]};
        const told = (rule) => rule.nodes.map((node) => [rule.id, node.target.join(" "), node.html.slice(0, 200)]);
        axe.run(document, options).then((found) => found.violations.flatMap(told)).then(done, (error) => done([`${error}`]));
        """,
        rules,
    )


def hold_still(browser):  # noqa: F811
    """Let colours change at once, or they are seen half-way; show all sections, or axe-core sees no ground behind them."""
    still = "*, ::before, ::after {transition: none !important} section {content-visibility: visible !important}"
    browser.execute_script("document.head.insertAdjacentHTML('beforeend', arguments[0])", f"<style>{still}</style>")


def test_axe_finds_nothing_amiss_on_any_page_light_or_dark_narrow_or_wide(browser, address, site):  # noqa: F811
    program = AXE.read_text(encoding="utf-8")
    amiss = {}
    names = sorted(str(path.relative_to(site)) for path in all_pages(site))
    names.remove("index.html")  # which leads on at once
    assert names
    for page in names:
        open_page(browser, f"{address}/{page}")
        browser.execute_script(program)
        browser.execute_script("document.querySelectorAll('details').forEach((each) => (each.open = true))")
        hold_still(browser)
        if page != "book/the_paper.html":  # formulas are all alike, and many: those of one page are looked at
            browser.execute_script("document.querySelectorAll('.katex').forEach((formula) => formula.replaceWith('x'))")
        for width, mode in ((1280, "light"), (375, "light"), (1280, "dark")):  # the colours are the same at both widths
            size(browser, width)
            browser.execute_script("document.documentElement.dataset.theme = arguments[0]", mode)
            found = findings(browser, OF_COLOURS if mode == "dark" else None)
            amiss |= {(page, width, mode): found} if found else {}
    assert amiss == {}


@pytest.mark.parametrize(
    ("damage", "rule"),
    [
        ("document.querySelector('.primary-toggle').removeAttribute('aria-label')", "button-name"),
        ("document.querySelector('article p').style.color = '#bbb'", "color-contrast"),
    ],
)
def test_axe_would_find_what_is_amiss(browser, address, damage, rule):  # noqa: F811
    size(browser, 1280)
    open_page(browser, f"{address}/book/for_students.html")
    browser.execute_script(AXE.read_text(encoding="utf-8"))
    browser.execute_script(damage)
    assert rule in {name for name, *_ in findings(browser)}
