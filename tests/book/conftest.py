"""The website, built once for all tests that look at it."""

import pytest

from tests.book.website import website


@pytest.fixture(scope="session")
def site():
    """The website's folder, built as `make site` builds it: first the notebooks that it offers, then its pages."""
    return website()
