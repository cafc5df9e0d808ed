"""Pack a text into the one line of Python that runs it, so that a notebook begins with its first question.

In: texts. Out: texts. Pure. Packed is not secret: whoever wants to can read it, and ``unpacked`` does.
"""

import base64
import re
import zlib

DRAWN = "DRAWN_CASES = "  # begins what is left out of ``readable``
PACKED = re.compile(r'base64\.b64decode\("([^"]+)"\)')


def packed(text: str) -> str:
    """Return an expression whose value is ``text``, as bytes; the notebook has imported ``base64`` and ``zlib``."""
    return f'zlib.decompress(base64.b64decode("{compressed(text)}"))'


def compressed(text: str) -> str:
    """Return ``text`` in fewer signs, none of which is a quotation mark or a backslash."""
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


def packed_in(source: str) -> list[str]:
    """Return the texts that are packed in ``source``."""
    return [zlib.decompress(base64.b64decode(found)).decode() for found in PACKED.findall(source)]


def unpacked(source: str) -> str:
    """Return ``source`` with the texts that are packed in it below it."""
    return "\n".join([source, *packed_in(source)])


def readable(source: str) -> str:
    """Return ``unpacked(source)`` without the numbers that were drawn: of thousands, some are near any answer by chance."""
    return "\n".join(text.partition(f"\n{DRAWN}")[0] for text in (source, *packed_in(source)))
