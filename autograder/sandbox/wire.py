"""Encode and decode, as JSON, the values that cross the sandbox boundary, in either direction.

In: a Python value, or JSON text from an untrusted process. Out: JSON-serialisable data, or a checked plain value.
Touches nothing. Never unpickles, accepts only listed dtypes, and checks every size before it allocates memory.
"""

import base64
import json
import math
import re
import zlib
from typing import Any

import numpy as np

DTYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
DTYPES += ("float16", "float32", "float64")
NAMES = {np.dtype(name): name for name in DTYPES}
SLOW_CALLS = 6  # all calls of an exercise together may use as much time as this many at their limit
MAX_DEPTH = 8
MAX_ITEMS = 10_000
MAX_TEXT_CHARACTERS = 20_000
MAX_ITEMS_IN_ALL = 200_000  # in one value, at any depth
MAX_LISTED_ITEMS = 2_000  # a longer value must be an array, or a dict of a few arrays
MAX_LISTED_KEYS = 100
MAX_KEY_CHARACTERS = 40
KIND = re.compile(r"[A-Za-z0-9_ .,<>\[\]]{1,80}")  # what encode writes for types with an ordinary name
UNKNOWN_KIND = "a kind of its own"


def cell_file_name(source: str) -> str:
    """Return the file name of the cell with this ``source``, the same inside and on the host."""
    return f"{zlib.crc32(source.encode('utf-8', 'replace'))}.py"


class InvalidMessage(ValueError):
    """A message from the sandbox that our own worker would never write."""


def encode(value: Any, depth: int = 0) -> dict[str, Any] | bool | int | float | None:
    """Return ``value`` as JSON-serialisable data; a value that cannot be sent becomes ``{"other": type name}``."""
    if depth > MAX_DEPTH:
        return {"other": "deeply nested data"}
    encoder = ENCODERS.get(type(value))
    if not encoder:  # almost all have one; what follows would be slow for a long list
        kind = type(value)
        if kind.__module__.startswith("torch") and kind.__name__ in ("Tensor", "Parameter"):
            try:
                value = value.detach().cpu().resolve_conj().resolve_neg().numpy()
            except (TypeError, RuntimeError):
                return {"other": f"tensor of {value.dtype}"[:80]}
        elif kind.__name__ == "Size" and isinstance(value, tuple):
            value = tuple(value)
        elif isinstance(value, np.generic):
            value = np.asarray(value)
        encoder = ENCODERS.get(type(value))
    return encoder(value, depth) if encoder else {"other": type(value).__name__[:80]}


def _encode_sequence(value, depth):
    if len(value) > MAX_ITEMS:
        return {"other": "very long list"}
    return {type(value).__name__: [encode(item, depth + 1) for item in value]}


def _encode_dict(value, depth):
    if len(value) > MAX_ITEMS or any(type(key) is not str for key in value):
        return {"other": "dict"}
    return {"dict": {key: encode(item, depth + 1) for key, item in value.items()}}


def _encode_array(value, depth):
    name = NAMES.get(value.dtype) or value.dtype.name  # numpy takes long to put a name together
    if name not in DTYPES:
        return {"other": f"array of {name[:40]}"}
    if not value.dtype.isnative:
        value = value.astype(name)
    return {"array": {"dtype": name, "shape": list(value.shape), "data": base64.b64encode(value.tobytes()).decode()}}


ENCODERS = {
    type(None): lambda value, depth: value,
    bool: lambda value, depth: value,
    int: lambda value, depth: value if -(2**63) <= value < 2**63 else {"other": "int beyond 64 bits"},
    float: lambda value, depth: value if math.isfinite(value) else {"float": repr(value)},
    str: lambda value, depth: {"text": value[:MAX_TEXT_CHARACTERS]},
    list: _encode_sequence,
    tuple: _encode_sequence,
    dict: _encode_dict,
    np.ndarray: _encode_array,
}


def decode(data: object) -> object:
    """Return the plain value that ``encode`` wrote: numbers, text, lists, dicts, arrays. Checks everything.

    Long or odd type names and dict keys, which a submission chooses and people read, are replaced or cut. Long lists
    come back as arrays, so that they are never processed item by item. Raises InvalidMessage if ``data`` is anything
    that ``encode`` does not write.
    """
    room = [MAX_ITEMS_IN_ALL]
    value = _decode(data, 0, room)
    return _as_arrays(value) if MAX_ITEMS_IN_ALL - room[0] > MAX_LISTED_ITEMS else value


