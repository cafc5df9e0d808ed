"""Questions in a page: each choice opens with its reason, and nothing that can be computed is typed by hand."""

import re

import pytest

from autograder.paths import ROOT
from solutions import answer_key
from solutions.mistakes.softmax import weights_by_hand_twin__linear
from tests.book.small_site import build_site, write_site

CONF = """
extensions = ["myst_nb", "quiz"]
myst_enable_extensions = ["dollarmath", "tasklist"]
"""
QUESTION = """# Softmax

```{self-check}
What is $a$?

- right: {number}`softmax(np.array([0.0, np.log(3)]))[1]:.2f`

  Because of {number}`-1 / 4:.2f`, or {number}`tuple(map(round, 3 * np.ones(2)))`.

- wrong: all of $b$

  {mistake}`softmax.weights_by_hand_twin__linear`
```
"""
CHECKS = re.compile(r"```\{self-check\}\n(.*?)```", flags=re.DOTALL)


FORMULA = QUESTION.replace("all of $b$", "$(2, 2)$").replace(
    "{number}`softmax(np.array([0.0, np.log(3)]))[1]:.2f`", "$a = b$ or less"
)


def build_pages(folder, pages, strict=True):
    """Build a book of ``pages``, ``{name: text}``, in ``folder``; return the website's folder and the warnings."""
    contents = "\n".join(pages)
    texts = {f"{name}.md": text for name, text in pages.items()}
    write_site(folder, CONF, {"index.md": f"# Book\n\n```{{toctree}}\n{contents}\n```\n", **texts})
    return build_site(folder, strict)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    return build_pages(tmp_path_factory.mktemp("questions"), {"softmax": QUESTION, "formula/softmax": FORMULA})[0]


def test_a_choice_opens_with_its_reason_and_needs_no_script(site):
    page = (site / "softmax.html").read_text()
    group = re.search(
        r'<div aria-labelledby="(.*?)" class="self-check" role="group">(.*?)</details>\s*</div>', page, re.S
    )
    assert f'<p class="question" id="{group[1]}">What is' in group[2]
    choice = (
        r'<details class="choice (\w+)" name="(\S+)"><summary>(.*?)</summary>\s*<div class="reason[^>]*>(.*?)</div>'
    )
    right, wrong = re.findall(choice, group[2], re.S)
    assert right[:3] == ("right", wrong[1], "0.75")
    assert '<strong>Right.</strong> Because of \N{MINUS SIGN}0.25, or <span class="math' in right[3]
    assert "(3, 3)\\)</span>." in right[3]
    assert wrong[0] == "wrong"
    assert wrong[2].startswith("all of ")
    assert f"<strong>No.</strong> {' '.join(weights_by_hand_twin__linear.__doc__.split())}" in wrong[3]
    assert "<script" not in group[2]


def test_a_choice_that_is_a_formula_has_a_name_of_its_own(site):
    page = (site / "formula" / "softmax.html").read_text()
    assert re.findall(r"<summary(.*?)>", page) == ["", ' aria-label="(2, 2)"']


SPOILT = [
    ("all of $b$", r"$\alpha$", "add a word"),
    ("wrong: all", "right: all", "exactly one begins with right:"),
    ("- right:", "- wrong:", "exactly one begins with right:"),
    ("wrong: all", "[ ] all", "a choice begins with right: or wrong:"),
    ("all of $b$\n\n  {mistake}`softmax.weights_by_hand_twin__linear`", "all of $b$", "a second one with its reason"),
    ("What is $a$?\n", "", "a paragraph with the question, then a list of choices"),
    (
        "softmax.weights_by_hand_twin__linear",
        "softmax.weights_by_hand_twin__linaer",
        "no mistake 'softmax.weights_by_hand_twin__linaer'",
    ),
    ("softmax.weights_by_hand_twin__linear", "softmax.np", "no mistake 'softmax.np'"),
]


@pytest.fixture(scope="module")
def complaints(tmp_path_factory):
    """What the build says about each page with one of the broken questions."""
    pages = {f"{number}/softmax": QUESTION.replace(old, new) for number, (old, new, _) in enumerate(SPOILT)}
    _, log = build_pages(tmp_path_factory.mktemp("spoilt"), pages, strict=False)
    return {number: re.findall(rf"/{number}/softmax\.md\S* ERROR: (.*)", log) for number in range(len(SPOILT))}


@pytest.mark.parametrize("number", range(len(SPOILT)), ids=[reason for _, _, reason in SPOILT])
def test_what_is_no_question_with_choices_is_refused(complaints, number):
    old, _, reason = SPOILT[number]
    assert QUESTION.count(old) == 1
    (complaint,) = complaints[number]
    assert reason in complaint


def test_every_chapter_has_questions_and_the_right_choice_has_no_place_of_its_own():
    places = []
    for topic in answer_key.topics():
        checks = CHECKS.findall((ROOT / "book" / f"{topic}.md").read_text(encoding="utf-8"))
        assert len(checks) >= 4
        for check in checks:
            choices = re.findall(r"^- (right|wrong): ", check, flags=re.MULTILINE)
            assert len(choices) >= 3
            places.append(choices.index("right"))
    counts = [places.count(place) for place in range(3)]
    assert min(counts) > len(places) / 5


def test_reasons_come_from_the_mistakes_that_the_grader_knows():
    for topic in answer_key.topics():
        text = (ROOT / "book" / f"{topic}.md").read_text(encoding="utf-8")
        assert f"{{mistake}}`{topic}." in text
