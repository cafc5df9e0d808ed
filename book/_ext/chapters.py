"""Add a list of the chapters, assignment cards, numbers by chapter and the inputs of exercises to the pages.

In: the table of contents, the answer key, the chapters' titles, the notebooks that ``course_site`` has found, and ``course_hosts``.
Out: on the first page, a row for each chapter with its question; above a page about a part of attention, all its steps, with that
part lit; with a chapter's first paragraph, a card with the size of its assignment and links to the exercises and notebooks. A host
is a label and an address that contains ``{notebook}``, such as Binder's for the branch with the notebooks. Exercises, equations and
figures are numbered by chapter, whose number stands before its title: 2.1 is the first of the second chapter that has exercises, as
in notebooks and feedback, because ``autograder.notebooks.chapter`` numbers the chapters for all of them. On other pages they are
numbered from 1. The text of an exercise in code ends with the inputs that the key allows.
"""

import copy
import html
import posixpath
import re
from pathlib import Path

from docutils import nodes
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective
from sphinx_exercise.nodes import exercise_enumerable_node, exercise_node

from autograder.notebooks.chapter import chapter_number
from solutions import answer_key

CHAPTER_ROW = """<li><a href="{topic}.html"><b>{number}</b> <strong>{name}</strong> <small>{exercises} · {least}–{most} min</small>
<span>{question}</span></a></li>"""
PAGE_ROW = """<li class="between"><a href="{topic}.html"><strong>{name}</strong> <span>{question}</span></a></li>"""
ASSIGNMENT_CARD = """<aside class="assignment-card" aria-label="Assignment">
<p><strong>Assignment{number}</strong> <span>{exercises}, {points:g} points, {least} to {most} minutes</span></p>
<p>{links}</p>
</aside>"""
STEPS = {  # of attention, and the page about each
    "words": "intro",
    "annotations": "encoder",
    "scores": "scoring",
    "weights": "softmax",
    "context": "context",
    "state": "decoder_fusion",
    "word": "output_layer",
}
WHOLE = ("whole_model", "capstone", "the_paper", "spelling", "from_bahdanau_to_transformers")  # about all of them
STEP = '<li><a href="{page}.html"{lit}{current}>{step}</a></li>'
LINK = '<a href="{}"{}>{}</a>'
NUMBERED = ("exercise", "displaymath", "figure")
EXERCISE = re.compile(
    r"^(?P<fence>`{3,}){exercise}(?P<title>[^\n]*)(?P<text>\n.*?^:label: (?P<label>\S+)$.*?)(?=^(?P=fence)$)",
    flags=re.DOTALL | re.MULTILINE,
)


class Chapters(SphinxDirective):
    """One row for each line ``page: question``, in the order of the lines, which must cover the topics of the answer key.

    Pages that are no topic have no number and no exercises.
    """

    has_content = True

    def run(self):
        questions = dict(re.split(r":\s+", line, maxsplit=1) for line in self.content if line.strip())
        topics = [name for name in questions if name in answer_key.topics()]
        missing = set(answer_key.topics()) - set(topics)
        missing |= {name for name in questions if not self._page(name).is_file()}
        if missing:
            odd = ", ".join(sorted(missing))
            raise ExtensionError(f"the chapters and the answer key differ in: {odd}. Remedy: one line for each key.")
        rows = [self._row(name, question, topics) for name, question in questions.items()]
        return [nodes.raw("", f'<ol class="contents">{"".join(rows)}</ol>', format="html")]

    def _page(self, name):
        return Path(self.env.doc2path(self.env.docname)).with_name(f"{name}.md")

    def _row(self, name, question, topics):
        self.env.note_dependency(str(self._page(name)))
        title = re.search(r"^# (.*)$", self._page(name).read_text(encoding="utf-8"), flags=re.MULTILINE)[1]
        shown = {
            "topic": name,
            "name": _typeset(title.partition(":")[0]),
            "question": _typeset(question),
        }
        if name not in topics:
            return PAGE_ROW.format(**shown)
        self.env.note_dependency(str(answer_key.FOLDER / f"{name}.toml"))
        return CHAPTER_ROW.format(number=topics.index(name) + 1, **shown, **_workload(name))


def _typeset(text):
    return html.escape(text.replace("'", "\N{RIGHT SINGLE QUOTATION MARK}"))


def _workload(topic):
    entries = answer_key.load(topic).values()
    least, most = answer_key.minutes(entries)
    points = sum(entry.points for entry in entries)
    exercises, warm_ups = f"{len(entries)} exercises", len(answer_key.load_warm_ups(topic))
    if warm_ups:  # they have numbers, too
        exercises += f" and {warm_ups} warm-up{'s' if warm_ups > 1 else ''}"
    return {"exercises": exercises, "points": points, "least": least, "most": most}


