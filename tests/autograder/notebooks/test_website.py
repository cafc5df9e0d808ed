"""The address of the website is the configured one, or "" for a placeholder; invalid addresses are refused."""

import pytest

from autograder.errors import CourseError
from autograder.notebooks import website


@pytest.mark.parametrize(
    ("stated", "address"),
    [
        ("https://attention.university.edu/course", "https://attention.university.edu/course/"),
        ("http://localhost:8000/", "http://localhost:8000/"),
        ('""', ""),
        ("https://example.org/bahdanau-attention/", ""),
        ("https://www.example.com", ""),
        ("https://book.invalid/", ""),
    ],
)
def test_the_address_of_the_website_is_what_the_configuration_states_and_a_placeholder_is_none(
    stated, address, tmp_path
):
    config = tmp_path / "_config.yml"
    config.write_text(f"html:\n  baseurl: {stated}\n")
    assert website.site_address(config) == address


@pytest.mark.parametrize("text", ["", "html:\n", "html:\n  baseurl:\n", "title: A book\n"])
def test_a_configuration_without_an_address_states_none(text, tmp_path):
    config = tmp_path / "_config.yml"
    assert website.site_address(config) == ""
    config.write_text(text)
    assert website.site_address(config) == ""


@pytest.mark.parametrize(
    "address", ["attention.edu", "javascript:alert(1)", "https://a.edu/) ![](x", "https://a.edu/?q=1"]
)
def test_what_is_no_address_of_a_website_is_refused(address, tmp_path):
    config = tmp_path / "_config.yml"
    config.write_text(f"html:\n  baseurl: {address!r}\n")
    with pytest.raises(CourseError, match=r"_config\.yml: .* is not the address of a website\n  Remedy: "):
        website.site_address(config)
