"""What several processes need is made once; if that fails, no process tries again."""

import pytest

from tests.shared import FOLDER, made_once


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv(FOLDER, str(tmp_path))


def test_what_was_made_is_made_once():
    calls = []
    assert made_once("it", lambda folder: calls.append(folder.is_dir()) or 7) == 7
    assert made_once("it", lambda folder: calls.append(True)) == 7
    assert calls == [True]


def test_what_could_not_be_made_is_told_to_each_and_not_tried_again():
    with pytest.raises(ZeroDivisionError):
        made_once("it", lambda folder: 1 / 0)
    with pytest.raises(AssertionError, match=r"it could not be made:(.|\n)*ZeroDivisionError"):
        made_once("it", lambda folder: 7)
