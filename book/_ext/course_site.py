"""What the website has besides its pages: an entrance, the assignments, files that pages made, a sitemap, a page for dead links.

In: ``html_baseurl``, which is empty until the website's address is known; the notebooks in ``assignments`` beside the website's
folder (``make site`` puts them there); and ``made`` beside it, with the files that pages published while they ran: they find that
folder through the environment variable ``COURSE_MADE_FILES``. Out: ``index.html``, ``sitemap.xml`` and copies of both folders.
Both are kept outside the website because it may be deleted and rebuilt, while unchanged pages are not run again.
No page links to a missing notebook.

Pages run in kernels that listen on Unix sockets in a folder of their own: a TCP port may be given to another program between
being picked and being used, and the page would then get that program's messages.
"""

import atexit
import html
import os
import shutil
import tempfile
from pathlib import Path
from urllib.parse import urljoin, urlsplit
from xml.sax.saxutils import escape

import jupyter_client
from docutils import nodes
from jupyter_client.manager import AsyncKernelManager
from sphinx.util import logging
from sphinx.util.docutils import SphinxRole
from traitlets import default

from solutions import answer_key

logger = logging.getLogger(__name__)

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
NOT_FOUND = """<h1>Page not found</h1>
<p>This page does not exist, or it has moved. <a href="{top}index.html">The first page</a> leads to all chapters, and
<a href="{top}search.html">the search</a> finds words in them.</p>
"""
SITEMAP = """<?xml version="1.0" encoding="utf-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
{}
</urlset>
"""
# The kernel's own TCP port is for the output of forked processes, and stray bytes that reach it are printed as a warning.
LAUNCH_KERNEL = """
from ipykernel import iostream, kernelapp

class IOPubThread(iostream.IOPubThread):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options | {"pipe": False})

kernelapp.IOPubThread = IOPubThread
kernelapp.launch_new_instance()
"""
ASSIGNMENTS, GENERATED = "assignments", "made"


class SocketKernelManager(AsyncKernelManager):
    """Starts kernels that listen on Unix sockets instead of TCP ports."""

    @default("transport")
    def _use_sockets(self):
        return "ipc"

    @default("ip")
    def _make_socket_folder(self):
        folder = tempfile.mkdtemp(prefix="kernel-")  # short: the path of a socket has at most 107 bytes
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        return f"{folder}/socket"

    def format_kernel_cmd(self, extra_arguments=None):
        command = super().format_kernel_cmd(extra_arguments)
        launcher = command.index("-m")
        return [*command[:launcher], "-c", LAUNCH_KERNEL, *command[launcher + 2 :]]


class AssignmentRole(SphinxRole):
    """``{assignment}`softmax```: a link to the notebook, or only its name if the website is built without it."""

    def run(self):
        name = f"{self.text}.ipynb"
        if self.text not in self.config.course_assignments:
            return [nodes.literal(name, name), nodes.Text(" (whoever teaches the course hands it out)")], []
        up = "../" * self.env.docname.count("/")
        link = f'<a href="{up}{ASSIGNMENTS}/{name}" download>download {name}</a>'
        return [nodes.raw("", link, format="html")], []


class RepositoryRole(SphinxRole):
    """``{repository}`the repository```: a link to the course's repository, or the words alone if its address is unknown."""

    def run(self):
        if not self.config.course_repository:
            return [nodes.Text(self.text)], []
        return [nodes.reference("", self.text, refuri=self.config.course_repository)], []


class Minutes(SphinxRole):
    """``{minutes}`softmax```: the answer key's estimate of how long the exercises of a topic take."""

    def run(self):
        least, most = answer_key.minutes(answer_key.load(self.text).values())
        return [nodes.Text(f"an estimated {least} to {most} minutes")], []


class CorePath(SphinxRole):
    """``{core_path}`encoder scoring```: how many exercises of the core path these topics have, and how long they take."""

    def run(self):
        topics = answer_key.topics() if self.text == "all" else self.text.split()
        entries = [entry for topic in topics for entry in answer_key.load(topic).values() if entry.core]
        least, most = (round(minutes / 60) for minutes in answer_key.minutes(entries))
        return [nodes.Text(f"{len(entries)} exercises, an estimated {least} to {most} hours")], []


def configure(app, config):
    """Tell other extensions the address, and record which notebooks exist: pages are read again when that changes."""
    base = config.html_baseurl
    config.ogp_site_url = f"{base.rstrip('/')}/" if base else ""  # to which addresses of pages are joined
    config.ogp_site_name = config.html_title
    top = config.notfound_urls_prefix = f"/{urlsplit(base).path.strip('/')}/".replace("//", "/")
    config.notfound_context = {"title": "Page not found", "body": NOT_FOUND.format(top=top)}
    config.course_assignments = sorted(path.stem for path in _beside(app, ASSIGNMENTS).glob("*.ipynb"))
    os.environ["COURSE_MADE_FILES"] = str(_beside(app, GENERATED))


def show_stderr(app, doctree):
    """Log what cells wrote to stderr: ``stderr_output: error`` only says that they did."""
    for block in doctree.findall(nodes.literal_block):
        if "stderr" in block["classes"]:
            logger.error("a cell wrote to stderr: %s", block.astext().strip(), location=block)


def finish(app, exception):
    if exception or app.builder.format != "html":
        return
    icon, page = Path(app.config.html_favicon or "").name, f"{app.config.root_doc}.html"
    if page != "index.html":
        entrance = ENTRANCE.format(title=html.escape(app.config.html_title), icon=icon, page=page)
        Path(app.outdir, "index.html").write_text(entrance, encoding="utf-8")
    for name in (ASSIGNMENTS, GENERATED):
        shutil.rmtree(Path(app.outdir, name), ignore_errors=True)
        if any(_beside(app, name).glob("*")):
            shutil.copytree(_beside(app, name), Path(app.outdir, name))
    if app.config.html_baseurl:
        base = app.config.html_baseurl.rstrip("/") + "/"
        pages = sorted(app.builder.get_target_uri(name) for name in app.env.found_docs if name != "404")
        lines = [f"<url><loc>{escape(urljoin(base, page))}</loc></url>" for page in pages]
        Path(app.outdir, "sitemap.xml").write_text(SITEMAP.format("\n".join(lines)), encoding="utf-8")


def _beside(app, name):
    return Path(app.outdir).parent / name


def setup(app):
    jupyter_client.AsyncKernelManager = SocketKernelManager  # nbclient looks it up when it starts a kernel
    app.add_role("assignment", AssignmentRole())
    app.add_role("minutes", Minutes())
    app.add_role("repository", RepositoryRole())
    app.add_role("core_path", CorePath())
    app.add_config_value("course_assignments", [], "env")
    app.add_config_value("course_repository", "", "env")
    app.connect("config-inited", configure, priority=100)  # before the extensions that read it
    app.connect("doctree-read", show_stderr)
    app.connect("build-finished", finish, priority=900)  # after the table of contents has written its own index.html
    return {"parallel_read_safe": True, "parallel_write_safe": True}
