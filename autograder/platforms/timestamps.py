"""Parse and format times as platforms and nbgrader's exchange write them.

In: text. Out: times in UTC, and text again. Pure.
"""

import re
from datetime import UTC, datetime, timedelta

CLOCK_SKEW = timedelta(minutes=10)  # that two machines' clocks may differ
FIRST_YEAR = 1980  # the first date of zip archives: an earlier one means that none is known


def parse_time(text: str | bytes) -> datetime | None:
    """Return the time in ``text``, from a ``timestamp.txt`` or a platform, in UTC; None if it states none."""
    if isinstance(text, bytes):
        text = text[:100].decode("utf-8", "replace")
    text = re.sub(r"\s*(UTC|Z)$", "+00:00", text.strip())
    text = re.sub(r"(\.\d{6})\d+", r"\1", text).replace(" +", "+").replace(" -", "-")
    try:
        time = datetime.fromisoformat(text)
        time = (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return time if time.year >= FIRST_YEAR else None


def format_time(when: datetime | None) -> str:
    """Return ``when`` as a ``timestamp.txt`` has it; "" for no time."""
    return f"{when.astimezone(UTC):%Y-%m-%d %H:%M:%S.%f} UTC" if when else ""
