"""The moving figures: their arithmetic is that of the reference, and they respond to the reader."""

import base64
import contextlib
import functools
import gzip
import html
import json
import re
import time
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
import torch
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from autograder.paths import ROOT
from solutions import answer_key
from solutions.in_numpy.capstone import SOURCE_WORDS, START, STOP, TARGET_WORDS, translate
from solutions.in_numpy.context import context_vector, scores_gradient
from solutions.in_numpy.decoder_fusion import decoder_step_state, note_c_state
from solutions.in_numpy.output_layer import output_distribution
from solutions.in_numpy.scoring import additive_score, dot_product_score
from solutions.in_numpy.softmax import masked_softmax, softmax
from solutions.in_numpy.spelling import MOST_PHONEMES, encode_letters, words_of
from solutions.in_torch.capstone import (
    MAX_LENGTH,
    build_model,
    save_weights,
    unseen_sentences,
)
from solutions.in_torch.output_layer import beam_step
from solutions.in_torch.softmax import entropy
from solutions.in_torch.the_paper import MaxoutOutput
from solutions.mistakes.scoring import additive_score__no_tanh
from solutions.trained import TRAINED, load_trained
from tests.book.test_browser import address, browser, complaints, open_page, overhang, requests, server, size, until  # noqa: F401
from tests.book.test_build import Addresses, pages

pytestmark = pytest.mark.e2e

MODULES = ROOT / "book" / "_static" / "figures"
PAGES = {  # element: its page
    "step-figure": "intro",
    "scoring-figure": "scoring",
    "softmax-figure": "softmax",
    "context-figure": "context",
    "decoder-fusion-figure": "decoder_fusion",
    "output-layer-figure": "output_layer",
    "beam-figure": "output_layer",
    "capstone-figure": "capstone",
    "spelling-figure": "spelling",
    "heads-figure": "from_bahdanau_to_transformers",
    "reach-figure": "encoder",
    "maxout-figure": "the_paper",
}
CLOSE = {"rtol": 0, "atol": 1e-6}


def plain(value):
    """Return a dict of arrays in a form that JSON can hold."""
    return {name: array.tolist() for name, array in value.items()}


@pytest.fixture(scope="module")
def compute(browser, address):  # noqa: F811
    """Return a function that evaluates one expression on a module in the browser, for each of several inputs."""
    open_page(browser, f"{address}/book/notation.html")

    def compute(module, expression, inputs):
        results = browser.execute_async_script(
            """
            const [module, expression, inputs, done] = arguments;
            import(module).then((m) => inputs.map(new Function("m", "x", `return ${expression}`).bind(null, m)))
              .then(done, (error) => done({failed: String(error)}));
            """,
            f"{address}/_static/figures/{module}.js",
            expression,
            inputs,
        )
        assert not isinstance(results, dict), results
        return results

    return compute


