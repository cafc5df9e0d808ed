"""Questions that a reader answers in the page: each choice opens with the reason why it is right, or wrong.

In: the directive ``self-check`` and the roles ``number`` and ``mistake``. Out: nodes; in HTML a group of ``details``, so
that a page needs no script for them. A reason may be what the grader tells those who make the same mistake, and a number is
computed while the page is built: both have one home.
"""

import importlib
import inspect
import math

import numpy as np
from docutils import nodes
from sphinx.util.docutils import SphinxDirective, SphinxRole

RIGHT, WRONG = "right: ", "wrong: "
VERDICTS = {True: "Right.", False: "No."}
LEAST = 2  # choices


class SelfCheckNode(nodes.General, nodes.Element):
    pass


class ChoiceNode(nodes.General, nodes.Element):
    pass


class ReasonNode(nodes.General, nodes.Element):
    pass


class SelfCheck(SphinxDirective):
    """A question, then a list of choices: ``- right: the choice`` or ``- wrong: ...``, and in a paragraph of its own the reason.

    One choice is right. The question is the first paragraph of the content.
    """

    has_content = True

    def run(self):
        number = self.env.new_serialno("self-check")
        group = SelfCheckNode(name=f"self-check-{number}")
        self.set_source_info(group)
        self.state.nested_parse(self.content, self.content_offset, group)
        question, *rest = group.children
        if not isinstance(question, nodes.paragraph) or not rest or not isinstance(rest[-1], nodes.bullet_list):
            raise self.error("a self-check is a paragraph with the question, then a list of choices.")
        choices = [self._choice(item, group["name"]) for item in rest[-1].children]
        if sum(choice["right"] for choice in choices) != 1 or len(choices) < LEAST:
            raise self.error(f"of the choices, {LEAST} or more, exactly one begins with {RIGHT.strip()}.")
        group.children = []
        question["classes"] += ["question"]
        question["ids"].append(f"{group['name']}-question")
        group += [question, *rest[:-1], *choices]
        return [group]

    def _choice(self, item, group):
        if len(item.children) < 2 or not isinstance(item.children[0], nodes.paragraph):
            raise self.error("each choice has a paragraph, and a second one with its reason.")
        shown, *reasons = item.children
        first = shown.children[0]
        text = first.astext() if isinstance(first, nodes.Text) else ""
        if not text.startswith((RIGHT, WRONG)):
            raise self.error(f"a choice begins with {RIGHT.strip()} or {WRONG.strip()}, then a space.")
        shown.replace(first, nodes.Text(text[len(RIGHT) :]))
        right = text.startswith(RIGHT)
        choice = ChoiceNode(right=right, group=group)
        if not any(text.strip() for text in shown.findall(nodes.Text) if not isinstance(text.parent, nodes.math)):
            choice["name"] = shown.astext()  # formulas do not count towards an accessible name
            if "\\" in choice["name"]:
                raise self.error(
                    "a choice that is a formula with TeX commands has no name that can be read: add a word."
                )
        reason = ReasonNode()
        reasons[0].insert(0, [nodes.strong(text=VERDICTS[right]), nodes.Text(" ")])
        reason += reasons
        choice += [shown, reason]
        return choice


class Number(SphinxRole):
    """``{number}`softmax(np.array([0.0, 1.0]))[1]:.2f```: what Python makes of it, with the functions of the chapter.

    A vector, in parentheses, is set as a formula, like those that are typed beside it.
    """

    def run(self):
        shown = eval(f"f'{{{self.text}}}'", _names(self.env.docname))
        if shown.startswith("("):
            return [nodes.math(self.rawtext, shown)], []
        return [nodes.Text(shown.replace("-", "\N{MINUS SIGN}"))], []


class Mistake(SphinxRole):
    """``{mistake}`softmax.softmax__linear```: what the grader tells those who make it."""

    def run(self):
        topic, _, name = self.text.partition(".")
        function = getattr(importlib.import_module(f"solutions.mistakes.{topic}"), name, None)
        if function is None or "__" not in name:
            message = self.inliner.reporter.error(f"no mistake {self.text!r}: look in solutions/mistakes/{topic}.py.")
            return [self.inliner.problematic(self.rawtext, self.rawtext, message)], [message]
        return [nodes.Text(" ".join(inspect.getdoc(function).split()))], []


def _names(docname):
    names = {"np": np, "math": math}
    for room in ("in_torch", "in_numpy"):  # of two functions of one name, that of numpy
        try:
            module = importlib.import_module(f"solutions.{room}.{docname.rpartition('/')[2]}")
        except ModuleNotFoundError:
            continue
        names |= {name: item for name, item in vars(module).items() if inspect.isfunction(item)}
    return names


def visit_group(self, node):
    labelled = {"CLASS": "self-check", "ROLE": "group", "ARIA-LABELLEDBY": f"{node['name']}-question"}
    self.body.append(self.starttag(node, "div", **labelled))


def depart_group(self, node):
    self.body.append("</div>\n")


def visit_choice(self, node):
    which = "right" if node["right"] else "wrong"
    self.body.append(f'<details class="choice {which}" name="{node["group"]}">')
    self.body.append(self.starttag(node, "summary", "", **({"ARIA-LABEL": node["name"]} if "name" in node else {})))
    shown, _ = node.children
    for child in shown.children:
        child.walkabout(self)
    self.body.append("</summary>")
    node.remove(shown)


def depart_choice(self, node):
    self.body.append("</details>\n")


def visit_reason(self, node):
    self.body.append('<div class="reason">')


def depart_reason(self, node):
    self.body.append("</div>")


def pass_by(self, node):
    pass


def setup(app):
    app.add_directive("self-check", SelfCheck)
    app.add_role("number", Number())
    app.add_role("mistake", Mistake())
    for node, visit, depart in (
        (SelfCheckNode, visit_group, depart_group),
        (ChoiceNode, visit_choice, depart_choice),
        (ReasonNode, visit_reason, depart_reason),
    ):
        app.add_node(node, html=(visit, depart), latex=(pass_by, pass_by), text=(pass_by, pass_by))
    app.add_css_file("self-check.css")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
