"""The address of the course's website: the one in ``_config.yml``, unless that is only a placeholder."""

import re
from pathlib import Path
from urllib.parse import urlsplit

import yaml

from autograder.errors import CourseError
from autograder.paths import CONFIG, short

WEB_ADDRESS = re.compile(r"https?://[\w.-]+(:\d+)?(/[\w.~%/-]*)?")  # no character that would end a link in Markdown
PLACEHOLDER = re.compile(r"(^|\.)(example(\.(com|net|org))?|invalid|test)$")  # reserved names


def site_address(config: str | Path | None = None) -> str:
    """Return the address of the website as ``_config.yml`` states it; "" if it states none, or only an example's."""
    config = config or CONFIG
    settings = yaml.safe_load(Path(config).read_text(encoding="utf-8")) if Path(config).is_file() else {}
    address = str(((settings or {}).get("html") or {}).get("baseurl") or "")
    if not address or PLACEHOLDER.search(urlsplit(address).hostname or ""):
        return ""
    return web_address(address, short(config))


def web_address(address: str, place: str) -> str:
    """Return ``address``, ending in a slash. Raises CourseError if it is not the address of a website."""
    if not WEB_ADDRESS.fullmatch(address):
        raise CourseError(f"{address!r} is not the address of a website", place, "write it like https://host/folder/.")
    return address.rstrip("/") + "/"
