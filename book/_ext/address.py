"""What hangs on the address at which the website will stand: its sitemap, and where the page of a dead link finds the others.

In: ``html_baseurl``, which is empty as long as nobody knows. Out: configuration of two other extensions, ``sitemap.xml``.
"""

from pathlib import Path
from urllib.parse import urljoin, urlsplit
from xml.sax.saxutils import escape

NOT_FOUND = """<h1>Page not found</h1>
<p>No page has this address, or none has it any more. <a href="{top}index.html">The first page</a> leads to all chapters, and
<a href="{top}search.html">the search</a> finds words in them.</p>
"""
SITEMAP = """<?xml version="1.0" encoding="utf-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
{}
</urlset>
"""


def settle(app, config):
    """Let cards name the course, and let the page of a dead link, which may stand anywhere, count from the top."""
    config.ogp_site_url, config.ogp_site_name = config.html_baseurl, config.html_title
    top = config.notfound_urls_prefix = f"/{urlsplit(config.html_baseurl).path.strip('/')}/".replace("//", "/")
    config.notfound_context = {"title": "Page not found", "body": NOT_FOUND.format(top=top)}


def write_sitemap(app, exception):
    if exception or app.builder.format != "html" or not app.config.html_baseurl:
        return
    base = app.config.html_baseurl.rstrip("/") + "/"
    pages = sorted(app.builder.get_target_uri(name) for name in app.env.found_docs if name != "404")
    lines = [f"<url><loc>{escape(urljoin(base, page))}</loc></url>" for page in pages]
    Path(app.outdir, "sitemap.xml").write_text(SITEMAP.format("\n".join(lines)), encoding="utf-8")


def setup(app):
    app.connect("config-inited", settle, priority=100)  # before the extensions that read it
    app.connect("build-finished", write_sitemap)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
