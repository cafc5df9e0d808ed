"""The laboratory on the page of spelling: what it computes after an exchange is what torch computes, and readers can use it."""

import itertools
import json

import numpy as np
import pytest
import torch
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select

from solutions.in_numpy.spelling import MOST_PHONEMES, PHONEMES, START, STOP, encode_letters
from solutions.trained import load_trained
from tests.autograder.samples import sample
from tests.book.test_axe import AXE, findings, hold_still
from tests.book.test_browser import (  # noqa: F401
    address,
    browser,
    complaints,
    open_page,
    open_untouched,
    overhang,
    requests,
    server,
    size,
    until,
)

pytestmark = pytest.mark.e2e

WORDS = ("archivists", "magazines", "bridges", "planes")
HEIGHT = "return arguments[0].getBoundingClientRect().height"


@pytest.fixture(scope="module")
def model():
    return load_trained("spelling")


@pytest.fixture
def laboratory(browser, address):  # noqa: F811
    """Return a function that opens the page at the laboratory, before anybody has touched it."""

    return lambda width=1280: open_untouched(browser, f"{address}/book/spelling.html", "exchange", width)


@pytest.fixture(scope="module")
def run_script(browser, address):  # noqa: F811
    """A function that runs a script on a small page of the website, for what needs only the modules of the laboratory."""
    open_page(browser, f"{address}/book/notation.html")
    return browser.execute_async_script


@pytest.fixture(scope="module")
def data(site):
    return json.loads((site / "made" / "exchange.json").read_text(encoding="utf-8"))


def control(element, name):
    return Select(element.find_element(By.NAME, name))


def letter(element, place):
    return element.find_element(By.CSS_SELECTOR, f"[name=letter][value='{place}']")


def says(element):
    return element.find_element(By.CSS_SELECTOR, "[role=status]").get_property("textContent")


def until_ready(element, words="the model writes"):
    until(element.parent, lambda: words in says(element))


@torch.no_grad()
def write_after(model, word, changes):
    """Return the phonemes and weights of a greedy search after each of several ``changes`` (letter, by, at) of one word."""
    others = sorted({by for _, by, _ in changes} - {"own", "none"})
    source, lengths = map(torch.from_numpy, encode_letters([word, *others]))
    states, keys, masks = model.read(source, lengths)
    count, own, own_mask = len(changes), keys[:1], masks[:1]
    changed, mask = own.repeat(count, 1, 1), own_mask.repeat(count, 1)
    for row, (place, by, _) in enumerate(changes):
        if by == "none":
            mask[row, place] = False
        elif by != "own":
            changed[row, place] = keys[1 + others.index(by), place]
    state, token, steps = states[:1].repeat(count, 1), torch.full((count,), START), []
    for step in range(MOST_PHONEMES):
        now = torch.tensor([at in ("every", str(step)) for *_, at in changes])
        seen = torch.where(now[:, None, None], changed, own), torch.where(now[:, None], mask, own_mask)
        logits, state, weights = model.decoder.step(token, state, *seen)
        token = logits.argmax(dim=-1)
        steps.append((token, weights))
    written, all_weights = (torch.stack(each, dim=1) for each in zip(*steps, strict=True))
    ends = [row.tolist().index(STOP) + 1 for row in written]
    return [(row[:end].tolist(), rows[:end].numpy()) for row, rows, end in zip(written, all_weights, ends, strict=True)]


def offered(data, word, steps):
    """Return every (letter, by, at) that the laboratory offers for a word."""
    return list(
        itertools.product(range(len(word)), ["own", "none", *data["words"][word]], ["every", *map(str, range(steps))])
    )


PRONOUNCE = """
const [figures, file, data, changes, done] = arguments;
Promise.all([import(`${figures}/model.js`), import(`${figures}/exchange.js`), fetch(file)]).then(async ([m, exchange, answer]) => {
  const p = m.checked(await m.readNpz(await answer.arrayBuffer()), data.shapes), kept = {};
  return changes.map(([word, letter, by, at]) => exchange.pronounce(p, { word, letter, by, at }, data, kept));
}).then(done, (error) => done(String(error)));
"""


