"""Damage to files: what an attacker, a broken disk or a careless program may do to them."""

import json
import struct
from collections.abc import Callable
from typing import Any

import numpy as np

Rng = np.random.Generator

WILD = (
    *(0, 1, 2, 3, 4, 7, 8, 127, 128, 255, 256, 32767, 65535, 65536, 1 << 24),
    *((1 << 31) - 1, 1 << 31, (1 << 32) - 1, (1 << 32) - 2, (1 << 32) - 4),
)
"""What offsets, sizes and counts become."""


def damaged(rng: Rng, content: bytes) -> bytes:
    """Return a file with one to six changes, most of them to words of four bytes."""
    data = bytearray(content)
    for _ in range(int(rng.integers(1, 7))):
        if not data:
            break
        _CHANGES[int(rng.integers(len(_CHANGES)))](rng, data)
    return bytes(data)


def _flip(rng: Rng, data: bytearray) -> None:
    data[int(rng.integers(len(data)))] ^= 1 << int(rng.integers(8))


def _byte(rng: Rng, data: bytearray) -> None:
    data[int(rng.integers(len(data)))] = int(rng.integers(256))


def _word(rng: Rng, data: bytearray) -> None:
    if len(data) >= 4:
        place = 4 * int(rng.integers(len(data) // 4))
        struct.pack_into("<I", data, place, WILD[int(rng.integers(len(WILD)))])


def _small_change(rng: Rng, data: bytearray) -> None:
    if len(data) >= 4:
        place = 4 * int(rng.integers(len(data) // 4))
        (value,) = struct.unpack_from("<I", data, place)
        moved = (value + int(rng.integers(-16, 17))) % (1 << 32)
        struct.pack_into("<I", data, place, moved)


def _real(rng: Rng, data: bytearray) -> None:
    if len(data) >= 4:
        place = 4 * int(rng.integers(len(data) // 4))
        struct.pack_into("<f", data, place, ODD_SCALES[int(rng.integers(len(ODD_SCALES)))])


def _cut(rng: Rng, data: bytearray) -> None:
    if rng.random() < 0.3:
        del data[int(rng.integers(len(data))) :]


def _copy(rng: Rng, data: bytearray) -> None:
    length = int(rng.integers(1, 33))
    source, target = (int(place) for place in rng.integers(len(data), size=2))
    data[target : target + length] = data[source : source + length]


_CHANGES: tuple[Callable[[Rng, bytearray], None], ...] = (
    *(_flip, _byte, _word, _word, _word, _small_change, _small_change, _real, _cut, _copy),
)

ODD_SCALES = (
    *(0.0, -0.0, -1.0, float("nan"), float("inf"), float("-inf"), 1e-45, 1e-38, 1e38, 3e38),
    *(1e-10, 1e10, 1.0, 0.5),
)
_ODD_VALUES: tuple[Any, ...] = (
    *("", "nan", "-1", "0", "1e999", "(0, 0)", "(1,", "None", "True", "[]", "-2147483649"),
    *(None, [], {}, [[]], -1, 0, 1 << 31, 1 << 70, 1.5, True, "\ud800", "x" * 1000),
)


def changed_json(rng: Rng, text: str) -> str:
    """Return a JSON text with one to four values changed, dropped or doubled."""
    tree = json.loads(text)
    for _ in range(int(rng.integers(1, 5))):
        places = list(_places(tree))
        if not places:
            break
        parent, key = places[int(rng.integers(len(places)))]
        kind = int(rng.integers(5))
        if kind == 0:
            del parent[key]
        elif kind == 1:
            parent[key] = _ODD_VALUES[int(rng.integers(len(_ODD_VALUES)))]
        elif kind == 2 and isinstance(parent[key], int):
            parent[key] = parent[key] + int(rng.integers(-3, 4))
        elif kind == 3:
            other, place = places[int(rng.integers(len(places)))]
            parent[key] = json.loads(json.dumps(other[place]))
        elif isinstance(parent, list):
            parent.insert(key, parent[key])
    return json.dumps(tree)


def _places(tree: Any) -> list[tuple[Any, Any]]:
    found: list[tuple[Any, Any]] = []
    pending = [tree]
    while pending:
        node = pending.pop()
        keys = node.keys() if isinstance(node, dict) else range(len(node))
        for key in keys:
            found.append((node, key))
            if isinstance(node[key], dict | list):
                pending.append(node[key])
    return found
