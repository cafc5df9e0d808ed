"""Files are written whole or not at all."""

import nbformat

from autograder.files import write_text
from autograder.notebooks import assemble


def test_writing_leaves_no_draft_and_replaces_what_was_there(tmp_path):
    path = tmp_path / "deep" / "toy.ipynb"
    for text in ("one", "two"):
        write_text(text, path)
    assert path.read_text(encoding="utf-8") == "two"
    assemble.write(nbformat.v4.new_notebook(), path)
    nbformat.validate(nbformat.read(path, as_version=4))
    assert list(path.parent.iterdir()) == [path]
