"""The book builds with warnings as errors, publishes its pages and nothing else."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from autograder import exercises
from autograder.assemble import ROOT
from solutions import answer_key


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    program = Path(sys.executable).with_name("jupyter-book")
    command = [program, "build", ROOT, "--path-output", folder, "-W", "-n", "--keep-going"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return folder / "_build" / "html"


def pages(site):
    return {path.stem: path.read_text(encoding="utf-8") for path in (site / "book").glob("*.html")}


def test_only_the_pages_of_the_table_of_contents_are_published(site):
    toc = (ROOT / "_toc.yml").read_text()
    listed = set(re.findall(r"book/(\w+)", toc))
    assert set(pages(site)) == listed
    published = {path.relative_to(site).parts[0] for path in site.rglob("*") if path.is_file()}
    assert not published & {"solutions", "autograder", "tests", "benchmarks"}


def test_every_chapter_keeps_the_order_of_its_sections():
    wanted = [
        "The question",
        "The idea",
        "By hand",
        "In code",
        "See it",
        "What goes wrong",
        "Exercises",
        "Sources",
    ]
    for topic in answer_key.topics():
        text = (ROOT / "book" / f"{topic}.md").read_text(encoding="utf-8")
        assert re.findall(r"^## (.*)$", text, flags=re.MULTILINE) == wanted


def test_every_picture_says_in_words_what_it_shows(site):
    for name, html in pages(site).items():
        article = html[html.index("<article") : html.index("</article>")]
        for tag in re.findall(r"<img[^>]*>", article):
            alt = re.search(r'alt="([^"]*)"', tag)
            assert alt, (name, tag)
            assert len(alt[1]) > 30, (name, tag)
            assert "_images" not in alt[1], (name, tag)


def test_no_page_shows_the_body_of_a_graded_function(site):
    for topic in answer_key.topics():
        for exercise in exercises.load(topic, 0):
            body = exercise.source.partition("### BEGIN SOLUTION")[2].partition("### END SOLUTION")[0]
            lines = [line.strip() for line in body.splitlines() if len(line.strip()) > 25]
            for name, html in pages(site).items():
                text = re.sub(r"<[^>]+>", "", html).replace("&#39;", "'").replace("&quot;", '"')
                shown = [line for line in lines if line in text]
                assert not lines or len(shown) < len(lines), (exercise.name, name)


def test_no_page_states_the_numbers_of_a_twin(site):
    for topic in answer_key.topics():
        for exercise in exercises.load(topic, 0):
            if exercise.kind != "number" or exercise.entry.warm_up:
                continue
            expected = exercise.cases[0].expected
            arrays = expected.values() if isinstance(expected, dict) else [expected]
            numbers = [f"{abs(float(x)):.4f}" for array in arrays for x in array.ravel() if float(x) % 1]
            for name, html in pages(site).items():
                # tanh 0.5 and the like stand on several pages; half of the answer does not
                assert sum(number in html for number in numbers) <= len(numbers) // 2, (exercise.name, name)


def test_hindi_stands_in_an_element_that_says_so(site):
    for name, html in pages(site).items():
        text = re.sub(r"<(script|style|head|pre)\b.*?</\1>", "", html, flags=re.DOTALL)  # code cannot carry a language
        outside = re.sub(r'<(\w+)[^>]*lang="hi"[^>]*>.*?</\1>', "", text, flags=re.DOTALL)
        assert not re.search("[\u0900-\u097f]", outside), name


def test_the_numbers_of_the_moving_figure_are_those_of_the_reference(site):
    import numpy as np

    from solutions.in_numpy.scoring import additive_score

    html = pages(site)["scoring"]
    data = json.loads(re.search(r'<script type="application/json">(.*?)</script>', html, flags=re.DOTALL)[1])
    case = answer_key.worked_example("scoring-additive_score").inputs
    first = data["values"].index(1.0)
    shown = np.array(data["series"][0]["scores"])[first][:2]
    np.testing.assert_allclose(shown, additive_score(**case)[0], atol=1e-6)
