"""Questions that a reader answers on the page: each choice unfolds the reason why it is right or wrong.

In: the directive ``self-check`` and the roles ``number`` and ``mistake``. Out: a group of ``details`` in HTML, which needs no
scripts; paragraphs elsewhere. A reason may be the grader's hint for the same mistake, and a number is computed while the page
is built, so that neither is written in two places.
"""

import html
import importlib
import inspect
import math

import numpy as np
from docutils import nodes
from sphinx.util.docutils import SphinxDirective, SphinxRole

RIGHT, WRONG = "right: ", "wrong: "
GROUP_TAG = '<div aria-labelledby="{}-question" class="self-check" role="group">'
CHOICE_TAG = '<details class="choice {}" name="{}"><summary{}>'
VERDICTS = {True: "Right.", False: "No."}
MIN_CHOICES = 2  # choices


class SelfCheck(SphinxDirective):
    """A question, then a list of choices: ``- right: the choice`` or ``- wrong: ...``, then its reason as a paragraph.

    One choice is right. The question is the first paragraph of the content.
    """

    has_content = True

    def run(self):
        name = f"self-check-{self.env.new_serialno('self-check')}"
        content = nodes.container()
        self.state.nested_parse(self.content, self.content_offset, content)
        question, *rest = content.children
        if not isinstance(question, nodes.paragraph) or not rest or not isinstance(rest[-1], nodes.bullet_list):
            raise self.error("a self-check is a paragraph with the question, then a list of choices.")
        items = rest.pop().children
        if len(items) < MIN_CHOICES or sum(item.astext().startswith(RIGHT) for item in items) != 1:
            raise self.error(f"of the choices, {MIN_CHOICES} or more, exactly one begins with {RIGHT.strip()}.")
        question["classes"] += ["question"]
        question["ids"].append(f"{name}-question")
        choices = [part for item in items for part in self._choice(item, name)]
        return [_html(GROUP_TAG.format(name)), question, *rest, *choices, _html("</div>")]

    def _choice(self, item, group):
        """Return the nodes of a choice: its visible text, and the reason that it unfolds."""
        if len(item.children) < 2 or not isinstance(item.children[0], nodes.paragraph):
            raise self.error("each choice has a paragraph, and a second one with its reason.")
        shown, *reasons = item.children
        first = shown.children[0]
        text = first.astext() if isinstance(first, nodes.Text) else ""
        if not text.startswith((RIGHT, WRONG)):
            raise self.error(f"a choice begins with {RIGHT.strip()} or {WRONG.strip()}, then a space.")
        shown.replace(first, nodes.Text(text[len(RIGHT) :]))
        label = ""
        if not any(text.strip() for text in shown.findall(nodes.Text) if not isinstance(text.parent, nodes.math)):
            label = f' aria-label="{html.escape(shown.astext())}"'  # formulas do not count towards an accessible name
            if "\\" in label:
                raise self.error(
                    "a choice that is a formula with TeX commands has no name that can be read: add a word."
                )
        right = text.startswith(RIGHT)
        reasons[0].insert(0, [nodes.strong(text=VERDICTS[right]), nodes.Text(" ")])
        opened = CHOICE_TAG.format("right" if right else "wrong", group, label)
        summary = [_html(opened), nodes.generated("", "", *shown.children), _html("</summary>")]
        return [*summary, nodes.container("", *reasons, classes=["reason"]), _html("</details>")]


def _html(text):
    return nodes.raw("", text, format="html")


class Number(SphinxRole):
    """``{number}`softmax(np.array([0.0, 1.0]))[1]:.2f```: its value in Python, computed with the chapter's functions.

    A vector, in parentheses, is set as a formula, like vectors in the text around it.
    """

    def run(self):
        shown = eval(f"f'{{{self.text}}}'", _chapter_namespace(self.env.docname))
        if shown.startswith("("):
            return [nodes.math(self.rawtext, shown)], []
        return [nodes.Text(shown.replace("-", "\N{MINUS SIGN}"))], []


class Mistake(SphinxRole):
    """``{mistake}`softmax.weights_by_hand_twin__linear```: the grader's hint for that mistake."""

    def run(self):
        topic, _, name = self.text.partition(".")
        function = getattr(importlib.import_module(f"solutions.mistakes.{topic}"), name, None)
        if function is None or "__" not in name:
            message = self.inliner.reporter.error(f"no mistake {self.text!r}: look in solutions/mistakes/{topic}.py.")
            return [self.inliner.problematic(self.rawtext, self.rawtext, message)], [message]
        return [nodes.Text(" ".join(inspect.getdoc(function).split()))], []


def _chapter_namespace(docname):
    names = {"np": np, "math": math}
    for room in ("in_torch", "in_numpy"):  # numpy's function replaces torch's of the same name
        try:
            module = importlib.import_module(f"solutions.{room}.{docname.rpartition('/')[2]}")
        except ModuleNotFoundError:
            continue
        names |= {name: item for name, item in vars(module).items() if inspect.isfunction(item)}
    return names


def setup(app):
    app.add_directive("self-check", SelfCheck)
    app.add_role("number", Number())
    app.add_role("mistake", Mistake())
    app.add_css_file("self-check.css")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
