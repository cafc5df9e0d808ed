"""Pack a text into one line of letters and digits, so that the data in a notebook is short and out of sight.

Packed text is not secret: ``unpack_texts`` shows how to read it.
"""

import base64
import json
import re
import zlib

DRAWN = "checks.DRAWN_CASES |= "  # begins the part that ``visible_source`` leaves out
PACKED = re.compile(r'"(eN[A-Za-z0-9+/]{14,}=*)"')  # every text that zlib compressed at level 9 begins so


def compress(text: str) -> str:
    """Return ``text`` in fewer characters, none of them a quotation mark or a backslash."""
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


def list_packed_texts(source: str) -> list[str]:
    """Return the texts that are packed in ``source``."""
    return [zlib.decompress(base64.b64decode(packed)).decode() for packed in PACKED.findall(source)]


def unpack_texts(source: str) -> str:
    """Return ``source`` followed by the texts that are packed in it."""
    return "\n".join([source, *list_packed_texts(source)])


def visible_source(source: str) -> str:
    """Return ``unpack_texts(source)`` without drawn numbers and without the results of mistakes.

    Among so many numbers, some are close to any answer by chance.
    """
    worked = source.partition(f"\n{DRAWN}")[0]
    return "\n".join(
        [worked, *(json.dumps(json.loads(text, object_hook=_without_wrong)) for text in list_packed_texts(worked))]
    )


def _without_wrong(item):
    return {key: value for key, value in item.items() if key != "wrong"}
