"""What the website needs beside its pages: a way in, and the assignments to download.

In: the pages, the answer key, and the notebooks in ``assignments`` beside the folder of the website (``make site`` puts them
there). Out: ``index.html`` and ``assignments`` in the website. No page links to a notebook that is not there.
"""

import html
import shutil
from pathlib import Path

from docutils import nodes
from sphinx.util.docutils import SphinxRole

from solutions import answer_key

ENTRANCE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title}</title>
<link rel="icon" href="_static/{icon}">
<meta http-equiv="refresh" content="0; url={page}">
</head>
<body><p><a href="{page}">{title}</a></p></body>
</html>
"""


class Assignment(SphinxRole):
    """``{assignment}`softmax```: a link to the notebook; its name alone where the website is built without it."""

    def run(self):
        name = f"{self.text}.ipynb"
        if self.text not in self.config.course_assignments:
            return [nodes.literal(name, name), nodes.Text(" (whoever teaches the course hands it out)")], []
        up = "../" * self.env.docname.count("/")
        link = f'<a href="{up}assignments/{name}" download>download {name}</a>'
        return [nodes.raw("", link, format="html")], []


class Minutes(SphinxRole):
    """``{minutes}`softmax```: how long the exercises of a topic take, as the answer key estimates it."""

    def run(self):
        least, most = answer_key.minutes(answer_key.load(self.text).values())
        return [nodes.Text(f"{least} to {most} minutes")], []


def find_assignments(app, config):
    """Remember which notebooks there are: pages are read anew when that has changed."""
    config.course_assignments = sorted(path.stem for path in _assignments(app).glob("*.ipynb"))


def finish(app, exception):
    if exception or app.builder.format != "html":
        return
    title, icon = app.config.html_title, Path(app.config.html_favicon).name
    page = f"{app.config.root_doc}.html"
    entrance = ENTRANCE.format(title=html.escape(title), icon=icon, page=page)
    Path(app.outdir, "index.html").write_text(entrance, encoding="utf-8")
    target = Path(app.outdir, "assignments")
    shutil.rmtree(target, ignore_errors=True)
    if app.config.course_assignments:
        shutil.copytree(_assignments(app), target)


def _assignments(app):
    return Path(app.outdir).parent / "assignments"


def setup(app):
    app.add_role("assignment", Assignment())
    app.add_role("minutes", Minutes())
    app.add_config_value("course_assignments", [], "env")
    app.connect("config-inited", find_assignments)
    app.connect("build-finished", finish, priority=900)  # after the table of contents has written its own index.html
    return {"parallel_read_safe": True, "parallel_write_safe": True}