@pytest.mark.parametrize("word", sample(WORDS, ("magazines", "planes"), "the page computes each word in the same way"))
def test_after_every_exchange_that_is_offered_the_page_writes_what_torch_writes(run_script, address, data, model, word):  # noqa: F811
    assert tuple(data["words"]) == WORDS
    for other in data["words"][word]:  # an exchange goes by place
        assert sum(a != b for a, b in zip(word, other, strict=True)) == 1
    ((own, _),) = write_after(model, word, [(0, "own", "every")])
    changes = offered(data, word, len(own))
    assert len(changes) > 6 * 5 * 6
    file = f"{address}/made/spelling.npz"
    asked = [[word, *change] for change in changes]
    outcomes = run_script(PRONOUNCE, f"{address}/_static/figures", file, data, asked)
    assert isinstance(outcomes, list), outcomes
    wanted = write_after(model, word, changes)
    for change, steps, (phonemes, weights) in zip(changes, outcomes, wanted, strict=True):
        assert [step["word"] for step in steps] == phonemes, change
        np.testing.assert_allclose([step["weights"] for step in steps], weights, rtol=0, atol=1e-5, err_msg=str(change))
    assert len({tuple(phonemes) for phonemes, _ in wanted}) > 8


@pytest.mark.parametrize(
    ("word", "place", "by", "written"),
    [
        ("archivists", 8, "archivistd", "AA R K AH V IH S T S"),
        ("archivists", 9, "archivistd", "AA R K AH V IH S T"),
        ("archivists", 9, "archivistr", "AA R K AH V IH S T S"),
        ("planes", 2, "planet", "P L AE N Z"),
        ("planes", 4, "planet", "P L EY N EH S"),
    ],
)
def test_the_exchanges_that_the_text_names_have_the_outcomes_that_it_tells(model, data, word, place, by, written):
    assert by in data["words"][word]
    ((phonemes, _),) = write_after(model, word, [(place, by, "every")])
    assert [PHONEMES[number] for number in phonemes[:-1]] == written.split()


DIFFERENCES = "import(arguments[0]).then((m) => arguments[1].map(([a, b]) => m.differences(a, b))).then(arguments[2])"


def test_the_phonemes_that_differ_are_those_outside_a_longest_common_subsequence(run_script, address):  # noqa: F811
    rng = np.random.default_rng(0)
    pairs = [[rng.choice(list("abc"), rng.integers(0, 7)).tolist() for _ in range(2)] for _ in range(200)]
    marked = run_script(DIFFERENCES, f"{address}/_static/figures/exchange.js", pairs)
    for (a, b), marks in zip(pairs, marked, strict=True):
        kept = [
            [item for item, differs in zip(items, each, strict=True) if not differs]
            for items, each in zip((a, b), marks, strict=True)
        ]
        assert kept[0] == kept[1]
        common = {c for n in range(len(a) + 1) for c in itertools.combinations(a, n)}
        common &= {c for n in range(len(b) + 1) for c in itertools.combinations(b, n)}
        assert len(kept[0]) == max(map(len, common))


def test_nothing_is_loaded_before_the_first_touch_and_all_from_this_site(laboratory, address):  # noqa: F811
    element = laboratory(375)
    loaded = "return performance.getEntriesByType('resource').map(({name}) => name.split('/').at(-1))"
    parts = {"exchange.js", "exchange.json", "model.js", "spelling.npz"}
    assert not parts & set(element.parent.execute_script(loaded))
    letter(element, 9).click()
    until_ready(element)
    assert parts < set(element.parent.execute_script(loaded))
    asked = requests(element.parent)
    assert len(asked) >= len(parts)
    assert [url for url in asked if not url.startswith(f"{address}/")] == []