def draw(seed, count=30):
    """Yield random states, annotations and matrices of a step, in sizes that all differ."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        n, m, a, d, V, T_x = rng.permutation(np.arange(1, 9))[:6]
        shapes = {"query": (n,), "keys": (T_x, m), "W_query": (a, n), "W_key": (a, m), "v": (a,), "W": (n, m)}
        shapes |= {"embedded": (d,), "W_y": (n, d), "W_s": (n, n), "W_c": (n, m), "W_state": (V, n)}
        shapes |= {"W_context": (V, m), "context": (m,), "other_query": (m,)}
        yield {name: 1.5 * rng.normal(size=shape) for name, shape in shapes.items()}


@pytest.mark.parametrize("kind", ["additive", "linear", "multiplicative", "dot"])
def test_the_terms_of_a_score_add_to_the_score_of_the_reference(compute, kind):
    drawn = list(draw(1))
    query = "other_query" if kind == "dot" else "query"  # a dot product needs equal sizes
    totals = compute("arithmetic", f"m.terms['{kind}'](x.{query}, x.keys, x).map(m.total)", [plain(x) for x in drawn])
    for x, scores in zip(drawn, totals, strict=True):
        s, H = x[query][None], x["keys"][None]
        wanted = {
            "additive": lambda s=s, H=H, x=x: additive_score(s, H, x["W_query"], x["W_key"], x["v"]),
            "linear": lambda s=s, H=H, x=x: additive_score__no_tanh(s, H, x["W_query"], x["W_key"], x["v"]),
            "multiplicative": lambda s=s, H=H, x=x: dot_product_score(s, H, x["W"]),
            "dot": lambda s=s, H=H: dot_product_score(s, H),
        }[kind]()[0]
        np.testing.assert_allclose(scores, wanted, **CLOSE)


def test_weights_and_their_entropy_are_those_of_the_reference(compute):
    rng = np.random.default_rng(2)
    inputs = []
    for scale in [1, 10, 5000] * 10:
        length = int(rng.integers(1, 7))
        scores, mask = scale * rng.normal(size=length), rng.random(length) < 0.7
        inputs.append({"e": scores.tolist(), "mask": mask.tolist(), "tau": float(10 ** rng.uniform(-1, 1))})
    results = compute(
        "arithmetic", "[m.softmax(x.e, x.mask, x.tau), m.entropy(m.softmax(x.e, undefined, x.tau))]", inputs
    )
    assert not all(any(x["mask"]) for x in inputs)
    for x, (weights, nats) in zip(inputs, results, strict=True):
        scores = np.array([x["e"]])
        np.testing.assert_allclose(weights, masked_softmax(scores / x["tau"], np.array([x["mask"]]))[0], **CLOSE)
        wanted = entropy(torch.tensor(scores), torch.tensor([x["tau"]], dtype=torch.float64))
        np.testing.assert_allclose(nats, wanted.item(), **CLOSE)


def test_contexts_and_pulls_are_those_of_the_reference(compute):
    rng = np.random.default_rng(3)
    inputs = []
    for x in draw(4):
        weights = softmax(rng.normal(size=len(x["keys"])))
        inputs.append({"weights": weights.tolist(), "keys": x["keys"].tolist(), "g": x["context"].tolist()})
    results = compute("arithmetic", "[m.mix(x.weights, x.keys), m.pulls(x.weights, x.keys)]", inputs)
    for x, (context, pulls) in zip(inputs, results, strict=True):
        weights, keys, g = (np.array(x[name])[None] for name in ("weights", "keys", "g"))
        np.testing.assert_allclose(context, context_vector(weights, keys)[0], **CLOSE)
        np.testing.assert_allclose(np.array(pulls) @ g[0], scores_gradient(g, weights, keys)[0], **CLOSE)


def step_of_the_reference(x, query, embedded):
    scores = additive_score(query[None], x["keys"][None], x["W_query"], x["W_key"], x["v"])
    weights = softmax(scores)
    context = context_vector(weights, x["keys"][None])
    state = decoder_step_state(embedded[None], query[None], context, x["W_y"], x["W_s"], x["W_c"])
    return scores[0], weights[0], context[0], state[0]


def test_both_orders_of_a_step_are_those_of_the_reference(compute):
    drawn = list(draw(5))
    results = compute("decoder_fusion", "m.steps(x.query, x.embedded, x)", [plain(x) for x in drawn])
    for x, both in zip(drawn, results, strict=True):
        names = ("e", "weights", "c", "state")
        for name, wanted in zip(names, step_of_the_reference(x, x["query"], x["embedded"]), strict=True):
            np.testing.assert_allclose(both["bahdanau"][name], wanted, **CLOSE)
        without = np.zeros_like(x["context"])  # in Luong's order, the state is computed before the context
        arguments = (x["embedded"], x["query"], without)
        state = decoder_step_state(*(y[None] for y in arguments), x["W_y"], x["W_s"], x["W_c"])[0]
        np.testing.assert_allclose(both["luong"]["state"], state, **CLOSE)
        for name, wanted in zip(names[:3], step_of_the_reference(x, state, x["embedded"]), strict=False):
            np.testing.assert_allclose(both["luong"][name], wanted, **CLOSE)


def test_every_step_of_a_sentence_is_that_of_the_reference(compute):
    drawn = [x | {"state": x["query"]} for x in draw(6)]
    inputs = [plain(x) | {"target": ["?"] * x["W_y"].shape[1]} for x in drawn]
    for x, steps in zip(drawn, compute("step", "m.decode(x)", inputs), strict=True):
        state = x["state"]
        for word, step in zip(np.eye(x["W_y"].shape[1]), steps, strict=True):
            scores, weights, context, state = step_of_the_reference(x, state, word)
            bias = np.zeros(len(x["W_state"]))
            words = output_distribution(state[None], context[None], x["W_state"], x["W_context"], bias)[0]
            for name, wanted in zip(
                ["e", "weights", "c", "s", "p"], (scores, weights, context, state, words), strict=True
            ):
                np.testing.assert_allclose(step[name], wanted, **CLOSE)


def test_a_step_of_a_beam_keeps_what_the_reference_keeps(compute):
    rng, inputs = np.random.default_rng(7), []
    for _ in range(20):
        width, words = rng.integers(1, 4), rng.integers(3, 6)
        scores, after = np.log(rng.random(width)), rng.dirichlet(np.ones(words), size=width)
        inputs.append({"scores": scores.tolist(), "after": after.tolist()})
    expression = """m.beamStep(x.scores.map((score, k) => ({words: [String(k)], score})),
        ([k]) => Object.fromEntries(x.after[k].map((p, w) => ["w" + w, p])), x.scores.length)"""
    for x, hypotheses in zip(inputs, compute("arithmetic", expression, inputs), strict=True):
        scores, log_probabilities = torch.tensor([x["scores"]]), torch.tensor([x["after"]]).log()
        chosen = beam_step(scores, log_probabilities)[0].tolist()
        assert [[int(hypothesis["words"][0]), int(hypothesis["words"][1][1:])] for hypothesis in hypotheses] == chosen
        wanted = [x["scores"][k] + np.log(x["after"][k][w]) for k, w in chosen]
        np.testing.assert_allclose([hypothesis["score"] for hypothesis in hypotheses], wanted, **CLOSE)


def test_numbers_have_a_minus_sign_unless_they_round_to_zero(compute):
    inputs = [
        [sign * x, n] for sign in (1, -1) for n in range(5) for x in (0, 4e-6, 0.003, 0.04, 0.3, 0.7, 2.34567, 120)
    ]
    for (x, n), text in zip(inputs, compute("base", "m.digits(...x)", inputs), strict=True):
        wanted = f"{x:.{n}f}"
        assert text == (wanted.lstrip("-") if float(wanted) == 0 else wanted.replace("-", "\N{MINUS SIGN}"))


def test_the_modules_are_small():
    every = {path.name: path.read_bytes() for path in MODULES.glob("*.js")}
    at_touch = {"touched.js", "exchange.js", "sentence.js"}  # nobody waits for them on arrival
    assert sum(len(gzip.compress(text)) for name, text in every.items() if name not in at_touch) <= 20_000
    sizes = [len(gzip.compress(every[name])) for name in at_touch]
    assert max(sizes) <= 3000
    assert sum(sizes) <= 5000
    for name in every:  # what one page loads, uncompressed
        wanted, seen = [name], set()
        while wanted:
            module = wanted.pop()
            if module not in seen:
                seen.add(module)
                wanted += re.findall(r'from "\./(\w+\.js)"', every[module].decode())
        assert sum(len(every[module]) for module in seen) <= 20_000, (name, seen)


def figure(browser, address, element, query="", unfold=True):  # noqa: F811
    """Open the page of a figure, and return the figure once it is live, with all its values shown."""
    browser.get(f"{address}/book/{PAGES[element]}.html{query}")
    until(browser, lambda: browser.execute_script(f"return document.querySelector('{element} .says')?.textContent"))
    figure_element = browser.find_element(By.TAG_NAME, element)
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", figure_element)
    values = "return arguments[0].closest('figure').querySelector('.more').open"
    assert not browser.execute_script(values, figure_element)  # they are there on demand
    if unfold:
        browser.execute_script(f"{values} = true", figure_element)
    return figure_element


def shown(element):
    """Return the tables of a figure as a reader sees them: caption -> rows of a name and its numbers or words."""
    read = """return [...arguments[0].closest("figure").querySelectorAll(":is(.view, .more) table")].map((table) => [
      table.caption.textContent, [...table.tBodies[0].rows].map((row) => [...row.cells].map((cell) => cell.textContent))])"""
    tables = dict(element.parent.execute_script(read, element))
    return {caption: [[_number(text) for text in row] for row in rows] for caption, rows in tables.items()}


def drawn(element, cases):
    """Return ``(tables, sentence)`` of a figure for each dict of values, with tables as in ``shown``."""
    draw = """const [element, cases] = arguments;
      return cases.map((values) => {
        const drawn = document.createElement("div"), parts = element.draw({...element.values, ...values}, element.data);
        drawn.innerHTML = parts.view + parts.more + `<p class="says">${parts.says}</p>`;
        return [[...drawn.querySelectorAll("table")].map((table) => [table.caption.textContent,
          [...table.tBodies[0].rows].map((row) => [...row.cells].map((cell) => cell.textContent))]),
          drawn.querySelector(".says").textContent];
      })"""
    return [
        ({caption: [[_number(text) for text in row] for row in rows] for caption, rows in tables}, sentence)
        for tables, sentence in element.parent.execute_script(draw, element, cases)
    ]


def _number(text):
    text = text.replace("\N{MINUS SIGN}", "-")
    return float(text) if re.fullmatch(r"-?\d+(\.\d+)?", text) else text


def small_print(element, selector):
    """Return what ``selector`` finds below the caption of a figure."""
    return element.find_element(By.XPATH, "ancestor::figure").find_element(By.CSS_SELECTOR, f".foot {selector}")


def control(element, name, value=None):
    more = f"[value='{value}']" if value is not None else ""
    return element.find_element(By.CSS_SELECTOR, f"[name='{name}']{more}")


def numbers_of(element):
    return json.loads(element.find_element(By.TAG_NAME, "script").get_attribute("textContent"))


def column(rows, place):
    return [row[place] for row in rows]


def test_the_scores_on_the_page_follow_the_keyboard_and_the_kind(browser, address):  # noqa: F811
    size(browser, 1280)
    element = figure(browser, address, "scoring-figure")
    start = np.array([numbers_of(element)["s"]])
    inputs = answer_key.worked_example("scoring-additive_score").inputs | {"query": start}
    *_, rows = shown(element).values()
    np.testing.assert_allclose(column(rows, -1), additive_score(**inputs)[0], atol=5e-5)
    control(element, "s1").send_keys(Keys.ARROW_LEFT * 3, Keys.TAB, Keys.ARROW_RIGHT * 2)
    moved = inputs | {"query": start + np.array([[-0.3, 0.2]])}
    *_, rows = shown(element).values()
    np.testing.assert_allclose(column(rows, -1), additive_score(**moved)[0], atol=5e-5)
    np.testing.assert_allclose(np.array([row[1:-1] for row in rows]).sum(axis=1), column(rows, -1), atol=2e-4)
    control(element, "kind", "dot").send_keys(Keys.SPACE)
    *_, rows = shown(element).values()
    np.testing.assert_allclose(column(rows, -1), dot_product_score(moved["query"], moved["keys"])[0], atol=5e-5)
    until(browser, lambda: "Dot product" in element.find_element(By.CSS_SELECTOR, "[role=status]").text)


@pytest.mark.parametrize("kind", ["additive", "linear", "dot"])
def test_a_place_has_the_colour_of_the_annotation_that_wins_there(browser, address, kind):  # noqa: F811
    size(browser, 1280)
    element = figure(browser, address, "scoring-figure")
    control(element, "kind", kind).send_keys(Keys.SPACE)
    inputs = answer_key.worked_example("scoring-additive_score").inputs
    score = {
        "additive": lambda query: additive_score(**inputs | {"query": query}),
        "linear": lambda query: additive_score__no_tanh(**inputs | {"query": query}),
        "dot": lambda query: dot_product_score(query, inputs["keys"]),
    }[kind]
    places = [(x, y) for x in np.linspace(-1.9, 2.3, 13) for y in np.linspace(-1.9, 1.9, 11)]
    colours = browser.execute_script(
        """
        const drawn = arguments[0].querySelector("[data-plane]"), box = drawn.getBoundingClientRect();
        const [x0, y1, scale] = drawn.dataset.plane.split(",").map(Number), [left, top] = [box.left + 10, box.top + 10];
        return arguments[1].map(([x, y]) => document.elementsFromPoint(left + (x - x0) * scale, top + (y1 - y) * scale)
          .filter((one) => one.matches(".region")).map((one) => Number(one.getAttribute("class")[1])));
        """,
        element,
        places,
    )
    scores = np.array([score(np.array([place]))[0] for place in places])
    clear = np.diff(np.sort(scores), axis=1)[:, -1] > 0.15  # away from a border, where a stripe is four pixels wide
    assert clear.sum() > 100
    winners = scores.argmax(axis=1) + 1
    assert [colours[i] for i in np.flatnonzero(clear)] == [[winners[i]] for i in np.flatnonzero(clear)]
    assert len(set(winners[clear])) == {"additive": 3, "linear": 1, "dot": 2}[kind]
    read = """return [...arguments[0].querySelectorAll(".region")].map((one) => one.getBBox())
      .reduce((most, box) => Math.max(most, box.x + box.width), 0)"""
    wide = browser.execute_script(read, element)
    size(browser, 375)
    until(browser, lambda: browser.execute_script(read, element) < 0.75 * wide)  # drawn anew for a narrower plane


def test_a_state_can_be_dragged_through_the_plane(browser, address):  # noqa: F811
    size(browser, 1280)
    element = figure(browser, address, "scoring-figure")
    handle = element.find_element(By.CSS_SELECTOR, ".handle circle")
    scale = float(element.find_element(By.CSS_SELECTOR, "[data-plane]").get_attribute("data-plane").split(",")[2])
    ActionChains(browser).drag_and_drop_by_offset(handle, 60, 40).perform()
    s = [float(control(element, name).get_property("value")) for name in ("s1", "s2")]
    np.testing.assert_allclose(s, np.add(numbers_of(element)["s"], [60 / scale, -40 / scale]), atol=0.06)
    inputs = answer_key.worked_example("scoring-additive_score").inputs | {"query": np.array([s])}
    *_, rows = shown(element).values()
    np.testing.assert_allclose(column(rows, -1), additive_score(**inputs)[0], atol=5e-5)


def test_the_context_follows_the_pointer_and_stays_at_the_near_edge_when_dragged_out(browser, address):  # noqa: F811
    size(browser, 1280)
    element = figure(browser, address, "context-figure")
    keys = np.array(numbers_of(element)["keys"])
    scale = float(element.find_element(By.CSS_SELECTOR, "[data-plane]").get_attribute("data-plane").split(",")[2])

    def weights():
        return np.array(column(shown(element)["What each annotation contributes"], 1))

    inside = [np.array(share) @ keys for share in ([0.2, 0.5, 0.3], [0.6, 0.1, 0.3])]
    outside = [2 * keys.mean(axis=0) - corner for corner in keys]  # each beyond the edge opposite its corner
    for k, place in enumerate([*inside, *outside]):
        move = (place - weights() @ keys) * scale * [1, -1]
        handle = element.find_element(By.CSS_SELECTOR, ".handle circle")
        ActionChains(browser).drag_and_drop_by_offset(handle, *move.round().astype(int).tolist()).perform()
        until(
            browser, lambda: small_print(element, "a").get_attribute("href") == browser.current_url
        )  # drawn once more
        after = weights()
        assert after.sum() == pytest.approx(1, abs=2e-4)
        if k < len(inside):
            np.testing.assert_allclose(after @ keys, place, atol=2 / scale)  # pixels
        else:
            assert after.argmin() == k - len(inside)
            assert 0 < after.min() < 0.02 < np.median(after)


def swipe(browser, start, move, steps=8):  # noqa: F811
    """Put one finger on the point ``start``, move it by ``move`` and lift it, as a touch screen reports that."""

    def touch(kind, *points):
        browser.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": kind, "touchPoints": list(points)})

    browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": True})
    try:
        touch("touchStart", {"x": start[0], "y": start[1]})
        for k in range(1, steps + 1):
            touch("touchMove", {"x": start[0] + move[0] * k / steps, "y": start[1] + move[1] * k / steps})
        touch("touchEnd")
    finally:
        browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": False})


def bring_to_centre(browser, element):  # noqa: F811
    """Scroll to the plane of a figure until sections that are laid out on the way no longer move it."""
    script = """const plane = arguments[0].querySelector("[data-plane]"), before = plane.getBoundingClientRect().top;
      plane.scrollIntoView({block: "center", behavior: "instant"});
      return Math.abs(plane.getBoundingClientRect().top - before) < 1"""
    until(browser, lambda: browser.execute_script(script, element))


def handle_box(browser, element):  # noqa: F811
    """Return left, top, width and height of the handle for a finger, in CSS pixels of the window."""
    read = "const b = arguments[0].querySelector('.handle').getBoundingClientRect(); return [b.left, b.top, b.width, b.height]"
    return np.array(browser.execute_script(read, element))


@pytest.mark.parametrize("element", ["scoring-figure", "softmax-figure", "context-figure", "output-layer-figure"])
def test_a_slider_that_repeats_a_handle_is_seen_only_while_the_keyboard_is_on_it(browser, address, element):  # noqa: F811
    size(browser, 1280)
    figure_element = figure(browser, address, element)
    slider = figure_element.find_element(By.CSS_SELECTOR, ".quiet input")
    look = """const [slider] = arguments, quiet = slider.closest(".quiet"), box = slider.getBoundingClientRect();
      return [getComputedStyle(quiet).opacity, document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2) === slider,
              slider.closest("figure").offsetHeight]"""
    unseen, _, height = browser.execute_script(look, slider)
    assert unseen == "0"
    assert slider.accessible_name
    slider.send_keys(Keys.ARROW_RIGHT)
    assert browser.execute_script(look, slider) == ["1", True, height]  # nothing moves when it appears


@pytest.mark.parametrize("element", ["scoring-figure", "context-figure"])
def test_beside_the_plane_a_reader_sees_bars_and_the_answer_while_dragging(browser, address, element):  # noqa: F811
    size(browser, 1280)
    figure_element = figure(browser, address, element, unfold=False)
    plane, bars, says = browser.execute_script(
        "return ['svg', 'table', '.says'].map((part) => arguments[0].querySelector(`form ${part}`).getBoundingClientRect())",
        figure_element,
    )
    assert plane["right"] < bars["left"]
    assert bars["bottom"] < plane["bottom"] < says["bottom"]
    assert says["bottom"] - plane["top"] < 500


@pytest.mark.parametrize("width", [375, 1280])
def test_of_softmax_all_three_steps_are_drawn_and_none_is_cut(browser, address, width):  # noqa: F811
    size(browser, width)
    element = figure(browser, address, "softmax-figure", unfold=False)
    read = """const svg = arguments[0].querySelector("form svg"), box = svg.getBoundingClientRect();
      const texts = [...svg.querySelectorAll("text")].map((one) => [one.textContent, one.getBoundingClientRect()]);
      return [texts.map(([words]) => words), texts.filter(([, {left, right, top, bottom}]) =>
        left < box.left - 1 || right > box.right + 1 || top < box.top || bottom > box.bottom).map(([words]) => words)]"""
    for name, keys in (("temperature", ""), ("added", Keys.END), ("temperature", Keys.ARROW_RIGHT)):
        control(element, name).send_keys(keys)
        texts, cut = browser.execute_script(read, element)
        assert cut == []
        assert {"scores", "weights, together 1"} < set(texts)
        assert sum(text.startswith("exp(") for text in texts) == (2 if keys else 1)  # exp(1001) = ∞
        assert ("exp(1001) = ∞" in texts) == (keys == Keys.END)


@pytest.mark.parametrize("move", [(-50, 0), (0, 40), (0, -40), (-30, 50), (40, -40)])
@pytest.mark.parametrize("element", ["scoring-figure", "context-figure"])
def test_a_finger_moves_the_point_and_not_the_page(browser, address, element, move):  # noqa: F811
    size(browser, 375)
    figure_element = figure(browser, address, element)
    bring_to_centre(browser, figure_element)
    scrolled, before = browser.execute_script("return scrollY"), handle_box(browser, figure_element)
    first = shown(figure_element)
    swipe(browser, before[:2] + before[2:] / 2, move)
    assert browser.execute_script("return scrollY") == scrolled
    assert shown(figure_element) != first
    after = handle_box(browser, figure_element)
    if element == "scoring-figure":  # nothing limits the point in this figure
        np.testing.assert_allclose(after[:2] - before[:2], move, atol=3)


@pytest.mark.parametrize("element", ["scoring-figure", "context-figure"])
def test_a_finger_beside_the_point_scrolls_the_page(browser, address, element):  # noqa: F811
    size(browser, 375)
    figure_element = figure(browser, address, element)
    bring_to_centre(browser, figure_element)
    scrolled, (left, top, width, height) = browser.execute_script("return scrollY"), handle_box(browser, figure_element)
    assert min(width, height) >= 24
    first = shown(figure_element)
    swipe(browser, (left - 12, top + height / 2), (0, -120))
    until(browser, lambda: browser.execute_script("return scrollY") > scrolled + 60)
    assert shown(figure_element) == first


@pytest.mark.parametrize("element", ["scoring-figure", "context-figure"])
def test_a_handle_is_a_ring_that_hides_nothing(browser, address, element):  # noqa: F811
    size(browser, 375)
    read = "return [...arguments[0].querySelectorAll('form .handle circle')].map((circle) => getComputedStyle(circle).fill)"
    fills = browser.execute_script(read, figure(browser, address, element))
    assert fills == ["rgba(0, 0, 0, 0)"] * 2


def test_a_finger_that_scrolls_from_a_slider_leaves_its_value_and_one_that_slides_moves_it(browser, address):  # noqa: F811
    size(browser, 375)
    element = figure(browser, address, "decoder-fusion-figure")
    slider = element.find_element(By.CSS_SELECTOR, "input[type=range]")
    first, values = slider.get_property("value"), {}
    for move in ((0, -100), (0, 60), (90, 0)):
        browser.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", slider)
        left, top, width, height = browser.execute_script(
            "const b = arguments[0].getBoundingClientRect(); return [b.left, b.top, b.width, b.height]", slider
        )
        before, scrolled = slider.get_property("value"), browser.execute_script("return scrollY")
        swipe(browser, (left + 0.2 * width, top + height / 2), move, steps=20)
        if move[1]:
            until(browser, lambda scrolled=scrolled: abs(browser.execute_script("return scrollY") - scrolled) > 30)
        values[move] = before, slider.get_property("value"), element.find_element(By.CSS_SELECTOR, ".value").text
    assert values[0, -100] == values[0, 60] == (first, first, f"{float(first):.2f}")
    assert values[90, 0][1] != first


def test_a_finger_that_scrolls_from_a_word_leaves_the_chosen_one(browser, address):  # noqa: F811
    size(browser, 375)
    element = figure(browser, address, "step-figure", unfold=False)
    label = element.find_element(By.CSS_SELECTOR, ".chips label:not(:has(:checked))")
    read = "return arguments[0].values.word"
    chosen = browser.execute_script(read, element)
    place = """arguments[0].scrollIntoView({block: "center", behavior: "instant"});
      const box = arguments[0].getBoundingClientRect();
      return [box.left + box.width / 2, box.top + box.height / 2]"""
    start, scrolled = browser.execute_script(place, label), browser.execute_script("return scrollY")
    swipe(browser, start, (0, -100))
    until(browser, lambda: browser.execute_script("return scrollY") > scrolled + 30)
    assert browser.execute_script(read, element) == chosen


@pytest.mark.parametrize("width", [375, 1280])
def test_an_entry_of_the_state_dragged_by_its_ring_moves_by_as_much_and_the_word_with_it(browser, address, width):  # noqa: F811
    size(browser, width)
    element = figure(browser, address, "output-layer-figure", unfold=False)
    bring_to_centre(browser, element)
    left, top, across, down = handle_box(browser, element)
    first = float(control(element, "s1").get_property("value"))
    scale = float(element.find_element(By.CSS_SELECTOR, "[data-plane]").get_attribute("data-plane").split(",")[2])
    swipe(browser, (left + across / 2, top + down / 2), (-1.2 * scale, 0))
    until(
        browser,
        lambda: "Likeliest: STOP" not in element.text and float(control(element, "s1").get_property("value")) < 0,
    )
    assert float(control(element, "s1").get_property("value")) == pytest.approx(first - 1.2, abs=0.02)
    others = [float(control(element, f"s{k}").get_property("value")) for k in (2, 3)]
    assert others == pytest.approx(numbers_of(element)["state"][1:], abs=1e-5)


@pytest.mark.parametrize("width", [320, 375, 1280])
def test_the_softmax_figure_keeps_its_height_and_its_columns_whatever_is_added(browser, address, width):  # noqa: F811
    size(browser, width)
    element = figure(browser, address, "softmax-figure", unfold=False)
    heights = set()
    for k in range(6):
        if k:
            control(element, "added").send_keys(Keys.ARROW_RIGHT)
        until(browser, lambda k=k: ("overflow" in element.find_element(By.CSS_SELECTOR, ".says").text) == (k == 5))
        heights.add(element.size["height"])
        beyond = """const right = arguments[0].getBoundingClientRect().right;
          const values = arguments[0].closest("figure").querySelector(".more");
          values.open = true;
          const cells = [...values.querySelectorAll("th, td")].filter((cell) => cell.getBoundingClientRect().right > right);
          values.open = false;
          return cells.length"""
        assert browser.execute_script(beyond, element) == 0
    assert len(heights) == 1


def test_weights_follow_the_mask_the_temperature_and_one_large_score(browser, address):  # noqa: F811
    size(browser, 1280)
    element = figure(browser, address, "softmax-figure")
    *_, rows = shown(element).values()
    scores = np.array(numbers_of(element)["scores"])
    np.testing.assert_allclose(column(rows, -1), [*softmax(scores[:3]), 0], atol=5e-5)
    control(element, "masked").send_keys(Keys.SPACE)
    control(element, "temperature").send_keys(Keys.ARROW_RIGHT * 4)
    *_, rows = shown(element).values()
    np.testing.assert_allclose(column(rows, -1), softmax(scores / 10**0.2), atol=5e-5)
    control(element, "temperature").send_keys(Keys.ARROW_LEFT * 4)
    control(element, "added").send_keys(Keys.END)
    *_, rows = shown(element).values()
    assert column(rows, -1) == [1, 0, 0, 0]
    until(browser, lambda: "overflow" in element.find_element(By.CSS_SELECTOR, "[role=status]").text)


def test_a_score_dragged_by_its_ring_moves_by_as_much_and_the_weights_with_it(browser, address):  # noqa: F811
    size(browser, 1280)
    element = figure(browser, address, "softmax-figure")
    *_, before = shown(element).values()
    ring = element.find_element(By.CSS_SELECTOR, "[data-handle='3'] circle")
    unit = float(element.find_element(By.CSS_SELECTOR, "[data-plane]").get_attribute("data-plane").split(",")[2])
    ActionChains(browser).click_and_hold(ring).move_by_offset(0, round(-1.5 * unit)).release().perform()
    *_, after = shown(element).values()
    scores, moved = column(before, 1), column(after, 1)
    assert moved[:2] == scores[:2]
    assert moved[2] - scores[2] == pytest.approx(1.5, abs=0.06)
    np.testing.assert_allclose(column(after, -1), [*softmax(np.array(moved[:3])), 0], atol=2e-3)
    texts = browser.execute_script(
        "return [...arguments[0].querySelectorAll('form text')].map((one) => one.textContent)", element
    )
    drawn = [
        float(share.split()[0]) for word in ("reason", "with", "logic") for share in texts if share.endswith(f" {word}")
    ]
    np.testing.assert_allclose(drawn, column(after, -1)[:3], atol=6e-3)
    tallest, *powers = sorted(
        browser.execute_script(
            """
        const [low, high] = [0.4, 0.75].map((part) => part * arguments[0].width);  // between the scores and the weights
        return [...arguments[0].querySelectorAll("form rect")].map((one) => one.getBBox())
          .filter(({x}) => x > low && x < high).map(({height}) => height);
        """,
            element,
        ),
        reverse=True,
    )
    np.testing.assert_allclose(np.array(powers) / tallest, sorted(column(after, -2), reverse=True)[1:], atol=9e-3)
    until(browser, lambda: "softmax.score3" in browser.current_url)  # drawn once more, after a pause
    ActionChains(browser).click_and_hold(
        element.find_element(By.CSS_SELECTOR, "[data-handle='1'] circle")
    ).move_by_offset(0, -300).release().perform()
    *_, after = shown(element).values()
    assert column(after, 1)[0] == 3  # the top of the picture


def test_the_two_orders_on_the_page_are_those_of_note_c(browser, address):  # noqa: F811
    size(browser, 1280)
    element = figure(browser, address, "decoder-fusion-figure")
    _, bahdanau, _ = shown(element).values()
    np.testing.assert_allclose(bahdanau[-1][1:], note_c_state(), atol=5e-5)
    before, *_ = shown(element).values()
    control(element, "word").send_keys(Keys.HOME)
    after, *_ = shown(element).values()
    moved = {row[0]: row[1:] != later[1:] for row, later in zip(before, after, strict=True)}
    assert moved == {"Luong, this step": True, "Bahdanau, this step": False, "Bahdanau, next step": True}


def test_the_weights_of_this_step_and_the_next_are_those_of_the_reference(browser, address):  # noqa: F811
    size(browser, 1280)
    element = figure(browser, address, "decoder-fusion-figure", unfold=False)
    x = {name: np.array(value) for name, value in numbers_of(element).items()}
    shifts = np.linspace(-1.5, 1.5, 7)
    for shift, (tables, says) in zip(shifts, drawn(element, [{"word": shift} for shift in shifts]), strict=True):
        embedded = x["embedded"] + shift
        _, bahdanau, _, state = step_of_the_reference(x, x["query"], embedded)
        _, following, *_ = step_of_the_reference(x, state, embedded)
        without = np.zeros_like(x["keys"][:1])
        arguments = (embedded[None], x["query"][None], without)
        (updated,) = decoder_step_state(*arguments, x["W_y"], x["W_s"], x["W_c"])
        _, luong, *_ = step_of_the_reference(x, updated, embedded)
        rows = {"Luong, this step": luong, "Bahdanau, this step": bahdanau, "Bahdanau, next step": following}
        table = tables["Weights of the two annotations"]
        assert column(table, 0) == list(rows)
        np.testing.assert_allclose([row[1:] for row in table], list(rows.values()), atol=5.001e-3)
        first = [float(number) for number in re.findall(r"\d\.\d\d", says)]
        np.testing.assert_allclose(first, column(list(rows.values()), 0), atol=5.001e-3)


def test_what_is_read_forward_does_not_depend_on_later_words(browser, address):  # noqa: F811
    size(browser, 1280)
    element = figure(browser, address, "reach-figure")
    says = element.find_element(By.CSS_SELECTOR, "[role=status]")
    until(
        browser, lambda: says.text == "Replacing bread changes: forward only bread; both directions every annotation."
    )
    control(element, "word", "2").send_keys(Keys.SPACE)
    until(browser, lambda: "Replacing milk changes: forward only milk, with, bread;" in says.text)


@pytest.mark.parametrize("element", ["reach-figure", "heads-figure"])
def test_solid_lines_as_thick_as_their_weights_lead_to_one_row_of_words(browser, address, element):  # noqa: F811
    size(browser, 1280)
    figure_element = figure(browser, address, element)
    read = """return [...arguments[0].querySelectorAll("form .line")].map((line) => getComputedStyle(line))
      .map(({strokeWidth, strokeDasharray}) => [parseFloat(strokeWidth), strokeDasharray])"""
    lines = browser.execute_script(read, figure_element)
    rows = [matrix[-1] for *_, matrix in numbers_of(figure_element)["matrices"]]
    np.testing.assert_allclose(column(lines, 0), 12 * np.concatenate(rows), atol=0.01)  # none, where nothing is
    assert {dashes for _, dashes in lines} == {"none"}
    assert len(figure_element.find_elements(By.CSS_SELECTOR, "form .view .chips")) == 1


def test_maxout_prefers_the_state_that_agrees_and_a_sum_always_the_same(browser, address):  # noqa: F811
    size(browser, 1280)
    element = figure(browser, address, "maxout-figure")
    readout = MaxoutOutput(feature_size=2, maxout_size=1, vocab_size=1)
    with torch.no_grad():
        readout.joined.weight.copy_(torch.tensor([[1.0, 1.0], [-1.0, -1.0]]))
        readout.W_o.weight.fill_(1.0)
        readout.joined.bias.zero_(), readout.W_o.bias.zero_()

    def logits():
        *_, rows = shown(element).values()
        return column(rows, -1)

    for context, keys in ((1.0, ""), (0.0, Keys.ARROW_LEFT * 10), (-0.5, Keys.ARROW_LEFT * 5)):
        control(element, "context").send_keys(keys)
        wanted = readout(torch.tensor([[1.0, context], [-1.0, context]])).flatten().tolist()
        assert logits() == pytest.approx(wanted, abs=5e-5)
        assert np.sign(wanted[0] - wanted[1]) == np.sign(context)
        higher = {1.0: "1 than if it is −1.", 0.0: "both states are alike here.", -0.5: "−1 than if it is 1."}[context]
        until(browser, lambda end=higher: element.find_element(By.CSS_SELECTOR, "[role=status]").text.endswith(end))
    control(element, "maxout").send_keys(Keys.SPACE)
    assert logits() == [0.5, -1.5]
    until(browser, lambda: "whatever the context" in element.find_element(By.CSS_SELECTOR, "[role=status]").text)


def test_each_head_looks_where_its_name_says(browser, address):  # noqa: F811
    size(browser, 1280)
    element = figure(browser, address, "heads-figure")
    *_, rows = shown(element).values()
    words, before, alike = (column(rows, place) for place in range(3))
    assert words[before.index(max(before))] == "with"  # the word before bread
    assert [word for word, weight in zip(words, alike, strict=True) if weight > 0.2] == ["tea", "milk", "bread"]
    until(browser, lambda: "head 1 most at with (0.9" in element.find_element(By.CSS_SELECTOR, "[role=status]").text)


@pytest.mark.parametrize("element", PAGES)
def test_on_a_phone_the_controls_of_a_figure_and_what_they_change_fit_one_screen(browser, address, element):  # noqa: F811
    size(browser, 375)
    figure_element = figure(browser, address, element)
    top, bottom = browser.execute_script(
        """const boxes = [".controls", ".view"].map((part) => arguments[0].querySelector(part).getBoundingClientRect());
        return [Math.min(...boxes.map(({ top }) => top)), Math.max(...boxes.map(({ bottom }) => bottom))]""",
        figure_element,
    )
    assert bottom - top <= 600


def test_a_beam_of_two_finds_what_greedy_misses(browser, address):  # noqa: F811
    size(browser, 1280)
    element = figure(browser, address, "beam-figure")
    says = element.find_element(By.CSS_SELECTOR, "[role=status]")
    assert "A STOP, probability 0.2000" in says.text
    control(element, "width", "2").send_keys(Keys.SPACE)
    until(browser, lambda: "B STOP, probability 0.3600" in says.text)


def beam_over_two_steps(width, begin, after):
    """Return the words that the reference keeps after one step and after two: lists of hypotheses, best first."""
    words = list(begin)
    kept, scores = [()], torch.full((1, width), -torch.inf, dtype=torch.float64)
    scores[0, 0] = 0.0  # all hypotheses begin alike
    rounds = []
    for _ in range(2):
        log_probabilities = torch.full((1, width, len(words)), -torch.inf, dtype=torch.float64)
        for k, hypothesis in enumerate(kept):
            stays = dict.fromkeys(words, 0.0) | {"STOP": 1.0}
            following = begin if not hypothesis else stays if hypothesis[-1] == "STOP" else after[hypothesis[-1]]
            log_probabilities[0, k] = torch.tensor([following[word] for word in words], dtype=torch.float64).log()
        chosen = beam_step(scores, log_probabilities)[0].tolist()
        scores = torch.stack([scores[0, k] + log_probabilities[0, k, w] for k, w in chosen])[None]
        kept = [kept[k] if kept[k][-1:] == ("STOP",) else (*kept[k], words[w]) for k, w in chosen]
        rounds.append(kept)
    return *rounds, scores[0].exp().tolist()


def test_every_beam_ends_with_the_likeliest_hypothesis_that_has_stopped(browser, address):  # noqa: F811
    size(browser, 1280)
    element = figure(browser, address, "beam-figure", unfold=False)
    data, cases = numbers_of(element), []
    for width in (1, 2, 3):
        for a in (0.07, 0.21, 0.33, 0.49, 0.62, 0.84):
            cases += [{"width": str(width), "a": a, "stop": stop} for stop in (0.11, 0.32, 0.57, 0.78, 0.94)]
    unfinished = 0
    for case, (tables, says) in zip(cases, drawn(element, cases), strict=True):
        width, a, stop = int(case["width"]), case["a"], case["stop"]
        begin = data["first"] | {"A": a, "B": 1 - data["first"]["STOP"] - a}
        after = data["second"] | {"B": {"A": (1 - stop) / 2, "B": (1 - stop) / 2, "STOP": stop}}
        first, last, probabilities = beam_over_two_steps(width, begin, after)
        stopped = [k for k, hypothesis in enumerate(last) if hypothesis[-1] == "STOP"]
        unfinished += bool(stopped and stopped[0])
        best = stopped[0] if stopped else 0
        held = ", ".join(word for (word,) in first)
        assert says.startswith(f"After one word, a beam of {width} keeps {held}.")
        if stopped:  # otherwise two may be equally likely
            assert says.endswith(f"It ends with {' '.join(last[best])}, probability {probabilities[best]:.4f}.")
        table = {row[0]: row[2] for row in tables["Every continuation over two steps"]}
        for words, said in table.items():
            *beginning, _ = hypothesis = tuple(words.split())
            if words not in ("A A", "A B", "B A", "B B"):  # two of them are equally likely
                tried = not beginning or tuple(beginning) in first
                assert said == ("kept" if hypothesis in last else "dropped" if tried else "never tried"), (case, words)
    assert unfinished > 5  # the likeliest of the last beam had not stopped


def test_a_word_of_the_landing_page_lights_up_its_source_words(browser, address):  # noqa: F811
    size(browser, 1280)
    element = figure(browser, address, "step-figure")
    says = element.find_element(By.CSS_SELECTOR, "[role=status]")
    assert "most at logic" in says.text
    control(element, "word", "0").send_keys(Keys.ARROW_RIGHT)
    until(browser, lambda: "most at with" in says.text)
    labels = element.find_elements(By.CSS_SELECTOR, ".chips label")
    assert [label.text.split("\n")[1:] for label in labels] == [["tark"], ["ke"], ["saath"], ["kaaran"], []]
    ActionChains(browser).move_to_element(labels[3]).perform()
    until(browser, lambda: "most at reason" in says.text)
    for rows in shown(element).values():
        assert rows
    data = numbers_of(element)
    x = {name: np.array(value) for name, value in data.items() if name not in ("source", "target")}
    state = x["state"]
    for word in np.eye(5)[:4]:
        scores, weights, context, state = step_of_the_reference(x, state, word)
    words = output_distribution(state[None], context[None], x["W_state"], x["W_context"], np.zeros(5))[0]
    for rows, wanted in zip(shown(element).values(), (scores, weights, context, state, words), strict=True):
        np.testing.assert_allclose(column(rows, 1), wanted, atol=5e-4)
    labels[4].click()
    until(browser, lambda: says.text.startswith("To end the sentence, the model looks at reason"))


@pytest.mark.parametrize("width", [1280, 1920])
def test_the_landing_figure_is_wider_than_the_text_and_all_its_lines_are_clear(browser, address, width):  # noqa: F811
    shape = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", shape)
    open_page(browser, f"{address}/book/intro.html")
    drawn = browser.execute_script(
        """
        const figure = document.querySelector("step-figure"), box = (one) => one.getBoundingClientRect();
        return {
          wider: box(figure).width / box(document.querySelector(".bd-article .lead")).width,
          right: box(figure).right, contents: box(document.querySelector(".bd-sidebar-secondary")).left,
          lines: [...figure.querySelectorAll("form .line")].map((line) => {
            const {opacity, strokeWidth} = getComputedStyle(line);
            return [Number(opacity), parseFloat(strokeWidth)];
          }),
        };
        """
    )
    assert drawn["wider"] > 1.3
    assert drawn["right"] <= (width if width < 1600 else drawn["contents"])
    assert len(drawn["lines"]) == 15
    assert min(opacity for opacity, _ in drawn["lines"]) >= 0.75  # a contrast of 3 in the light mode
    assert min(stroke for _, stroke in drawn["lines"]) >= 2


def test_the_code_of_the_step_with_a_pencil_prints_what_the_landing_figure_shows(site):
    page = pages(site)["intro"]
    data = json.loads(re.search(r'<script type="application/json">(.*?)</script>', page, flags=re.DOTALL)[1])
    x = {name: np.array(value) for name, value in data.items() if name not in ("source", "target")}
    scores, weights, context, state = step_of_the_reference(x, x["state"], np.eye(5)[0])
    words = output_distribution(state[None], context[None], x["W_state"], x["W_context"], np.zeros(5))[0]
    wanted = {"scores": scores, "weights": weights, "context": context, "new state": state, "probability": words}
    text = re.sub(r"<[^>]+>", "", page)
    for name, numbers in wanted.items():
        printed = re.search(rf"^{name} +\[(.*)\]$", text, flags=re.MULTILINE)
        assert printed, name
        np.testing.assert_allclose(np.array(printed[1].split(), dtype=float), numbers, atol=5e-5 + 1e-12)


def test_the_picture_of_the_readme_has_the_weights_of_the_landing_figure(site):
    first = re.search(r"<step-figure.*?</svg>", pages(site)["intro"], flags=re.DOTALL)[0]
    drawn = (ROOT / "book/_static/soft-alignment.svg").read_text(encoding="utf-8")
    shown, widths = (
        sorted(float(width) for width in re.findall(rf"stroke-width{sign}([\d.]+)", text))
        for sign, text in ((":", first), ('="', drawn))
    )
    assert len(widths) == 5 * 3
    np.testing.assert_allclose(shown, widths, atol=0.051)
    assert "book/_static/soft-alignment.svg" in (ROOT / "README.md").read_text(encoding="utf-8")


@contextlib.contextmanager
def forced_colours(browser):  # noqa: F811
    """Emulate colours forced by the system, as in a high-contrast mode."""
    features = [{"name": "forced-colors", "value": "active"}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    try:
        yield
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_with_forced_colours_bars_and_the_chosen_word_can_be_seen(browser, address, mode):  # noqa: F811
    size(browser, 1280)
    element = figure(browser, address, "step-figure")
    browser.execute_script("document.documentElement.dataset.theme = arguments[0]", mode)
    read = """return [...arguments[0].closest("figure").querySelectorAll(arguments[1])].map((one) => {
      const style = getComputedStyle(one);
      return [style.backgroundColor.match(/\\d+/g).slice(0, 3).join(), style.color.match(/\\d+/g).join()];  // opaque or not
    })"""
    with forced_colours(browser):
        chosen = browser.execute_script(read, element, ".chips label:has(:checked)")
        others = browser.execute_script(read, element, ".chips label:not(:has(:checked))")
        bars = browser.execute_script(read, element, ".bar b")
        tracks = browser.execute_script(read, element, ".bar")
    ((ground, text),) = chosen
    assert len(others) == 4
    assert ground not in {text, *(other for other, _ in others)}
    assert len(bars) > 10
    assert {bar for bar, _ in bars}.isdisjoint(track for track, _ in tracks)


@pytest.mark.parametrize(
    "element", [element for element in PAGES if element not in ("capstone-figure", "spelling-figure")]
)
def test_the_address_reproduces_a_view(browser, address, element):  # noqa: F811
    size(browser, 1280)
    figure_element = figure(browser, address, element)

    def values():
        return figure_element.parent.execute_script("return arguments[0].values", figure_element)

    first, first_values = shown(figure_element), values()
    for place, slider in enumerate(figure_element.find_elements(By.CSS_SELECTOR, "[type=range]")):
        slider.send_keys(Keys.ARROW_RIGHT * (2 + place % 2))  # equal changes may cancel each other out
    boxes = figure_element.find_elements(By.CSS_SELECTOR, "[type=checkbox]")
    others = figure_element.find_elements(By.CSS_SELECTOR, "[type=radio]:not(:checked)")
    for box in [*boxes, *others[:1]]:
        box.send_keys(Keys.SPACE)
    view, view_values = shown(figure_element), values()
    assert view != first
    assert all(view_values[name] != value for name, value in first_values.items())  # every control was changed
    until(browser, lambda: len(parse_qs(urlsplit(browser.current_url).query)) == len(first_values))
    link = small_print(figure_element, "a").get_attribute("href")
    assert urlsplit(link).query == urlsplit(browser.current_url).query
    figure_element = figure(browser, address, element, f"?{urlsplit(link).query}")
    assert (shown(figure_element), values()) == (view, view_values)
    small_print(figure_element, "button").click()
    until(browser, lambda: not urlsplit(browser.current_url).query)
    assert (shown(figure_element), values()) == (first, first_values)


@pytest.mark.parametrize("element", PAGES)
def test_a_figure_fits_speaks_and_does_not_complain(browser, address, element):  # noqa: F811
    complaints(browser)
    figure_element = figure(browser, address, element)
    assert complaints(browser) == []
    near = "arguments[0].scrollIntoView();"  # a distant figure is not laid out, and has no accessible name
    drawn_anew = near + "return arguments[0].querySelector('.view').clientWidth === arguments[0].width"
    for width in (375, 1280):
        size(browser, width)
        until(browser, functools.partial(browser.execute_script, drawn_anew, figure_element))
        assert overhang(browser) <= 1
        assert figure_element.get_attribute("role") == "group"
        until(browser, lambda: browser.execute_script(near, figure_element) or len(figure_element.accessible_name) > 10)
        widgets = figure_element.find_elements(By.CSS_SELECTOR, "input, button")
        for widget in [*widgets, small_print(figure_element, "a"), small_print(figure_element, "button")]:
            assert widget.accessible_name.strip(), widget.get_attribute("outerHTML")
        inside = """return [...arguments[0].querySelectorAll('form :is(table, svg, label)')].filter((one) => {
          const box = one.getBoundingClientRect(), all = arguments[0].getBoundingClientRect();
          return !one.closest(".wide") && (box.left < all.left - 1 || box.right > all.right + 1);
        }).map((one) => one.outerHTML.slice(0, 80))"""
        assert browser.execute_script(inside, figure_element) == []


@pytest.mark.parametrize("element", PAGES)
def test_without_scripts_a_figure_is_its_first_view_and_a_table_of_numbers(site, element):
    page = pages(site)[PAGES[element]]
    inside = re.search(rf"<{element} .*?</{element}>", page, flags=re.DOTALL)[0]
    assert len(re.findall(r'<div class="?first', inside)) == 1
    drawn_in_its_table = ("decoder-fusion-figure", "capstone-figure", "spelling-figure")
    assert ("<svg" in inside) == (element not in drawn_in_its_table)
    tables = re.findall(r"<table.*?</table>", inside, flags=re.DOTALL)
    assert max(len(re.findall(r"<td[^>]*>[^<]*\d", table)) for table in tables) >= 6


@pytest.mark.parametrize("element", PAGES)
def test_the_view_without_scripts_is_what_the_figure_shows_first(browser, address, element):  # noqa: F811
    size(browser, 1280)
    figure_element = figure(browser, address, element)
    if element in ("capstone-figure", "spelling-figure"):
        browser.execute_script("arguments[0].load()", figure_element)
        until(browser, lambda: browser.execute_script("return arguments[0].models.Ours", figure_element))
    texts = browser.execute_script(
        """const [figure, width] = arguments, drawn = document.createElement("div");
        const { view, says } = figure.draw(figure.values, Object.assign(figure, { width }).data);
        drawn.innerHTML = `${view.replace(/ Drag [^.]*\\.| title="[^"]*"/g, "")}<p>${says}</p>`;
        return [drawn, figure.querySelector(".still .first")].map(({ innerHTML }) => innerHTML.replace(/\\s+/g, ""));""",
        figure_element,
        320,
    )
    drawn, first = (re.sub(r"\d+\.\d{4,}", lambda number: f"{float(number[0]):.3f}", text) for text in texts)
    assert first.endswith(drawn)
    words = figure_element.find_elements(By.CSS_SELECTOR, ".controls .chips label")
    assert len(re.findall(r"<b>|<bclass=\"chosen\">", first.removesuffix(drawn))) == len(words)


@pytest.mark.parametrize("width", [320, 375, 414, 600, 631, 768, 1024, 1280])
def test_the_step_has_from_the_first_moment_the_height_that_it_will_have(browser, address, width):  # noqa: F811
    shape = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 992}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", shape)
    element = figure(browser, address, "step-figure", unfold=False)
    reserved, *heights = browser.execute_script(
        """
        const [element] = arguments, reserved = parseFloat(getComputedStyle(element).minHeight);
        element.style.minHeight = "0";
        return [reserved, ...element.inputs.map((input) => {
          input.checked = true;
          element.show(true);
          return element.getBoundingClientRect().height;
        })];
        """,
        element,
    )
    size(browser, 1280)
    assert len(heights) > 2
    assert max(heights) <= reserved <= max(heights) + 32  # pixels: room for at most two more lines


def test_on_paper_a_figure_is_its_table(browser, address):  # noqa: F811
    size(browser, 1280)
    element = figure(browser, address, "scoring-figure")
    still, live = element.find_element(By.CLASS_NAME, "still"), element.find_element(By.TAG_NAME, "form")
    assert (still.is_displayed(), live.is_displayed()) == (False, True)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        assert (still.is_displayed(), live.is_displayed()) == (True, False)
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def npz_of(model):
    """Return the weights of a model as a page gets them: arrays, and their shapes as lists."""
    arrays = {name: parameter.detach().numpy() for name, parameter in model.named_parameters()}
    shapes = {name: list(array.shape) for name, array in arrays.items()}
    return arrays, shapes


READ = """
const [module, file, shapes, sentences, limits, done] = arguments;
const bytes = Uint8Array.from(atob(file), (letter) => letter.charCodeAt(0)).buffer;
import(module).then(async (m) => {
  const model = m.checked(await m.readNpz(bytes), shapes);
  return sentences.map((words) => m.translate(model, m.read(model, words), limits));
}).then(done, (error) => done(String(error.message)));
"""
LIMITS = {"start": START, "stop": STOP, "longest": MAX_LENGTH}


@pytest.fixture(scope="module")
def translate_in_page(compute, browser, address):  # noqa: F811
    def translate_in_page(file, sentences=(), limits=LIMITS, model=None):
        shapes = npz_of(model or build_model())[1]
        module, text = f"{address}/_static/figures/model.js", base64.b64encode(file).decode()
        return browser.execute_async_script(READ, module, text, shapes, sentences, limits)

    return translate_in_page


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_the_model_in_the_page_translates_as_torch_does(translate_in_page, site, tmp_path, save):
    with np.load(site / "made" / "capstone.npz") as arrays:
        save(tmp_path / "own.npz", **arrays)
    model, unseen = load_trained("capstone"), unseen_sentences(seed=5)
    chosen = [np.array(unseen["source"][k][: unseen["lengths"][k]]) for k in range(12)]
    translations = translate_in_page((tmp_path / "own.npz").read_bytes(), [words.tolist() for words in chosen])
    assert isinstance(translations, list), translations
    for words, steps in zip(chosen, translations, strict=True):
        numbers, weights = model.greedy(torch.tensor(words[None]), torch.tensor([len(words)]), START, STOP, MAX_LENGTH)
        assert [step["word"] for step in steps] == numbers[0].tolist()
        np.testing.assert_allclose([step["weights"] for step in steps], weights[0], rtol=0, atol=1e-4)


def test_the_page_pronounces_with_one_byte_a_parameter_as_torch_does(translate_in_page, site):
    assert TRAINED["spelling"].stat().st_size <= 500_000
    model, words = load_trained("spelling"), words_of("test")[::200]
    source, lengths = map(torch.from_numpy, encode_letters(words))
    limits = {"start": START, "stop": STOP, "first": 1, "longest": MOST_PHONEMES}
    letters = [row[:length].tolist() for row, length in zip(source, lengths, strict=True)]
    pronunciations = translate_in_page((site / "made" / "spelling.npz").read_bytes(), letters, limits, model)
    assert isinstance(pronunciations, list), pronunciations
    for word, length, steps in zip(source, lengths, pronunciations, strict=True):
        numbers, weights = model.greedy(word[None, :length], length[None], START, STOP, MOST_PHONEMES)
        assert [step["word"] for step in steps] == numbers[0].tolist()
        np.testing.assert_allclose([step["weights"] for step in steps], weights[0], rtol=0, atol=1e-5)


def test_a_reader_types_a_word_and_sees_its_phonemes(browser, address):  # noqa: F811
    element = figure(browser, address, "spelling-figure")
    says = element.find_element(By.CSS_SELECTOR, "[role=status]")
    word = control(element, "sentence")
    word.clear()
    word.send_keys("Knight", Keys.ENTER)
    until(browser, lambda: "N AY T STOP." in says.text)
    assert heat_maps(element)["Ours"] == ["written", *"knight", "prob."]
    word.clear()
    word.send_keys("naïve", Keys.ENTER)
    until(browser, lambda: "does not know the letter “ï”. It has read only words of the letters a to z." in says.text)
    assert heat_maps(element)["Ours"] == ["written", *"knight", "prob."]  # the last good picture stays
    word.send_keys(Keys.CONTROL, "a", Keys.DELETE)
    until(browser, lambda: says.text == "Type a word.")
    word.send_keys("Don't!")
    until(browser, lambda: heat_maps(element)["Ours"] == ["written", *"dont", "prob."])
    assert complaints(browser) == []


@pytest.mark.parametrize(
    ("element", "longest", "more", "refusal"),
    [
        ("spelling-figure", "internationalization", "s", f"A word has at most {MOST_PHONEMES} letters."),
        ("capstone-figure", "tea with" + " milk with" * 11, " tea", f"A sentence has at most {MAX_LENGTH} words."),
    ],
    ids=["word", "sentence"],
)
def test_the_longest_input_is_read_and_a_longer_one_refused(browser, address, element, longest, more, refusal):  # noqa: F811
    size(browser, 1280)
    parts = longest.split() if " " in longest else [*longest]
    assert len(parts) == (MAX_LENGTH if " " in longest else MOST_PHONEMES)
    figure_element = figure(browser, address, element, unfold=False)
    sentence = control(figure_element, "sentence")
    sentence.clear()
    sentence.send_keys(longest, Keys.ENTER)
    until(browser, lambda: heat_maps(figure_element).get("Ours") == ["written", *parts, "prob."])
    sentence.send_keys(more, Keys.ENTER)
    until(browser, lambda: figure_element.find_element(By.CSS_SELECTOR, "[role=status]").text == refusal)
    assert heat_maps(figure_element)["Ours"] == ["written", *parts, "prob."]  # the last good picture stays


def test_on_a_phone_all_letters_of_a_long_word_are_seen_at_once(browser, address):  # noqa: F811
    size(browser, 375)
    element = figure(browser, address, "spelling-figure")
    until(
        browser, lambda: "STOP." in element.find_element(By.CSS_SELECTOR, "[role=status]").get_property("textContent")
    )
    script = """const box = arguments[0].querySelector(".wide").getBoundingClientRect();
      return [...arguments[0].querySelectorAll("form .heat thead th")].map((cell) => cell.getBoundingClientRect())
        .filter(({left, right, width}) => left >= box.left - 1 && right <= box.right + 1 && width > 10).length"""
    assert browser.execute_script(script, element) == len("knightsbridge") + 2


def test_while_somebody_types_the_picture_stays(browser, address):  # noqa: F811
    size(browser, 1280)
    element = figure(browser, address, "capstone-figure")
    says, sentence = element.find_element(By.CSS_SELECTOR, "[role=status]"), control(element, "sentence")
    until(browser, lambda: "STOP." in says.text)
    columns = heat_maps(element)["Ours"]
    for letter in "tea with mi":
        sentence.send_keys(letter)
        assert heat_maps(element)["Ours"] == columns
        assert "no word" not in says.text
    sentence.send_keys(Keys.CONTROL, "a")
    sentence.send_keys("Reason, With Logic.")
    wanted, _ = translate("reason with logic")
    until(browser, lambda: f"Ours: {wanted} STOP." in says.text)


def test_a_model_without_training_is_no_luckier_in_the_page(translate_in_page, tmp_path):
    model = build_model(seed=3)
    save_weights(model, tmp_path / "own.npz")
    translations = translate_in_page((tmp_path / "own.npz").read_bytes(), [[3, 29, 4]])
    words, weights = model.greedy(torch.tensor([[3, 29, 4]]), torch.tensor([3]), START, STOP, MAX_LENGTH)
    assert [step["word"] for step in translations[0]] == words[0].tolist()
    np.testing.assert_allclose([step["weights"] for step in translations[0]], weights[0], rtol=0, atol=1e-4)


def test_the_page_takes_both_precisions_and_refuses_other_files(translate_in_page, tmp_path):
    arrays, _ = npz_of(build_model())

    def said(**changed):
        changed = {name: array for name, array in (arrays | changed).items() if array is not None}
        np.savez(tmp_path / "own.npz", **changed)
        return translate_in_page((tmp_path / "own.npz").read_bytes())

    name, weight = "encoder.W_init.weight", arrays["encoder.W_init.weight"]
    assert said() == []
    assert said(**{name: weight.astype(np.float64)}) == []
    assert said(**{name: None}) == f"the array {name} is missing"
    assert said(**{name: weight[1:]}) == f"{name} has shape (47, 48); (48, 48) is right"
    assert said(**{name: weight * np.nan}) == f"{name} holds numbers that are not finite"
    assert said(**{name: weight.astype(int)}) == "an array is not of plain floating point numbers"
    assert said(**{name: np.asfortranarray(weight)}) == "an array is not of plain floating point numbers"
    assert translate_in_page(b"a picture of a cat, at least twenty-two letters long") == "this is no npz file"


def heat_maps(element):
    """Return the models whose heat maps are shown, with the titles of the columns."""
    read = """return [...arguments[0].querySelectorAll("form .heat")].map((table) =>
      [table.caption.textContent, [...table.tHead.rows[0].cells].map((cell) => cell.textContent)])"""
    return {caption.partition(":")[0]: titles for caption, titles in element.parent.execute_script(read, element)}


def test_a_reader_types_a_sentence_and_watches_it_translated_row_by_row(browser, address, site):  # noqa: F811
    size(browser, 1280)
    browser.get_log("performance")
    element = figure(browser, address, "capstone-figure")
    says = element.find_element(By.CSS_SELECTOR, "[role=status]")
    sentence = control(element, "sentence")
    sentence.clear()
    sentence.send_keys("tea with milk and bread", Keys.ENTER)
    rows = "return document.querySelectorAll('capstone-figure form .heat tbody tr:not(.coming)').length"
    counts = []
    until(browser, lambda: counts.append(browser.execute_script(rows)) or counts[-1] == 7)
    assert len(set(counts)) > 3  # it appeared row by row
    wanted, _ = translate("tea with milk and bread")
    until(browser, lambda: f"Ours: {wanted} STOP." in says.text)
    model = "/made/capstone.npz", "/figures/model.js"
    assert len({url for url in requests(browser) if url.endswith(model)}) == 2
    assert heat_maps(element)["Ours"] == ["written", "tea", "with", "milk", "and", "bread", "prob."]
    sentence.clear()
    sentence.send_keys("tea with <b>coffee")
    until(browser, lambda: "no word “b”" in says.text)  # what is between words is ignored


@pytest.mark.parametrize("name", ["capstone", "spelling"])
def test_a_trained_model_is_loaded_at_the_first_touch_and_changes_nothing_that_is_seen(browser, address, name):  # noqa: F811
    size(browser, 375)
    open_page(browser, f"{address}/book/{name}.html")
    element = browser.find_element(By.TAG_NAME, f"{name}-figure")
    look = """const [element] = arguments, shown = [".view", ".says"].map((part) => element.querySelector(part).innerText);
      return [element.offsetHeight, element.querySelectorAll(".coming").length, ...shown]"""
    loaded = "return Boolean(arguments[0].models.Ours)"
    until(browser, lambda: browser.execute_script("return arguments[0].live", element))
    before = browser.execute_script(look, element)
    assert "STOP." in before[-1]
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
    time.sleep(2)  # to see that nothing comes
    fetched = "return performance.getEntriesByType('resource').filter(({ name }) => name.endsWith('.npz')).length"
    assert browser.execute_script(fetched) == 0
    browser.execute_script("arguments[0].querySelector('input').focus()", element)
    until(browser, lambda: browser.execute_script(loaded, element))
    assert browser.execute_script(look, element) == before
    assert browser.execute_script(fetched) == 1


def test_a_student_sees_a_model_of_his_own_beside_ours_and_it_goes_nowhere(browser, address, tmp_path):  # noqa: F811
    size(browser, 1280)
    model = build_model(seed=3)
    save_weights(model, tmp_path / "capstone.npz")
    element = figure(browser, address, "capstone-figure", "?capstone.sentence=milk+with+tea")
    says = element.find_element(By.CSS_SELECTOR, "[role=status]")
    until(browser, lambda: "Ours" in says.text)
    requests(browser)
    assert not small_print(element, "input[type=file]").is_displayed()  # until somebody asks for it
    small_print(element, "summary").click()
    small_print(element, "input[type=file]").send_keys(str(tmp_path / "capstone.npz"))
    until(browser, lambda: set(heat_maps(element)) == {"Ours", "Yours"})
    numbers = [SOURCE_WORDS.index(word) for word in ("milk", "with", "tea")]
    words, _ = model.greedy(torch.tensor([numbers]), torch.tensor([3]), START, STOP, MAX_LENGTH)
    names = ["STOP" if word == STOP else TARGET_WORDS[word] for word in words[0].tolist()]
    assert len(names) == MAX_LENGTH
    assert "STOP" not in names
    cut_off = f" … This has been cut off: the model did not stop after {MAX_LENGTH} words."
    until(browser, lambda: "Yours: " + " ".join(names) + cut_off in says.get_property("textContent"))
    assert requests(browser) == []


def test_a_file_that_cannot_be_used_is_refused_until_a_good_one_takes_its_place(browser, address, site, tmp_path):  # noqa: F811
    size(browser, 1280)
    element = figure(browser, address, "capstone-figure", "?capstone.sentence=milk+with+tea", unfold=False)
    says = element.find_element(By.CSS_SELECTOR, "[role=status]")
    wanted, _ = translate("milk with tea")
    (tmp_path / "other.npz").write_bytes(b"no model at all, but long enough to be searched")
    small_print(element, "summary").click()
    small_print(element, "input[type=file]").send_keys(str(tmp_path / "other.npz"))
    until(browser, lambda: says.text == f"other.npz cannot be used: this is no npz file. Ours: {wanted} STOP.")
    small_print(element, "input[type=file]").send_keys(str(site / "made" / "capstone.npz"))
    until(browser, lambda: says.text == f"Ours: {wanted} STOP. Yours: {wanted} STOP.")


def test_the_landing_page_has_a_row_for_every_assignment_with_what_its_key_says(site):
    page = pages(site)["intro"]
    cards = re.findall(r'<li><a href="(\w+)\.html">(.*?)</a></li>', page, flags=re.DOTALL)
    texts = {topic: re.sub(r"<[^>]+>", " ", text) for topic, text in cards if "exercises" in text}
    assert set(texts) == set(answer_key.topics())
    for topic, text in texts.items():
        entries = answer_key.load(topic).values()
        least, most = answer_key.minutes(entries)
        counts = re.search(r"(\d+) exercises(?: and (\d+) warm-ups?)? · (\d+)–(\d+) min", text).groups(default=0)
        assert [*map(int, counts)] == [len(entries), len(answer_key.load_warm_ups(topic)), least, most]
        assert "?" in text
        assert "'" not in html.unescape(text)


def test_the_landing_page_has_one_way_in_for_each_reader(site):
    page = pages(site)["intro"]
    ways = re.search(r'<ul class="ways">.*?</ul>', page, flags=re.DOTALL)[0]
    assert Addresses(ways).links == ["encoder.html", "for_students.html", "for_instructors.html"]
