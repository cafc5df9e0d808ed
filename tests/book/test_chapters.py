"""Numbers count by chapter, as in notebooks, and the card on each chapter leads to its exercises and notebook."""

import ast
import re
import shutil
from functools import partial

import nbformat
import pytest
from bs4 import BeautifulSoup
from selectolax.lexbor import LexborHTMLParser

from autograder.notebooks.chapter import chapter_texts
from autograder.paths import BOOK, ROOT
from solutions import answer_key
from tests.book.small_site import build_site, import_extension, write_site

chapters = import_extension("chapters")

CONF = """
extensions = ["myst_nb", "sphinx_exercise", "katex_prerender", "course_site", "chapters"]
html_favicon = "favicon.svg"
course_hosts = {"Binder": "https://hosted.example.edu/?path={notebook}&now"}
numfig = True
root_doc = "book/intro"
html_math_renderer = "katex"
myst_enable_extensions = ["dollarmath"]
nb_execution_mode = "off"
"""
CONTENTS = """
format: jb-book
root: book/intro
parts:
  - caption: All
    chapters:
      - file: book/notation
      - file: book/encoder
      - file: book/scoring.md
"""
INTRO = "# Book\n\n```{toctree}\nnotation\nencoder\nscoring\n```\n"
NOTATION = "# Notation\n\n$$\nn = m\n$$ (equal)\n"
ENCODER = "# Encoder\n\n```{exercise} Read\n:label: encoder-read\n\nRead.\n```\n\nSee {eq}`score` and {eq}`equal`.\n"
SCORING = """# Scoring

**You will** learn.

## Exercises

$$
e = v
$$ (score)

```{exercise} First
:label: scoring-first

One.
```

```{exercise} Second
:label: scoring-second

Two.
```
"""


def write_small(folder, **more):
    texts = {"intro": INTRO, "notation": NOTATION, "encoder": ENCODER, "scoring": SCORING, **more}
    pages = {f"book/{name}.md": text for name, text in texts.items()}
    write_site(folder, CONF, {"_toc.yml": CONTENTS, "favicon.svg": "<svg/>", **pages})


