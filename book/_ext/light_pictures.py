"""Pictures that cells draw are sent as WebP, lossless: the same pixels in a third of the bytes.

In: the PNG files that the pages show. Out: WebP files in their place, where the pages look for them.
"""

import re
from pathlib import Path

from PIL import Image

DRAWN = re.compile(r"(_images/[0-9a-f]{64})\.png")  # named by contents: drawn by a cell


def refer(app, pagename, templatename, context, doctree):
    if "body" in context:
        context["body"] = DRAWN.sub(r"\1.webp", context["body"])


def convert(app, exception):
    if exception or app.builder.format != "html":
        return
    for path in Path(app.outdir, "_images").glob("*.png"):
        if DRAWN.fullmatch(f"_images/{path.name}"):
            with Image.open(path) as picture:
                picture.save(path.with_suffix(".webp"), lossless=True, method=4)
            path.unlink()


def setup(app):
    app.connect("html-page-context", refer)
    app.connect("build-finished", convert)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
