"""Notes beside the text: asides, and the sources that a page cites, each where it is cited first.

In: the directive ``side-note``, and the citations of a page. Out: where the window has a margin, notes in it; elsewhere asides
fold in place, and a citation opens in place where scripts run. Its number still leads to the list of sources, where print and
readers without scripts find it. No note has a class that the theme knows: it would fold the contents of the page beside one.
"""

import html

from docutils import nodes
from line_breaks import PUNCTUATION
from pybtex.richtext import Text
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective

ASIDE_TAG = '<details class="side-note"><summary>{}</summary>'
CITATION_CLASSES = ["side-note", "cited"]
MAX_AUTHORS = 3  # of more, the first is named


class AsideNode(nodes.General, nodes.Element):
    """A note that is not in the running text; ``title`` is the text that unfolds it."""


class SideNote(SphinxDirective):
    """An aside, placed after the paragraph that it comments on; its argument is the text that unfolds it."""

    has_content = True
    required_arguments = 1
    final_argument_whitespace = True

    def run(self):
        note = AsideNode(title=self.arguments[0])
        self.state.nested_parse(self.content, self.content_offset, note)
        return [note]


class CiteBesideText(SphinxPostTransform):
    """Repeat each source after its first citation in running text."""

    default_priority = 900  # after all references are resolved
    formats = ("html",)

    def run(self, **kwargs):
        sources = {name: note for note in self.document.findall(nodes.footnote) for name in note["ids"]}
        entries = self.env.get_domain("cite").bibdata.data.entries if sources else {}
        entries = {nodes.make_id(f"footcite-{key}"): entry for key, entry in entries.items()}
        for reference in list(self.document.findall(nodes.footnote_reference)):
            source = sources.get(reference.get("refid"))
            entry = entries.get(reference.get("refid"))
            if source is None or entry is None or not _is_running_text(reference, source):
                continue
            del sources[reference["refid"]]
            number = nodes.Text(f"[{reference.astext()}]")
            _insert_after(reference, nodes.inline("", "", number, *_describe(entry, source), classes=CITATION_CLASSES))


def _describe(entry, source):
    """Return authors, title and year of a source; its title leads where its entry in the list leads."""
    people = [" ".join(map(str, one.rich_prelast_names + one.rich_last_names)) for one in entry.persons["author"]]
    first, last = people[:-1], people[-1]
    if len(people) > MAX_AUTHORS:
        first, last = people[:1], "others"
    authors = f"{', '.join(first)} and {last}" if first else last
    title = nodes.Text(str(Text.from_latex(entry.fields["title"]).capitalize()))
    if link := next(source.findall(nodes.reference), None):
        title = nodes.reference("", "", title, refuri=link["refuri"])
    year = f", {entry.fields['year']}" if "year" in entry.fields else ""
    return [nodes.Text(f" {authors}: "), title, nodes.Text(year)]


def _insert_after(reference, note):
    """Insert a note after a citation and the punctuation that follows it."""
    text, place = reference.parent, reference.parent.index(reference) + 1
    behind = text[place] if place < len(text) else None
    if isinstance(behind, nodes.Text) and (signs := PUNCTUATION.match(behind)):
        text[place : place + 1] = [nodes.Text(signs[0]), note, nodes.Text(behind[signs.end() :])]
    else:
        text.insert(place, note)


def _is_running_text(reference, source):
    """Return whether a citation is in a paragraph of a section or a list, and its source is listed in another section."""
    node = reference.parent
    while isinstance(node, (nodes.paragraph, nodes.list_item, nodes.bullet_list, nodes.enumerated_list)):
        node = node.parent
    return isinstance(node, nodes.section) and node is not _section_of(source)


def _section_of(node):
    while node and not isinstance(node, nodes.section):
        node = node.parent
    return node


def visit_aside(self, node):
    self.body.append(ASIDE_TAG.format(html.escape(node["title"].replace("'", "\N{RIGHT SINGLE QUOTATION MARK}"))))


def depart_aside(self, node):
    self.body.append("</details>\n")


def setup(app):
    app.add_node(AsideNode, html=(visit_aside, depart_aside))
    app.add_directive("side-note", SideNote)
    app.add_post_transform(CiteBesideText)
    app.add_css_file("side-notes.css")
    app.add_js_file("side-notes.js", loading_method="defer")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
