"""Parses untrusted JSON, and finds the byte offset of a parsed value."""

from __future__ import annotations

import json
import re
from typing import Any

from frontends.mxnet.errors import format_error

JsonPath = tuple[str | int, ...]

# Real symbols nest 7 deep, and 4 more for each subgraph in a subgraph.
_MAX_DEPTH = 64
_MAX_DIGITS = 19  # of an int64
_TOKEN = re.compile(r'"|\\.|[\[{]|[\]}]', re.DOTALL)
_SPACE = re.compile(r"[ \t\n\r]*")


class _LongNumberError(ValueError):
    """A number has more digits than any valid one."""


def parse(source: str, text: str) -> Any:
    """Parse JSON.

    Args:
        source: what to call the file in messages.
        text: the JSON.

    Raises:
        MXNetFormatError: it is no JSON, nests deeper than symbols do, or has numbers of more
            than 19 digits.
    """
    _check_depth(source, text)
    try:
        return json.loads(text, parse_int=_integer, parse_constant=_constant)
    except json.JSONDecodeError as error:
        raise format_error(source, _byte(text, error.pos), f"is no JSON: {error.msg}") from None
    except _LongNumberError as error:
        number = str(error)
        raise format_error(
            source, _byte(text, text.find(number)), f"the number {number[:24]} makes no sense"
        ) from None


def locate(text: str, path: JsonPath) -> int:
    """Return the byte at which a path's value begins, or the innermost object that lacks it.

    Args:
        text: JSON that has been parsed.
        path: keys of objects and indices of elements, from the outermost value inwards.
    """
    position = _skip(text, 0)
    for key in path:
        inner = _child(text, position, key)
        if inner is None:
            break
        position = inner
    return _byte(text, position)


def _check_depth(source: str, text: str) -> None:
    # Python's parser recurses into each bracket.
    depth, quoted = 0, False
    for match in _TOKEN.finditer(text):
        token = match.group()
        if token == '"':
            quoted = not quoted
        elif not quoted and token in "[{":
            depth += 1
            if depth > _MAX_DEPTH:
                raise format_error(
                    source,
                    _byte(text, match.start()),
                    f"nests more than {_MAX_DEPTH} deep, which no symbol does",
                )
        elif not quoted and token in "]}":
            depth -= 1


def _integer(text: str) -> int:
    if len(text) > _MAX_DIGITS + 1:  # and a sign
        raise _LongNumberError(text)
    return int(text)


def _constant(text: str) -> None:
    raise _LongNumberError(text)  # NaN and Infinity are no JSON


def _child(text: str, position: int, key: str | int) -> int | None:
    """Find where the value of a key, or an element, of the container at a position begins."""
    opening = text[position]
    if opening != ("[" if isinstance(key, int) else "{"):
        return None
    decode = json.JSONDecoder(parse_int=str).raw_decode
    found = None
    index = 0
    position = _skip(text, position + 1)
    while text[position] not in "]}":
        name: str | int = index
        if opening == "{":
            name, position = decode(text, position)
            position = _skip(text, _skip(text, position) + 1)  # after the colon
        if name == key:
            found = position  # the last of several counts
        position = _skip(text, decode(text, position)[1])
        if text[position] == ",":
            position = _skip(text, position + 1)
        index += 1
    return found


def _skip(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    assert match is not None  # it matches nothing, too
    return match.end()


def _byte(text: str, position: int) -> int:
    return len(text[:position].encode("utf-8", "surrogatepass"))
