"""The reader's own sentence on the landing page: it is one of the language, and the page writes what torch writes."""

import json
import re

import numpy as np
import pytest
import torch
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from autograder.paths import ROOT
from solutions.in_numpy.capstone import HELD_OUT, NOUNS, START, STOP, TARGET_WORDS, as_arrays, is_kept_back, translate
from solutions.trained import load_trained
from tests.book.test_axe import AXE, findings, hold_still
from tests.book.test_browser import (  # noqa: F401
    address,
    browser,
    complaints,
    open_untouched,
    overhang,
    requests,
    server,
    until,
)

pytestmark = pytest.mark.e2e

WIDTHS = [320, 375, 768, 1280]


@pytest.fixture
def figure(browser, address):  # noqa: F811
    """Return a function that opens the landing page at the figure, before anybody has touched it."""

    return lambda width=1280: open_untouched(browser, f"{address}/book/intro.html", "sentence", width)


def noun(element, word):
    return element.find_element(By.CSS_SELECTOR, f"[name=noun][value={word}]")


def joints(element):
    return element.find_elements(By.NAME, "joint")


def written(element, place):
    return element.find_element(By.CSS_SELECTOR, f"[name=written][value='{place}']")


def sentence(element):
    """Return the words of the sentence, and the weight that the page shows for each."""
    read = """return [...arguments[0].querySelectorAll(".sentence b")].map((part) => [
      part.querySelector("select")?.value ?? part.firstChild.textContent, part.querySelector("small").textContent])"""
    words = element.parent.execute_script(read, element)
    return " ".join(word for word, _ in words), [float(weight) for _, weight in words]


def hindi(element):
    read = """return [...arguments[0].querySelectorAll(".written label")].map((part) => [
      part.querySelector("[lang=hi]")?.textContent ?? part.childNodes[1].textContent, part.querySelector("small").textContent])"""
    return element.parent.execute_script(read, element)


def says(element):
    return element.find_element(By.CSS_SELECTOR, "[role=status]").get_property("textContent")


def until_ready(element, *parts):
    until(element.parent, lambda: all(part in says(element) for part in parts))


def build(element, text):
    """Make the figure's sentence ``text``."""
    wanted = text.split()
    for word in sentence(element)[0].split()[::2]:
        noun(element, word).click()
    until_ready(element, "Choose a noun.")
    for word in wanted[::2]:
        noun(element, word).click()
        until(element.parent, lambda word=word: sentence(element)[0].split()[-1:] == [word])
    for joint in ("and", "with"):  # what makes room for another "with" comes first
        for place, other in enumerate(wanted[1::2]):
            if other == joint:
                joints(element)[place].find_element(By.CSS_SELECTOR, f"[value={joint}]").click()
    until(element.parent, lambda: sentence(element)[0] == text)


@pytest.fixture(scope="module")
def model():
    return load_trained("capstone")


@torch.no_grad()
def greedy(model, text):
    """Return the words that torch writes for one sentence, with STOP, and their weights."""
    arrays = as_arrays([text])
    words, weights = model.greedy(*map(torch.as_tensor, (arrays["source"], arrays["lengths"])), START, STOP, 10)
    end = words[0].tolist().index(STOP) + 1
    return [TARGET_WORDS[word] for word in words[0, : end - 1].tolist()] + ["STOP"], weights[0, :end].numpy()


SENTENCES = ["tea", "milk and bread", "river with friend and mother with mountain"]
SENTENCES += ["sun and moon and rain and wind", "book and pen with house and tree", HELD_OUT]


@pytest.mark.parametrize("text", SENTENCES)
def test_a_sentence_is_built_and_the_page_writes_and_weighs_what_torch_does(figure, model, text):
    element = figure()
    build(element, text)
    words, weights = greedy(model, text)
    gloss = (
        {target: source for source, target in NOUNS.items()}
        | dict.fromkeys(("के", "साथ"), "with")
        | {"और": "and", "STOP": ""}
    )
    assert hindi(element) == [[word, gloss[word]] for word in words]
    assert " ".join(words[:-1]) == translate(text)[0]
    for place, row in enumerate(weights):
        written(element, place).click()
        most = text.split()[row.argmax()]
        until_ready(element, f"To write {words[place]}, the model looks most at {most}: weight {row.max():.2f}.")
        np.testing.assert_allclose(sentence(element)[1], row, rtol=0, atol=0.0051)
    assert complaints(element.parent) == []


CHOOSE = """
const [module, choices, done] = arguments;
import(module).then(({choose}) => {
  let now = {nouns: ["reason", "logic"], joints: ["with"]};
  return choices.map(([nouns, at, joint]) => {
    const joints = now.joints.map((old, k) => (k === at ? joint : old));
    return (now = choose({...now, joints}, nouns ?? now.nouns, nouns ? -1 : at));
  });
}).then(done, (error) => done(String(error)));
"""