def test_the_keyboard_exchanges_and_the_outcome_is_said_marked_and_drawn(laboratory, model):
    element = laboratory()
    complaints(element.parent)
    assert "in place of that of t, no phoneme changes." in says(element)
    letter(element, 8).send_keys(Keys.ARROW_RIGHT)
    until_ready(element)
    assert (
        says(element)
        == "With the annotation of d in archivistd in place of that of s, the model writes AA R K AH V IH S T."
    )
    assert element.parent.switch_to.active_element == letter(element, 9)
    marks = [(each.tag_name, each.text) for each in element.find_elements(By.CSS_SELECTOR, "dd del, dd ins")]
    assert marks == [("del", "S")]
    assert [each.text for each in element.find_elements(By.TAG_NAME, "dd")] == [
        "AA R K AH V IH S T S",
        "AA R K AH V IH S T",
    ]
    cells = """return [...arguments[0].querySelectorAll('.heat tbody tr')].map((row) =>
      [...row.cells].map((cell) => cell.textContent))"""
    ((phonemes, weights),) = write_after(model, "archivists", [(9, "archivistd", "every")])
    drawn = element.parent.execute_script(cells, element)
    assert [row[0] for row in drawn] == [*(PHONEMES[number] for number in phonemes[:-1]), "STOP"]
    np.testing.assert_allclose([[float(cell or 0) for cell in row[1:]] for row in drawn], weights, atol=0.0051)
    control(element, "at").select_by_value("0")
    until_ready(element, "at step 1 only, no phoneme changes")
    control(element, "at").select_by_value("every")
    letter(element, 2).click()
    assert control(element, "by").first_selected_option.text == "that of c in archivistd"
    control(element, "by").select_by_value("none")
    until_ready(element, "Without the c, the model writes AA R AH CH V IH S T S.")
    marks = [
        (each.tag_name, each.text)
        for each in element.find_elements(By.CSS_SELECTOR, "dd del, dd ins, thead del, tbody ins")
    ]
    assert marks == [("del", "K"), ("ins", "CH"), ("del", "c"), ("ins", "CH")]
    assert complaints(element.parent) == []


def test_another_word_begins_as_it_is(laboratory):
    element = laboratory()
    control(element, "word").select_by_value("planes")
    until_ready(element, "Every letter has its own annotation.")
    assert [each.text for each in element.find_elements(By.CSS_SELECTOR, ".chips label")] == list("planes")
    by = [option.text for option in control(element, "by").options]
    assert by == ["as it is", "forbidden", "that of p in planet", "that of p in planks", "that of p in plates"]
    steps = [option.text for option in control(element, "at").options]
    assert steps == [
        "every step",
        *(f"step {k} only: {each}" for k, each in enumerate(["P", "L", "EY", "N", "Z", "STOP"], 1)),
    ]
    assert [control(element, name).first_selected_option.text for name in ("by", "at")] == ["as it is", "every step"]
    letter(element, 2).click()
    control(element, "by").select_by_value("planet")
    until_ready(element, "With the annotation of a in planet in place of that of a, the model writes P L AE N Z.")
    assert [each.text for each in element.find_elements(By.CSS_SELECTOR, "dd del, dd ins")] == ["EY", "AE"]


def test_the_first_view_is_what_the_module_draws(laboratory):
    element = laboratory()
    view = "return arguments[0].querySelector('.view').innerHTML.replace(/\\s+/g, '')"
    first, said = element.parent.execute_script(view, element), says(element)
    letter(element, 9).click()
    until_ready(element)
    assert element.parent.execute_script(view, element) != first
    letter(element, 8).click()
    until_ready(element, "no phoneme changes")
    assert (element.parent.execute_script(view, element), says(element)) == (first, said)


# Show every exchange at every step, and each forbidden at one; return the heights that the figure takes.
HEIGHTS = """
const [element] = arguments, heights = new Set(), form = element.form, status = form.querySelector(".says");
for (const [word, others] of Object.entries(element.data.words))
  for (let letter = 0; letter < word.length; letter++)
    for (const by of ["own", "none", ...others])
      for (const at of ["every", "5"]) {
        const { view, says } = element.draw({ word, letter: String(letter), by, at });
        form.querySelector(".view").innerHTML = view;
        status.innerHTML = says;
        heights.add(Math.round(element.getBoundingClientRect().height));
      }
return [...heights];
"""


