"""At the top of each chapter, what there is to do: its assignment in numbers, the way to the exercises, the notebook.

In: the answer key, the notebooks that ``course_site`` has found, and ``course_hosts``. Out: a card after a chapter's first
paragraph. A host is a label and an address with ``{notebook}`` in it, such as Binder's of the branch with the notebooks.
"""

import html
from pathlib import Path

from docutils import nodes

from autograder.notebooks.chapter import chapter_number
from solutions import answer_key

CARD = """<aside class="assignment-card" aria-label="Assignment">
<p><strong>Assignment{number}</strong> <span>{count} exercises, {points:g} points, {least} to {most} minutes</span></p>
<p>{links}</p>
</aside>"""
LINK = '<a href="{}"{}>{}</a>'


def add(app, doctree):
    """Put the card of a chapter after its first paragraph; other pages have none."""
    topic = app.env.docname.rpartition("/")[2]
    if topic not in answer_key.topics():
        return
    entries = answer_key.load(topic).values()
    least, most = answer_key.minutes(entries)
    links, up = [LINK.format("#exercises", "", "To the exercises")], "../" * app.env.docname.count("/")
    if topic in app.config.course_assignments:
        links.append(LINK.format(f"{up}assignments/{topic}.ipynb", " download", "Download the notebook"))
        for label, address in app.config.course_hosts.items():
            whole = html.escape(address.format(notebook=f"{topic}.ipynb"))
            links.append(LINK.format(whole, "", f"Open in {html.escape(label)}"))
    if "runnable" in app.extensions:
        links.append(LINK.format(f"{up}chapters/{topic}-code.ipynb", " download", "Download the chapter’s code"))
    app.env.note_dependency(str(Path(app.srcdir, "_toc.yml")))  # which numbers the chapters
    points = sum(entry.points for entry in entries)
    number = chapter_number(Path(app.srcdir, f"{app.env.docname}.md"))
    text = CARD.format(
        number=f" {number}" if number else "",
        count=len(entries),
        points=points,
        least=least,
        most=most,
        links=" ".join(links),
    )
    first = next(doctree.findall(nodes.paragraph))
    first.parent.insert(first.parent.index(first) + 1, nodes.raw("", text, format="html"))


def setup(app):
    app.add_config_value("course_hosts", {}, "env")
    app.connect("doctree-read", add)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
