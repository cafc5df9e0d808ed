"""Times as platforms and nbgrader's exchange state them.

In: text. Out: times in UTC, and text again. Pure.
"""

import re
from datetime import UTC, datetime, timedelta

CLOCK_SKEW = timedelta(minutes=10)  # that two machines' clocks may differ
FIRST_YEAR = 1980  # of a zip archive's dates: what states an earlier one states nothing


def stated_time(text: str | bytes) -> datetime | None:
    """Return the time that ``text`` states, as a ``timestamp.txt`` or a platform does, in UTC, or None."""
    if isinstance(text, bytes):
        text = text[:100].decode("utf-8", "replace")
    text = re.sub(r"\s*(UTC|Z)$", "+00:00", text.strip())
    text = re.sub(r"(\.\d{6})\d+", r"\1", text).replace(" +", "+").replace(" -", "-")
    try:
        found = datetime.fromisoformat(text)
        found = (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return found if found.year >= FIRST_YEAR else None


def as_nbgrader_writes(when: datetime | None) -> str:
    """Return ``when`` as a ``timestamp.txt`` has it; "" for no time."""
    return f"{when.astimezone(UTC):%Y-%m-%d %H:%M:%S.%f} UTC" if when else ""
