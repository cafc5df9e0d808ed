"""What the first page says of the chapters: a card for each, with its question, and how much there is to do.

In: the directive's lines, ``topic: question``; the chapters' titles; the answer key. Out: a list of links. Minutes
and numbers of exercises come from the key, and a topic that has a key and no question stops the build.
"""

import html
import re
from pathlib import Path

from docutils import nodes
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

from solutions import answer_key

CARD = """<li><a href="{topic}.html"><b>{number}</b> <strong>{name}</strong><span>{question}</span>
<small>{exercises} exercises, {least} to {most} minutes</small></a></li>"""


class Chapters(SphinxDirective):
    """One card for each line ``topic: question``, in the order of the lines."""

    has_content = True

    def run(self):
        questions = dict(re.split(r":\s+", line, maxsplit=1) for line in self.content if line.strip())
        if set(questions) != set(answer_key.topics()):
            odd = ", ".join(sorted(set(questions) ^ set(answer_key.topics())))
            raise ExtensionError(f"the cards and the answer key differ in: {odd}. Remedy: one line for each key.")
        cards = [self._card(number, *line) for number, line in enumerate(questions.items(), start=1)]
        return [nodes.raw("", f'<ol class="cards">{"".join(cards)}</ol>', format="html")]

    def _card(self, number, topic, question):
        page = Path(self.env.doc2path(self.env.docname)).with_name(f"{topic}.md")
        self.env.note_dependency(str(page))
        self.env.note_dependency(str(answer_key.FOLDER / f"{topic}.toml"))
        title = re.search(r"^# (.*)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)[1]
        entries = answer_key.load(topic).values()
        least, most = answer_key.minutes(entries)
        return CARD.format(
            topic=topic,
            number=number,
            name=html.escape(title.partition(":")[0]),
            question=html.escape(question.replace("'", "\N{RIGHT SINGLE QUOTATION MARK}")),
            exercises=len(entries),
            least=least,
            most=most,
        )


def setup(app):
    app.add_directive("chapters", Chapters)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