def _decode(data, depth, room):
    room[0] -= 1
    if depth > MAX_DEPTH + 1:
        raise InvalidMessage("nested too deeply")
    if room[0] < 0:
        raise InvalidMessage("too many items")
    if data is None or type(data) is bool:
        return data
    if type(data) is int and -(2**63) <= data < 2**63:
        return data
    if type(data) is float and math.isfinite(data):
        return data
    if type(data) is not dict or len(data) != 1:
        raise InvalidMessage("no value, or a number that JSON or 64 bits cannot represent")
    tag, item = next(iter(data.items()))
    kind, most, decoder = DECODERS.get(tag, (None, 0, None))
    if type(item) is not kind or len(item) > most:
        raise InvalidMessage("unknown kind of value")
    return decoder(item, depth, room)


def _decode_float(item, depth, room):
    if item not in ("nan", "inf", "-inf"):
        raise InvalidMessage("unknown kind of value")
    return float(item)


def _decode_list(item, depth, room):
    return [_decode(part, depth + 1, room) for part in item]


def _decode_dict(item, depth, room):
    def readable(key):
        return "".join(letter if letter.isprintable() else "?" for letter in key[:MAX_KEY_CHARACTERS])

    return {readable(key): _decode(part, depth + 1, room) for key, part in item.items()}


def _as_arrays(value, inside=False):
    """Return ``value`` with arrays for lists; ``UnsendableValue`` for lists that are no arrays, and large or nested dicts."""
    if type(value) is dict:
        if inside or len(value) > MAX_LISTED_KEYS:
            return UnsendableValue("very large dict")
        return {key: _as_arrays(item, inside=True) for key, item in value.items()}
    if not isinstance(value, (list, tuple)):
        return value
    try:
        return np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        return UnsendableValue("very long list")


def parse(line: bytes, items: float = math.inf) -> dict[str, Any]:
    """Parse ``line`` as a JSON object; raise InvalidMessage if it is anything else, or has far more than ``items`` items."""
    if items < math.inf and sum(map(line.count, (b"{", b"[", b","))) > 3 * items:  # parsing it would take seconds
        raise InvalidMessage("too many items")
    try:
        message = json.loads(line.decode())  # given bytes, json would first have to detect their encoding
    except (ValueError, RecursionError):
        raise InvalidMessage("no JSON") from None
    if type(message) is not dict:
        raise InvalidMessage("no JSON object")
    return message


class UnsendableValue:
    """A value that cannot be sent over the wire; ``kind`` names its type."""

    def __init__(self, kind: str):
        self.kind = kind


def _decode_array(item, depth, room):
    if set(item) != {"dtype", "shape", "data"} or item["dtype"] not in DTYPES:
        raise InvalidMessage("no array")
    shape, data = item["shape"], item["data"]
    if type(shape) is not list or len(shape) > MAX_DEPTH or type(data) is not str:
        raise InvalidMessage("no array")
    if any(type(size) is not int or not 0 <= size < 2**31 for size in shape):
        raise InvalidMessage("no shape")
    dtype = np.dtype(item["dtype"])
    try:
        raw = base64.b64decode(data, validate=True)
    except ValueError:
        raise InvalidMessage("no base64") from None
    if len(raw) != math.prod(shape) * dtype.itemsize:
        raise InvalidMessage("array data and shape disagree")
    try:
        array = np.frombuffer(raw, dtype=dtype).reshape(shape)
    except ValueError:
        raise InvalidMessage("no shape") from None
    if dtype.kind == "b":
        array = array.view(np.uint8) != 0
    return array if shape else array[()]


DECODERS = {  # tag: (JSON type of its item, maximum length of that, function that decodes it)
    "float": (str, 4, _decode_float),
    "text": (str, MAX_TEXT_CHARACTERS, lambda item, depth, room: item.encode("utf-8", "replace").decode()),
    "other": (str, math.inf, lambda item, depth, room: UnsendableValue(item if KIND.fullmatch(item) else UNKNOWN_KIND)),
    "list": (list, MAX_ITEMS, _decode_list),
    "tuple": (list, MAX_ITEMS, lambda item, depth, room: tuple(_decode_list(item, depth, room))),
    "dict": (dict, MAX_ITEMS, _decode_dict),
    "array": (dict, 3, _decode_array),
}
