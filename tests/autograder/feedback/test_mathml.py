"""A page opened on its own: its formulas are inert MathML, and it loads nothing from other hosts."""

import re
from html.parser import HTMLParser

import hypothesis
import hypothesis.strategies as st
import pytest
from nbconvert.filters.markdown_mistune import MarkdownWithMath

from autograder.feedback import mathml
from autograder.feedback.mathml import to_mathml
from tests.autograder.samples import TOPICS, notebook_of

pytestmark = pytest.mark.slow


class Elements(HTMLParser):
    """The elements of a page, each with its attributes, as a browser would read them."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


def render(markdown):
    return MarkdownWithMath(renderer=mathml.Renderer(escape=True)).render(markdown)


def test_a_formula_becomes_mathml():
    assert to_mathml("a^2") == '<math display="inline"><mrow><msup><mi>a</mi><mn>2</mn></msup></mrow></math>'
    block = '<span class="formula" tabindex="0"><math display="block">'
    assert to_mathml("a^2", block=True).startswith(block)
    for displayed in ("$$a^2$$", "\\begin{equation}a^2\\end{equation}"):
        assert block in render(displayed)


@pytest.mark.parametrize("name", ["align", "align*", "aligned", "split", "gather", "gathered", "matrix", "cases"])
def test_lines_below_each_other_are_rows_of_a_table(name):
    columns = "a &= b" if "gather" not in name else "a = b"
    html = render(f"$$\\begin{{{name}}} {columns} \\\\ c = d \\end{{{name}}}$$")
    assert html.count("<mtr>") == 2
    assert "&amp;" not in html
    assert "(1)" not in html


@pytest.mark.parametrize("topic", TOPICS)
def test_every_formula_of_every_assignment_is_typeset(topic):
    cells = notebook_of(topic).cells
    texts = [cell.source for cell in cells if cell.cell_type == "markdown"]
    html = "".join(map(render, texts))
    assert "<math" in html
    assert 'class="tex"' not in html
    remainder = re.sub(r"<math.*?</math>|<pre>.*?</pre>|<code>.*?</code>", "", html, flags=re.DOTALL)
    assert not re.findall(r"\$[^$]*\$|\\[a-z]+", remainder)


@pytest.mark.parametrize(
    "tex",
    [
        r"\text{<script>alert(1)</script>}",
        r"\text{&lt;script&gt;alert(1)&lt;/script&gt;}",
        r"\href{javascript:alert(1)}{x}",
        r"\class{a}{\style{background:url(https://a.example/)}{x}}",
        r'\color{red" onmouseover="alert(1)}x',
        r"\begin{<img src=x onerror=alert(1)>}x\end{<img src=x onerror=alert(1)>}",
        "</math><script>alert(1)</script>",
        r"\unknown{<script>}",
    ],
)
def test_a_formula_brings_no_element_and_no_attribute_of_its_own(tex):
    for block in (False, True):
        for tag, attributes in Elements(to_mathml(tex, block)).found:
            assert tag in mathml.ELEMENTS | {"span", "code"}
            assert set(attributes) <= mathml.ATTRIBUTES | {"class", "tabindex"}
            assert attributes.get("class") in (None, "formula", "tex")


@hypothesis.given(
    st.text(alphabet=st.sampled_from("\\{}$&_^<>\"'abfrmtx[]() 1%~#;:/=\n") | st.characters(), max_size=60)
)
def test_whatever_stands_between_dollars_stays_a_formula_or_text(tex):
    for tag, attributes in Elements(to_mathml(tex)).found:
        assert tag in mathml.ELEMENTS | {"code"}
        assert set(attributes) <= mathml.ATTRIBUTES | {"class"}


@pytest.mark.parametrize(
    "tex",
    [
        r"\nosuchcommand{x}",
        r"\begin{nosuch}a&b\end{nosuch}",
        "{" * 1500,
        "x_",
        "x" * (mathml.MAX_FORMULA_CHARACTERS + 1),
        "a\ud800",
    ],
)
def test_what_cannot_be_typeset_is_shown_as_it_was_written(tex):
    shown = tex.encode("utf-8", "replace").decode("utf-8").replace("&", "&amp;")
    assert to_mathml(tex) == f'<code class="tex">${shown}$</code>'


@pytest.mark.parametrize("length", ["99999em", "1000000pt"])
def test_a_length_that_fits_on_no_page_is_left_out(length):
    assert "width" not in to_mathml(rf"a\hspace{{{length}}}b")
    assert 'width="2em"' in to_mathml(r"a\hspace{2em}b")


def test_a_text_of_formulas_only_is_typeset_up_to_a_limit_and_shown_as_it_is_beyond():
    formula = "$" + "x" * 1000 + "$ "
    html = render(formula * 30)
    assert html.count("<math") == mathml.MAX_FORMULAS_CHARACTERS // 1000 == 20
    assert html.count("<math") + html.count('class="tex"') == 30


@pytest.mark.parametrize("address", ["https://a.example/x.png", "//a.example/x.png", "x.png", "HTTP://a.example/?anna"])
def test_a_picture_that_was_not_handed_in_becomes_a_link(address):
    for source in (f"![a graph]({address})", f"![a graph][1]\n\n[1]: {address}"):
        assert Elements(render(source)).found == [("p", {}), ("a", {"href": address})]
        assert "a graph" in render(source)


def test_a_picture_that_was_handed_in_stands_in_the_page():
    attachments = {"graph.png": {"image/png": "aGVsbG8="}}
    renderer = mathml.Renderer(escape=True, attachments=attachments)
    html = MarkdownWithMath(renderer=renderer).render("![a graph](attachment:graph.png)")
    assert 'src="data:image/png;base64,aGVsbG8="' in html