def add_assignment_card(app, doctree):
    topic = app.env.docname.rpartition("/")[2]
    if topic not in answer_key.topics():
        return
    links, up = [LINK.format("#exercises", "", "To the exercises")], "../" * app.env.docname.count("/")
    if topic in app.config.course_assignments:
        links.append(LINK.format(f"{up}assignments/{topic}.ipynb", " download", "Download the notebook"))
        for label, address in app.config.course_hosts.items():
            whole = html.escape(address.format(notebook=f"{topic}.ipynb"))
            links.append(LINK.format(whole, "", f"Open in {html.escape(label)}"))
    if "chapter_notebooks" in app.extensions:
        links.append(LINK.format(f"{up}chapters/{topic}-code.ipynb", " download", "Download the chapter’s code"))
    app.env.note_dependency(str(Path(app.srcdir, "_toc.yml")))  # which numbers the chapters
    number = chapter_number(Path(app.srcdir, f"{app.env.docname}.md"))
    text = ASSIGNMENT_CARD.format(number=f" {number}" if number else "", links=" ".join(links), **_workload(topic))
    first = next(doctree.findall(nodes.paragraph))
    opening = nodes.container(classes=["opening"])
    first.parent[first.parent.index(first)] = opening  # ``replace_self`` would give it the paragraph's ids, too
    opening += [nodes.raw("", text, format="html"), first]


def add_steps(app, pagename, templatename, context, doctree):
    """Put the steps of attention above a page that is about some of them."""
    page = pagename.rpartition("/")[2]
    if page not in {*STEPS.values(), *WHOLE} - {"intro"} or not context.get("body"):
        return
    lit = STEPS.values() if page in WHOLE else [page]
    steps = "".join(
        STEP.format(
            page=other,
            lit=' class="lit"' if other in lit else "",
            current=' aria-current="page"' if other == page else "",
            step=step,
        )
        for step, other in STEPS.items()
    )
    context["body"] = f'<nav class="steps" aria-label="The steps of attention"><ol>{steps}</ol></nav>{context["body"]}'


def number_title(app, pagename, templatename, context, doctree):
    """Put a chapter's number before its title, here and in links to it, as in the menu and in the numbers of its figures."""
    number = chapter_number(Path(app.srcdir, f"{pagename}.md"))
    if number and context.get("body"):
        context["body"] = context["body"].replace("<h1>", f'<h1><span class="chapter-number">{number}</span> ', 1)
    for step in ("prev", "next"):
        if page := context.get(step):
            name = posixpath.normpath(posixpath.join(posixpath.dirname(pagename), page["link"]))
            number = chapter_number(Path(app.srcdir, name).with_suffix(".md"))
            page["title"] = f"{number} {page['title']}" if number else page["title"]


def complete_exercises(app, docname, source):
    """Mark the exercises of the core path, and append to the text of each what the inputs of its function may be."""
    topic = docname.rpartition("/")[2]
    if topic not in answer_key.topics():
        return
    entries = answer_key.load(topic)
    app.env.note_dependency(str(answer_key.FOLDER / f"{topic}.toml"))

    def complete(match):
        entry = entries.get(match["label"])
        inputs = answer_key.describe_inputs(entry)
        label = f":label: {match['label']}\n"
        text = match["text"].replace(label, f"{label}:class: core-path\n", 1) if entry and entry.core else match["text"]
        return f"{match['fence']}{{exercise}}{match['title']}{text}" + (f"\n{inputs}\n" if inputs else "")

    source[0] = EXERCISE.sub(complete, source[0])


def unwrap_titles(app, doctree, docname):
    """Take the round brackets around the names of exercises away: their numbers differ from them in colour and weight."""
    if app.builder.format != "html":
        return
    for title in doctree.findall(nodes.title):
        name = title.astext()
        is_exercise = isinstance(title.parent, exercise_node | exercise_enumerable_node)
        if is_exercise and name.startswith(" (") and name.endswith(")"):
            title.replace(title[0], nodes.Text(" "))
            title.pop()


def restore_numbers(app, env, docnames):
    """Restore Sphinx's own numbers, by which it finds the pages whose numbers have changed since the last build."""
    env.toc_fignumbers = getattr(env, "sphinx_fignumbers", env.toc_fignumbers)


def number_by_chapter(app, env):
    env.sphinx_fignumbers = copy.deepcopy(env.toc_fignumbers)
    for page, kinds in env.toc_fignumbers.items():
        kinds.pop("code-block", None)  # captions of listings have no numbers
        chapter = chapter_number(Path(app.srcdir, f"{page}.md"))
        for kind in NUMBERED:
            for place, label in enumerate(kinds.get(kind, ()), start=1):
                kinds[kind][label] = (chapter, place) if chapter else (place,)
    return []


def setup(app):
    app.setup_extension("course_site")  # knows which notebooks there are
    app.add_directive("chapters", Chapters)
    app.add_config_value("course_hosts", {}, "env")
    app.connect("source-read", complete_exercises)
    app.connect("doctree-read", add_assignment_card)
    app.connect("html-page-context", add_steps)
    app.connect("html-page-context", number_title)
    app.connect("doctree-resolved", unwrap_titles)
    app.connect("env-before-read-docs", restore_numbers)
    app.connect("env-get-updated", number_by_chapter, priority=900)  # after Sphinx has numbered them
    return {"parallel_read_safe": True, "parallel_write_safe": True}