def test_whatever_is_chosen_the_sentence_is_one_of_the_language_with_the_nouns_in_their_order(figure, address):  # noqa: F811
    element, rng = figure(), np.random.default_rng(0)
    nouns, choices, names = ["reason", "logic"], [], [*NOUNS]
    for _ in range(400):
        if rng.random() < 0.5:
            nouns = list(dict.fromkeys([*nouns, *rng.choice(names, 2)]))[: rng.integers(1, 7)]
            nouns = [word for word in nouns if rng.random() < 0.8]
            choices.append([nouns, -1, ""])
            nouns = nouns[:4]
        else:
            choices.append([None, int(rng.integers(0, 3)), str(rng.choice(["with", "and"]))])
    made = element.parent.execute_async_script(CHOOSE, f"{address}/_static/figures/sentence.js", choices)
    assert isinstance(made, list), made
    before = ["reason", "logic"]
    for (nouns, at, joint), now in zip(choices, made, strict=True):
        assert len(now["joints"]) == max(len(now["nouns"]) - 1, 0)
        assert "with with" not in " ".join(now["joints"])
        if nouns is None:
            assert now["nouns"] == before
            assert now["joints"][at : at + 1] in ([], [joint])
        else:
            kept = [word for word in before if word in nouns]
            assert now["nouns"] == [*kept, *[word for word in nouns if word not in kept]][:4]
        before = now["nouns"]
    assert len({len(now["nouns"]) for now in made}) == 5
    assert len({" ".join(now["joints"]) for now in made}) == 1 + 2 + 3 + 5  # of none, one, two and three


def test_with_four_nouns_no_other_can_be_chosen_until_one_is_taken_back(figure):
    element = figure()
    for word in ("tea", "milk"):
        noun(element, word).click()
    until(element.parent, lambda: sentence(element)[0] == "reason with logic and tea with milk")
    assert [word for word in NOUNS if noun(element, word).is_enabled()] == ["reason", "logic", "tea", "milk"]
    noun(element, "logic").click()
    until(element.parent, lambda: sentence(element)[0] == "reason and tea with milk")
    assert all(noun(element, word).is_enabled() for word in NOUNS)


def test_nothing_is_loaded_before_the_first_touch_and_all_from_this_site(figure, address):  # noqa: F811
    element = figure(375)
    loaded = "return performance.getEntriesByType('resource').map(({name}) => name.split('/').at(-1))"
    parts = {"sentence.js", "touched.js", "sentence.json", "model.js", "capstone.npz"}
    assert not parts & set(element.parent.execute_script(loaded))
    written(element, 3).click()
    until_ready(element, "To write कारण", "most at reason")
    assert parts < set(element.parent.execute_script(loaded))
    asked = requests(element.parent)
    assert len(asked) >= len(parts)
    assert [url for url in asked if not url.startswith(f"{address}/")] == []


def test_the_first_view_is_what_the_module_draws(figure):
    element = figure()
    view = "return [...arguments[0].querySelectorAll('fieldset')].map((each) => each.innerHTML.replace(/ checked=\"\"/g, ''))"
    first, said = element.parent.execute_script(view, element), says(element)
    noun(element, "tea").click()
    until(element.parent, lambda: element.parent.execute_script(view, element) != first)
    noun(element, "tea").click()
    until(element.parent, lambda: element.parent.execute_script(view, element) == first)
    assert says(element) == said


def test_the_keyboard_builds_a_sentence_and_keeps_its_place(figure):
    element = figure()
    noun(element, "tea").send_keys(Keys.SPACE)
    until(element.parent, lambda: sentence(element)[0] == "reason with logic and tea")
    assert element.parent.switch_to.active_element == noun(element, "tea")
    joints(element)[1].send_keys("w")
    until(element.parent, lambda: sentence(element)[0] == "reason and logic with tea")
    assert element.parent.switch_to.active_element == joints(element)[1]
    written(element, 0).send_keys(Keys.ARROW_RIGHT)
    until_ready(element, "To write और")
    assert element.parent.switch_to.active_element == written(element, 1)


