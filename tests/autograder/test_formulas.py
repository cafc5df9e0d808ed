"""Formulas are typeset without a script in the page; where that is impossible, the error says why."""

import json
import os
import re
import sys
from xml.etree import ElementTree

import pytest

from autograder import formulas
from autograder.errors import CourseError
from autograder.paths import ROOT


@pytest.fixture(scope="module")
def typesetter():
    with formulas.Typesetter() as typesetter:
        yield typesetter


def test_a_formula_is_html_for_eyes_and_mathml_for_ears(typesetter):
    span = ElementTree.fromstring(typesetter.html(r"\alpha_{ij} = 1"))
    spoken, drawn = span
    assert (span.get("class"), drawn.get("aria-hidden")) == ("katex", "true")
    assert [each.text for each in spoken.iter("mi")] == ["α", "i", "j"]
    assert "".join(drawn.itertext()).startswith("αij")


def test_only_a_displayed_formula_stands_apart(typesetter):
    assert "katex-display" in typesetter.html(r"\sum_j \alpha_{ij}", block=True)
    assert "katex-display" not in typesetter.html(r"\sum_j \alpha_{ij}")


def test_a_formula_brings_nothing_that_nobody_sees_or_hears(typesetter):
    matrix = typesetter.html(r"\left[\begin{matrix} \textcolor{blue}{a} & \mathbf{b} \end{matrix}\right]", block=True)
    heard, _, drawn = matrix.partition('<span class="katex-html"')
    assert not re.search("annotation|xmlns|stretchy|scriptlevel|mstyle|blue", heard)
    assert "color:blue" in drawn
    assert "<mtd>" in heard
    assert 'mathvariant="bold"' in heard  # a screen reader says so
    root = typesetter.html(r"\sqrt{x}")
    assert "M95,702" in root  # an outline is not in ems, and stays as it is
    lengths = re.findall(r"(-?[\d.]+)em[;\"]", "".join(re.findall(r'style="([^"]*)"', matrix + root)))
    assert len(lengths) > 10
    assert [each for each in lengths if len(each.partition(".")[2]) > 2] == []


def test_one_process_sets_all_formulas_and_ends_when_told():
    with formulas.Typesetter() as typesetter:
        first = typesetter.html("a")
        process = typesetter._process
        assert typesetter.html("a\n% a comment and a second line\n") == first
        assert typesetter._process is process
    assert process.returncode == 0


@pytest.mark.parametrize(
    ("tex", "message"),
    [
        (r"\scoer_j", r"Undefined control sequence: \scoer at position 1"),
        ("{a", "Expected '}'"),
        (r"\mathfrak{g}", "needs the font Fraktur-Regular"),
        (r"\boldsymbol{x}", "needs the font Math-BoldItalic"),
        (r"\text{\char 8283}", "No character metrics"),
        (r"\def\a{\a\a}\a", "Too many expansions"),
    ],
)
def test_a_formula_that_cannot_be_set_as_it_must_be_says_why(typesetter, tex, message):
    with pytest.raises(formulas.FormulaError, match=re.escape(message)):
        typesetter.html(tex)
    assert "mathnormal" in typesetter.html("x")


def test_a_formula_that_takes_too_long_is_given_up(tmp_path, monkeypatch):
    (tmp_path / "slow.js").write_text("process.stdin.resume();")
    monkeypatch.setattr(formulas, "SCRIPT", tmp_path / "slow.js")
    typesetter = formulas.Typesetter(seconds=0.1)
    with pytest.raises(formulas.FormulaError, match="too long"):
        typesetter.html("x")
    assert typesetter._process is None  # the next formula starts another


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not fork")
def test_a_forked_process_has_its_own_katex(typesetter):
    typesetter.html("a")
    process = typesetter._process
    child = os.fork()
    if not child:
        own = typesetter.html("b") and typesetter._process is not process
        typesetter.close()
        os._exit(0 if own else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert "mathnormal" in typesetter.html("c")


def test_a_missing_katex_is_named_with_the_remedy(tmp_path, monkeypatch):
    monkeypatch.setattr(formulas, "KATEX", tmp_path)
    with pytest.raises(CourseError, match="npm ci"):
        formulas.Typesetter()


def test_the_style_asks_for_the_fonts_that_there_are():
    style = formulas.style_sheet("../fonts")
    addresses = re.findall(r"url\(([^)]*)\)", style)
    assert sorted(addresses) == sorted(f"../fonts/{path.name}" for path in formulas.font_files())
    assert all(path.is_file() for path in formulas.font_files())
    assert ".katex .mathbf{" in style


def test_the_lock_holds_versions_and_contents_and_no_place():
    text = (ROOT / "package-lock.json").read_text(encoding="utf-8")
    packages = json.loads(text)["packages"].values()
    # a funding link is not a download address
    plain = [{name: value for name, value in package.items() if name != "funding"} for package in packages]
    assert re.findall(r'"resolved"|https?://\S*', json.dumps(plain)) == []
    assert text.count('"integrity": "sha512-') == text.count('"version"')