@pytest.mark.parametrize("width", sample([320, 375, 768, 1280], (320, 375, 1280), "laid out as at 1280"))
def test_nothing_below_moves_and_nothing_sticks_out(laboratory, width):
    element = laboratory(width)
    before = round(element.parent.execute_script(HEIGHT, element))
    control(element, "word").select_by_value("magazines")
    until_ready(element, "Every letter")
    assert round(element.parent.execute_script(HEIGHT, element)) == before
    assert element.parent.execute_script(HEIGHTS, element) == [before]
    assert overhang(element.parent) <= 1
    for chip in element.find_elements(By.CSS_SELECTOR, ".chips label"):
        assert chip.size["height"] >= 40
        assert chip.size["width"] >= (24 if width > 320 else 20)


def test_axe_finds_nothing_amiss_in_the_laboratory_after_an_exchange(laboratory):
    element = laboratory()
    letter(element, 2).click()
    until_ready(element, "in place of that of c, no phoneme changes")
    control(element, "by").select_by_value("none")
    until_ready(element, "Without the")
    element.parent.execute_script(AXE.read_text(encoding="utf-8"))
    hold_still(element.parent)
    assert element.find_elements(By.CSS_SELECTOR, "dd ins")
    for width, mode in itertools.product((1280, 375), ("light", "dark")):
        size(element.parent, width)
        element.parent.execute_script("document.documentElement.dataset.theme = arguments[0]", mode)
        assert findings(element.parent, include="exchange-figure") == [], (width, mode)


def test_forced_colours_leave_the_weights_visible_on_a_phone(laboratory):
    element = laboratory(375)
    features = [{"name": "forced-colors", "value": "active"}]
    element.parent.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    try:
        read = """return [...arguments[0].querySelectorAll(".heat tbody tr:first-of-type td")].map((cell) =>
          getComputedStyle(cell).backgroundColor)"""
        high, low, *_ = element.parent.execute_script(read, element)
        assert high != low
    finally:
        element.parent.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


@pytest.mark.parametrize("how", ["no scripts", "paper"])
def test_without_scripts_and_on_paper_it_shows_one_exchange_and_no_controls(laboratory, how):
    element = laboratory()
    command, on = {
        "no scripts": ("Emulation.setScriptExecutionDisabled", {"value": True}),
        "paper": ("Emulation.setEmulatedMedia", {"media": "print"}),
    }[how]
    element.parent.execute_cdp_cmd(command, on)
    try:
        if how == "no scripts":
            element.parent.refresh()
            element = element.parent.find_element(By.TAG_NAME, "exchange-figure")
        assert not element.find_element(By.CLASS_NAME, "controls").is_displayed()
        assert element.find_element(By.CLASS_NAME, "heat").is_displayed()
        assert "With the annotation of t in archivistd in place of that of t, no phoneme changes." in element.text
    finally:
        off = {"value": False} if how == "no scripts" else {"media": ""}
        element.parent.execute_cdp_cmd(command, off)


@pytest.mark.parametrize(
    ("part", "said"),
    [("model.js", "The program could not be loaded."), ("spelling.npz", "The trained model could not be loaded.")],
)
def test_what_cannot_be_loaded_is_said_and_tried_again(laboratory, part, said):
    element = laboratory()
    block = "Network.setBlockedURLs"
    element.parent.execute_cdp_cmd(block, {"urls": [f"*{part}*"]})
    try:
        letter(element, 9).click()
        until(element.parent, lambda: says(element) == said)
    finally:
        element.parent.execute_cdp_cmd(block, {"urls": []})
    letter(element, 2).click()
    until(element.parent, lambda: "archivistd in place of that of c" in says(element))
    complaints(element.parent)