# Show the longest sentences, with each word chosen; return the heights that the figure takes, and what sticks out of a box.
HEIGHTS = """
const [element, sentences] = arguments, heights = new Set(), out = new Set();
for (const [nouns, joints] of sentences)
  for (let k = 0, steps = 1; k < steps; k++) {
    const {sentence, written, says} = element.draw({nouns, joints, written: String(k)});
    element.part("sentence").innerHTML = sentence;
    element.part("written").innerHTML = written;
    steps = element.querySelectorAll("[name=written]").length;
    element.part("says").innerHTML = says;
    heights.add(Math.round(element.getBoundingClientRect().height));
    for (const each of element.querySelectorAll(".chips :is(b, label)"))
      if (each.scrollWidth > each.clientWidth || each.scrollHeight > each.clientHeight) out.add(each.textContent);
  }
return [[...heights], [...out]];
"""


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_below_moves_and_nothing_sticks_out(figure, width):
    element = figure(width)
    height = "return Math.round(arguments[0].getBoundingClientRect().height)"
    before, names = element.parent.execute_script(height, element), [*NOUNS]
    noun(element, "tea").click()
    until(element.parent, lambda: sentence(element)[0] == "reason with logic and tea")
    assert element.parent.execute_script(height, element) == before
    for choice in element.find_elements(By.CSS_SELECTOR, ".chips label, select"):
        assert min(choice.size.values()) >= 24
    long = [
        ["mountain", "friend", "mother", "reason"],
        *(names[k : k + 4] for k in range(0, 24, 4)),
        names[-2:],
        names[:1],
        [],
    ]
    sentences = [
        (nouns, joints[: max(len(nouns) - 1, 0)]) for nouns in long for joints in (["with", "and", "with"], ["and"] * 3)
    ]
    assert element.parent.execute_script(HEIGHTS, element, sentences) == [[before], []]
    assert overhang(element.parent) <= 1


@pytest.mark.parametrize("width", [375, 1280])
def test_axe_finds_nothing_amiss_whatever_word_is_chosen(figure, width):
    element = figure(width)
    for word in ("tea", "milk"):
        noun(element, word).click()
    until(element.parent, lambda: sentence(element)[0] == "reason with logic and tea with milk")
    element.parent.execute_script(AXE.read_text(encoding="utf-8"))
    hold_still(element.parent)
    for mode, place in [
        ("light", 0),
        ("light", 1),
        ("light", 3),
        ("light", 5),
        ("dark", 0),
        ("dark", 1),
        ("dark", 3),
        ("dark", 5),
    ]:
        element.parent.execute_script("document.documentElement.dataset.theme = arguments[0]", mode)
        written(element, place).click()
        assert findings(element.parent, include="sentence-figure") == [], (mode, place)


@pytest.mark.parametrize("how", ["no scripts", "paper"])
def test_without_scripts_and_on_paper_it_shows_one_sentence_and_no_controls(figure, how):
    element = figure()
    command, on = {
        "no scripts": ("Emulation.setScriptExecutionDisabled", {"value": True}),
        "paper": ("Emulation.setEmulatedMedia", {"media": "print"}),
    }[how]
    element.parent.execute_cdp_cmd(command, on)
    try:
        if how == "no scripts":
            element.parent.refresh()
            element = element.parent.find_element(By.TAG_NAME, "sentence-figure")
        assert not element.find_element(By.CLASS_NAME, "controls").is_displayed()
        assert not any(joint.is_displayed() for joint in joints(element))
        assert (
            re.sub(r"\s*[\d.]+\s*", " ", element.find_element(By.CLASS_NAME, "sentence").text).split()
            == HELD_OUT.split()
        )
        assert "the model looks most at logic" in element.text
    finally:
        off = {"value": False} if how == "no scripts" else {"media": ""}
        element.parent.execute_cdp_cmd(command, off)


@pytest.mark.parametrize(
    ("part", "said"),
    [("sentence.js", "The program could not be loaded."), ("capstone.npz", "The trained model could not be loaded.")],
)
def test_what_cannot_be_loaded_is_said_and_tried_again(figure, part, said):
    element = figure()
    element.parent.execute_cdp_cmd("Network.setBlockedURLs", {"urls": [f"*{part}*"]})
    try:
        noun(element, "tea").click()
        until(element.parent, lambda: says(element) == said)
    finally:
        element.parent.execute_cdp_cmd("Network.setBlockedURLs", {"urls": []})
    noun(element, "milk").click()
    until(element.parent, lambda: sentence(element)[0] == "reason with logic and tea with milk")
    complaints(element.parent)


def test_the_note_has_the_numbers_of_the_record(figure, model):
    note = figure().find_element(By.CSS_SELECTOR, "p.note").text.replace("\u202f", " ").replace("\xa0", " ")
    run = json.loads((ROOT / "benchmarks" / "trainings.json").read_text(encoding="utf-8"))["capstone"][0]
    count = sum(parameter.numel() for parameter in model.parameters())
    numbers = [int(number.replace(" ", "")) for number in re.findall(r"\d[\d ]*\d", note)]
    assert numbers == [count, 6000, 501, round(501 * run["exact_match"])]
    assert is_kept_back(HELD_OUT)
