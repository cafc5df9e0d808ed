"""Put the pictures that cells draw into the page itself, where they take its colours and its font.

In: the SVG that ``figures.pictures`` makes of a figure, its alternative text, and the captions. Out: the same as elements of
the page.
"""

import html
import re
from pathlib import Path

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging

logger = logging.getLogger(__name__)
FIGURE = re.compile(r'<[\w-]+ class="(?:picture|moving)"')
SVG_PART = re.compile(r'<svg class="(?:wide|narrow|only)".*?</svg>', flags=re.DOTALL)


class InlinePictures(SphinxPostTransform):
    """Replace pictures that a page would fetch by inline SVG."""

    default_priority = 300  # after one of a cell's outputs has been chosen
    formats = ("html",)

    def run(self, **kwargs):
        for image in list(self.document.findall(nodes.image)):
            path = Path(self.app.srcdir, image["uri"])
            if path.suffix != ".svg" or not path.is_file():  # on another host, or missing, which Sphinx reports
                continue
            if 'class="picture"' not in (text := path.read_text(encoding="utf-8"))[:200]:
                continue
            if not image.get("alt"):
                logger.warning("a picture says nothing to those who cannot see it", location=image, type="picture")
            picture = _embed_parts("".join(SVG_PART.findall(text)), html.escape(image.get("alt", "")))
            image.replace_self(nodes.raw("", picture, format="html"))


def _embed_parts(parts, words):
    """Return an element with the parts of a picture, described by ``words``; links stay within reach of a keyboard."""
    if "<a " in parts:
        parts = parts.replace('<g class="drawn">', f'<g role="img" aria-label="{words}">')
        return f'<div class="picture">{parts}</div>'
    parts = parts.replace("<svg ", '<svg aria-hidden="true" ')
    return f'<div class="picture" role="img" aria-label="{words}">{parts}</div>'


class MoveCodeBelow(SphinxPostTransform):
    """Move the code that drew a picture below it.

    If a style sheet reordered them, the code would be above the picture until the whole cell has loaded, and then move.
    """

    default_priority = 310  # after the pictures are in place, and the code is folded
    formats = ("html",)

    def run(self, **kwargs):
        for cell in list(self.document.findall(nodes.container)):
            drawn = any(FIGURE.search(raw.astext()) for raw in cell.findall(nodes.raw))
            if cell.get("nb_element") == "cell_code" and drawn and len(cell) > 1:
                cell.append(cell.pop(0))


def setup(app):
    app.add_post_transform(InlinePictures)
    app.add_post_transform(MoveCodeBelow)
    app.connect("config-inited", lambda app, config: config.numfig_format.update(figure="Figure %s"), priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
