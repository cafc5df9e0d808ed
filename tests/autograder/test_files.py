"""Files are written whole or not at all."""

import errno
from pathlib import Path

import nbformat
import pytest

from autograder.files import digest, write_text
from autograder.notebooks import assemble


def test_writing_leaves_no_draft_and_replaces_what_was_there(tmp_path):
    path = tmp_path / "deep" / "toy.ipynb"
    for text in ("one", "two"):
        write_text(text, path)
    assert path.read_text(encoding="utf-8") == "two"
    assemble.write_notebook(nbformat.v4.new_notebook(), path)
    nbformat.validate(nbformat.read(path, as_version=4))
    assert list(path.parent.iterdir()) == [path]


def test_a_digest_changes_with_what_is_in_a_file_and_with_its_name_and_with_nothing_else(tmp_path):
    room = tmp_path / "room"
    room.mkdir()
    (room / "one.py").write_text("1")
    first = digest([room])
    (room / "notes.txt").write_text("nothing")
    assert digest([room]) == first
    (room / "one.py").write_text("2")
    second = digest([room])
    (room / "one.py").rename(room / "two.py")
    assert len({first, second, digest([room])}) == 3


def test_a_full_disk_leaves_what_was_there_and_no_half_of_anything(tmp_path, monkeypatch):
    path = tmp_path / "grades.csv"
    write_text("before", path)
    real = Path.write_bytes

    def full(place, content):
        real(place, content[: len(content) // 2])
        raise OSError(errno.ENOSPC, "No space left on device", str(place))

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space left"):
        write_text("after, and longer", path)
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("grades.csv", "before")]