@pytest.fixture
def small(tmp_path):
    write_small(tmp_path)
    return tmp_path / "source" / "book"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The pages of the small book, and one that shows the whole model."""
    folder = tmp_path_factory.mktemp("chapters")
    write_small(folder, whole_model="---\norphan: true\n---\n\n# All\n\nAll of it.\n")
    paths = (build_site(folder)[0] / "book").glob("*.html")
    return {path.stem: BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser") for path in paths}


def captions(page):
    return [caption.text.strip() for caption in page.select(".exercise .caption-number")]


def test_exercises_and_equations_count_from_one_in_each_chapter_and_chapters_are_those_with_exercises(built):
    assert captions(built["encoder"]) == ["Exercise 1.1"]
    assert captions(built["scoring"]) == ["Exercise 2.1", "Exercise 2.2"]
    assert [built[name].select_one(".eqno").text[:-1] for name in ("notation", "scoring")] == ["(1)", "(2.1)"]
    links = {link.text: link["href"] for link in built["encoder"].select("a.reference[href*='#equation']")}
    assert links == {"(2.1)": "scoring.html#equation-score", "(1)": "notation.html#equation-equal"}


def test_exercises_of_the_core_path_say_so_beside_their_titles(small):
    names = {"encoder-annotate": "Annotate", "encoder-second_layer_shapes": "Shapes"}
    texts = [f"```{{exercise}} {title}\n:label: {label}\n\nDo it.\n```\n" for label, title in names.items()]
    (small / "encoder.md").write_text("\n".join(["# Encoder\n", *texts]), encoding="utf-8")
    site, _ = build_site(small.parents[1])
    page = BeautifulSoup((site / "book" / "encoder.html").read_text(encoding="utf-8"), "html.parser")
    titles = [" ".join(title.text.split()) for title in page.select(".exercise .admonition-title")]
    core = {name for name in names if answer_key.load("encoder")[name].core}
    assert core == {"encoder-annotate"}
    assert titles == ["Exercise 1.1 Annotate", "Exercise 1.2 Shapes"]
    assert ["core-path" in box["class"] for box in page.select("div.exercise")] == [True, False]


def links_of(card):
    return {link.text: link["href"] for link in card.find_all("a")}


def test_a_chapter_says_after_its_first_paragraph_what_there_is_to_do_and_where_its_notebook_opens(small):
    folder = small.parents[1]
    notebook = folder / "_build" / "assignments" / "scoring.ipynb"
    for is_there in (False, True):
        if is_there:  # the notebook has been made
            notebook.parent.mkdir(parents=True)
            notebook.write_text("{}")
        site, _ = build_site(folder)
        chapter, other = (
            BeautifulSoup((site / "book" / f"{name}.html").read_text(), "html.parser") for name in ("scoring", "intro")
        )
        (card,) = chapter.find_all(class_="assignment-card")
        entries = answer_key.load("scoring").values()
        least, most = answer_key.minutes(entries)
        points = sum(entry.points for entry in entries)
        counts = f"{len(entries)} exercises and {len(answer_key.load_warm_ups('scoring'))} warm-ups"
        assert card.span.text == f"{counts}, {points:g} points, {least} to {most} minutes"
        assert card.find_next_sibling("p").text == "You will learn."
        assert chapter.find(id="exercises")
        assert not other.find_all(class_="assignment-card")
        links = links_of(card)
        assert links.pop("To the exercises") == "#exercises"
        offered = {
            "Download the notebook": "../assignments/scoring.ipynb",
            "Open in Binder": "https://hosted.example.edu/?path=scoring.ipynb&now",
        }
        assert links == (offered if is_there else {})


def test_a_build_in_which_nothing_is_new_writes_no_page(small):
    site, _ = build_site(small.parents[1])
    pages = [site / "book" / f"{name}.html" for name in ("intro", "notation", "encoder", "scoring")]
    before = [page.stat().st_mtime_ns for page in pages]
    build_site(small.parents[1])
    assert [page.stat().st_mtime_ns for page in pages] == before
    (small / "encoder.md").write_text(
        ENCODER.replace("```{exercise}", "```{exercise} Zero\n:label: encoder-zero\n\nNo.\n```\n\n```{exercise}"),
        encoding="utf-8",
    )
    build_site(small.parents[1])
    encoder = BeautifulSoup(pages[2].read_text(encoding="utf-8"), "html.parser")
    assert captions(encoder) == ["Exercise 1.1", "Exercise 1.2"]


MORE = """
[scoring-more]
kind = "text"
points = 1
answer = "So."

