"""Files that a page makes while it runs, such as a trained model: kept beside the website, copied into it at the end.

In: what ``figures.moving.publish`` has put into ``made`` beside the folder of the website; a page finds that folder through
the environment variable ``COURSE_MADE_FILES``. Out: ``made`` in the website. Kept apart, because a page that has not changed
is not run again, and a website may be removed and built anew.
"""

import os
import shutil
from pathlib import Path

FOLDER = "COURSE_MADE_FILES"


def name_folder(app):
    os.environ[FOLDER] = str(_made(app))


def copy(app, exception):
    if exception or app.builder.format != "html":
        return
    target = Path(app.outdir, "made")
    shutil.rmtree(target, ignore_errors=True)
    if _made(app).is_dir():
        shutil.copytree(_made(app), target)


def _made(app):
    return Path(app.outdir).parent / "made"


def setup(app):
    app.connect("builder-inited", name_folder, priority=100)  # pages run soon after
    app.connect("build-finished", copy)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
