"""What the tests of damaged files share: one error that names the byte, in no time."""

import re
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import strategies as st

from frontends.mxnet.errors import MXNetFormatError
from tests.support.errors import fails

Reader = Callable[[bytes], Any]
_PLACE = r", byte \d+: "


def error_of(read: Reader, data: bytes) -> str:
    """Return the one error of a file from its byte on; it comes soon and takes little memory."""
    start = time.monotonic()
    tracemalloc.start()
    try:
        with pytest.raises(MXNetFormatError) as caught:
            read(data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert time.monotonic() - start < 5
    assert peak < (1 << 20) + 200 * len(data)
    message = str(caught.value)
    assert len(message) < 1000
    assert re.match(r"(symbol|params), byte \d+: ", message)
    return message.partition(", ")[2]


def check_truncations(read: Reader, data: bytes) -> None:
    """Assert that a file is read, and that none of its beginnings is."""
    read(data)
    for size in range(len(data)):
        fails(_PLACE, read, data[:size], error=MXNetFormatError)


def survives(read: Reader, data: bytes) -> None:
    """Assert that a file is read or is an error that names a byte."""
    problem = ", byte 0: "
    try:
        read(data)
    except MXNetFormatError as error:
        problem = str(error)
    assert re.search(_PLACE, problem)


def check_flipped(read: Reader, data: bytes, numbers: st.DataObject) -> None:
    """Assert that a file survives a few other bytes."""
    changed = bytearray(data)
    places = st.tuples(st.integers(0, len(data) - 1), st.integers(0, 255))
    for position, value in numbers.draw(st.lists(places, min_size=1, max_size=4)):
        changed[position] = value
    survives(read, bytes(changed))