[[scoring-more.criterion]]
points = 1
text = "Says so."
comment = "Why?"
"""


def test_the_card_of_a_chapter_counts_an_exercise_that_the_key_gains(tmp_path, monkeypatch):
    keys = shutil.copytree(answer_key.FOLDER, tmp_path / "keys")
    monkeypatch.setattr(answer_key, "FOLDER", keys)
    for name in ("load", "topics"):
        monkeypatch.setattr(answer_key, name, partial(getattr(answer_key, name), folder=keys))
    topics, count = answer_key.topics(), len(answer_key.load("scoring"))
    cards = "\n".join(f"{name}: What is it?" for name in (topics[0], "between", *topics[1:]))
    contents = "\n".join([*topics, "between"])
    intro = f"# Book\n\n```{{chapters}}\n{cards}\n```\n\n```{{toctree}}\n{contents}\n```\n"
    pages = {f"book/{topic}.md": f"# About {topic}: more\n\nIt.\n\n## Exercises\n\nOne.\n" for topic in topics}
    pages["book/between.md"] = "# Between: more\n\nIt.\n"
    write_site(tmp_path, CONF, {"favicon.svg": "<svg/>", "book/intro.md": intro, **pages})
    for number in (count, count + 1):
        page = (build_site(tmp_path)[0] / "book" / "intro.html").read_text(encoding="utf-8")
        rows = BeautifulSoup(page, "html.parser").select(".contents li")
        assert [row.b.text if row.b else row.strong.text for row in rows[:3]] == ["1", "Between", "2"]
        (card,) = BeautifulSoup(page, "html.parser").select('.contents a[href="scoring.html"]')
        assert card.small.text.startswith(f"{number} exercises and ")
        with open(keys / "scoring.toml", "a", encoding="utf-8") as key:
            key.write(MORE)


def test_the_numbers_of_texts_follow_the_table_of_contents(small):
    assert [text.number for text in chapter_texts(small / "scoring.md")[1].values()] == ["2.1", "2.2"]
    contents = small.parent / "_toc.yml"
    contents.write_text(CONTENTS.replace("book/encoder", "book/elsewhere"), encoding="utf-8")
    assert [text.heading for text in chapter_texts(small / "scoring.md")[1].values()] == ["1.1 First", "1.2 Second"]
    assert [text.heading for text in chapter_texts(small / "encoder.md")[1].values()] == ["Read"]
    contents.unlink()
    assert [text.heading for text in chapter_texts(small / "scoring.md")[1].values()] == ["First", "Second"]


@pytest.mark.parametrize("topic", answer_key.topics())
def test_the_key_has_the_exercises_in_the_order_of_their_page(topic):
    texts, warm_ups = chapter_texts(BOOK / f"{topic}.md")[1], answer_key.load_warm_ups(topic)
    assert list(answer_key.load(topic)) == [name for name in texts if name not in warm_ups]
    assert list(warm_ups) == [name for name in texts if name in warm_ups]


def test_each_page_and_its_notebook_have_the_same_numbers(site):
    firsts = []
    for topic in answer_key.topics():
        page = LexborHTMLParser((site / "book" / f"{topic}.html").read_text(encoding="utf-8"))
        numbers = [
            caption.text().strip().removeprefix("Exercise ") for caption in page.css(".exercise .caption-number")
        ]
        notebook = nbformat.read(site / "assignments" / f"{topic}.ipynb", as_version=4)
        texts = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
        assert re.findall(r"^## (\d+\.\d+) ", texts, flags=re.MULTILINE) == numbers, topic
        assert page.css_first(".assignment-card strong").text() == f"Assignment {numbers[0].partition('.')[0]}"
        firsts.append(numbers[0])
    assert sorted(firsts) == [f"{number}.1" for number in range(1, len(firsts) + 1)]


def test_every_equation_with_a_label_is_mentioned_somewhere():
    text = "\n".join(path.read_text(encoding="utf-8") for path in sorted(BOOK.glob("*.md")))
    labels = re.findall(r"^\$\$ \(([\w-]+)\)$", text, flags=re.MULTILINE)
    assert len(labels) > 8
    assert set(re.findall(r"\{eq\}`([\w-]+)`", text)) == set(labels)


def test_the_steps_of_attention_lead_to_their_pages_and_those_of_a_page_are_lit(built):
    lit, numbers = {}, {}
    for name, page in built.items():
        for steps in page.select("nav.steps"):
            assert [link.text for link in steps.select("a")] == list(chapters.STEPS)
            assert [link["href"] for link in steps.select("a")] == [f"{step}.html" for step in chapters.STEPS.values()]
            assert [link["href"] for link in steps.select("[aria-current]")] in ([f"{name}.html"], [])
            title = steps.find_next("h1")
            assert title
            numbers[name] = [number.text for number in title.select(".chapter-number")]
            lit[name] = [link.text for link in steps.select(".lit")]
    assert lit == {"encoder": ["annotations"], "scoring": ["scores"], "whole_model": list(chapters.STEPS)}
    assert numbers == {"encoder": ["1"], "scoring": ["2"], "whole_model": []}
    assert all((ROOT / "book" / f"{name}.md").is_file() for name in [*chapters.STEPS.values(), *chapters.WHOLE])


def test_an_included_class_shows_its_signature_before_it_explains_its_arguments():
    """Its own docstring is at most two lines, so that the signature is among its first five."""
    found = 0
    for page in BOOK.glob("*.md"):
        for path, name in re.findall(
            r"\{literalinclude\} (\S+)\n(?::.*\n)*?:pyobject: (\w+)\n", page.read_text(encoding="utf-8")
        ):
            tree = ast.parse((BOOK / path).read_text(encoding="utf-8"))
            (node,) = (node for node in tree.body if getattr(node, "name", "") == name)
            if isinstance(node, ast.ClassDef):
                found += 1
                first = next(part for part in node.body if isinstance(part, ast.FunctionDef))
                assert first.lineno - node.lineno < 5, (page.name, name)
    assert found >= 4
