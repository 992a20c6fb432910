"""Damaged and hostile files: one error that names the byte, in no time and little memory."""

from __future__ import annotations

import io
import json
import re
import struct
import time
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frontends.mxnet.errors import MXNetFormatError
from frontends.mxnet.params import read_params
from frontends.mxnet.symbol import read_symbol
from tests.frontends.mxnet.files import (
    LEGACY,
    V1,
    V2,
    V3,
    array_list,
    dense,
    shape_bytes,
    sparse,
    symbol_json,
)

Reader = Callable[[bytes], Any]

ROWS = sparse((4, 2), np.array([[1, 2]], np.float32), np.array([3]))
CSR = sparse((2, 3), np.array([4, 5], np.float32), np.array([0, 1, 2]), np.array([2, 0]))
ARRAYS = [dense(np.arange(3, dtype=np.int8), magic) for magic in (LEGACY, V1, V2, V3)]
PARAMS = array_list([*ARRAYS, ROWS, CSR], ["arg:a", "b", "aux:c", "arg:d", "e", "f"])

NODES: list[dict[str, Any]] = [
    {"op": "null", "name": "data", "attrs": {"__shape__": "(1, 3)"}},
    {"op": "null", "name": "w"},
    {"op": "FullyConnected", "name": "fc", "attr": {"num_hidden": "8"}, "inputs": [[0, 0], [1, 0]]},
]
SYMBOL = symbol_json([*NODES, {"op": "x", "name": "é", "inputs": [[2, 0, 0]]}]).encode()


BYTE = np.ones(1, np.int8)


def archive(**arrays: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.savez_compressed(file, **dict[str, Any](arrays))
    return file.getvalue()


NPZ = archive(x=np.arange(6, dtype=np.int8).reshape(2, 3), y=np.zeros(40, np.float32))


def error_of(read: Reader, data: bytes) -> str:
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


def params_error(data: bytes) -> str:
    return error_of(read_params, data)


def symbol_error(text: str | bytes) -> str:
    return error_of(read_symbol, text.encode() if isinstance(text, str) else text)


@pytest.mark.parametrize(("read", "data"), [(read_params, PARAMS), (read_symbol, SYMBOL)])
def test_every_truncation_is_an_error(read: Reader, data: bytes) -> None:
    read(data)
    for size in range(len(data)):
        with pytest.raises(MXNetFormatError, match=r", byte \d+: "):
            read(data[:size])


def test_every_truncation_of_a_zip_is_an_error() -> None:
    read_params(NPZ)
    for size in range(len(NPZ)):
        with pytest.raises(MXNetFormatError, match=r", byte \d+: "):
            read_params(NPZ[:size])


def survives(read: Reader, data: bytes) -> None:
    problem = ", byte 0: "
    try:
        read(data)
    except MXNetFormatError as error:
        problem = str(error)
    assert re.search(r", byte \d+: ", problem)


@pytest.mark.parametrize(
    ("read", "data"), [(read_params, PARAMS), (read_params, NPZ), (read_symbol, SYMBOL)]
)
@settings(max_examples=100)
@given(numbers=st.data())
def test_flipped_bytes_parse_or_are_an_error(
    read: Reader, data: bytes, numbers: st.DataObject
) -> None:
    changed = bytearray(data)
    places = st.tuples(st.integers(0, len(data) - 1), st.integers(0, 255))
    for position, value in numbers.draw(st.lists(places, min_size=1, max_size=4)):
        changed[position] = value
    survives(read, bytes(changed))


@settings(max_examples=100)
@given(
    position=st.integers(0, len(PARAMS) - 8),
    layout=st.sampled_from(["<I", "<i", "<Q"]),
    value=st.sampled_from([0, 1, 2, 32, 33, 2**31 - 1, 0xF993FAC8, 0xF993FAC9, 0xF993FACA]),
)
def test_wild_words_parse_or_are_an_error(position: int, layout: str, value: int) -> None:
    changed = bytearray(PARAMS)
    struct.pack_into(layout.replace("i", "I"), changed, position, value)
    survives(read_params, bytes(changed))


@settings(max_examples=100)
@given(data=st.binary(max_size=200), zipped=st.booleans())
def test_any_bytes_behind_a_header(data: bytes, zipped: bool) -> None:
    survives(read_params, (b"PK\3\4" if zipped else struct.pack("<QQQ", 0x112, 0, 1)) + data)
    survives(read_params, array_list([struct.pack("<Ii", V2, len(data) % 4 - 1) + data], ["x"]))


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)


@settings(max_examples=100)
@given(numbers=st.data(), value=JSON_VALUES)
def test_any_value_in_any_place_of_a_symbol(numbers: st.DataObject, value: Any) -> None:
    content = json.loads(SYMBOL)
    place = content
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = numbers.draw(st.sampled_from(keys))
        if not isinstance(place[key], dict | list) or not place[key] or numbers.draw(st.booleans()):
            break
        place = place[key]
    place[key] = value
    survives(read_symbol, json.dumps(content).encode())


@pytest.mark.parametrize("source", [None, 3, ["a"], object()])
def test_not_a_source(source: Any) -> None:
    with pytest.raises(MXNetFormatError, match=r"params: got .*, needs a path or bytes"):
        read_params(source)
    with pytest.raises(MXNetFormatError, match=r"symbol: got .*, needs a path, bytes or a text"):
        read_symbol(source)


def test_errors_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / "net.params"
    path.write_bytes(PARAMS[:-1])
    with pytest.raises(MXNetFormatError, match=re.escape(f"{path}, byte {len(PARAMS) - 1}: ")):
        read_params(path)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"{}" * 8, "byte 0: begins with 0x7d7b7d7b7d7b7d7b, MXNet's lists of arrays with 0x112"),
        (
            struct.pack("<QQQ", 0x112, 0, 2**62),
            f"byte 16: the arrays are {2**62}, more than fit into the 0 bytes behind",
        ),
        (
            array_list([struct.pack("<I", 99)]),
            "byte 24: array 0 begins with 0x63, which no array does",
        ),
        (array_list([struct.pack("<Ii", V2, 3)]), "byte 28: array 0 has storage type 3"),
        (array_list([struct.pack("<Ii", V1, 33)]), "byte 28: array 0 has rank 33"),
        (
            array_list([dense(np.zeros(1, np.int8), flag=13)]),
            "byte 52: array 0 has type 13, needs 0 to 12",
        ),
        (
            array_list([dense(BYTE)], ["a", "b"]),
            "byte 57: there are 1 arrays, but 2 names",
        ),
        (
            array_list([dense(BYTE)] * 2, ["a", "a"]),
            "byte 90: two arrays have the same name",
        ),
        (
            array_list([dense(BYTE)], ["?"])[:-1] + b"\xff",
            "byte 73: name 0 is not UTF-8 text",
        ),
        (PARAMS + b"\n", f"byte {len(PARAMS)}: 1 bytes are left behind the names"),
    ],
)
def test_damaged_lists(data: bytes, message: str) -> None:
    assert message in params_error(data)


@pytest.mark.parametrize("magic", [LEGACY, V1, V2, V3])
@pytest.mark.parametrize("shape", [(2**31 - 1,) * 3, (2**30, 1, 1), (2**31 - 1, 0, 2**31 - 1)])
def test_sizes_are_checked_before_memory_is_taken(magic: int, shape: tuple[int, ...]) -> None:
    stand_in = dense(np.zeros((1, 1, 1), np.int64), magic)
    if magic == LEGACY:
        changed = stand_in.replace(struct.pack("<III", 1, 1, 1), struct.pack("<III", *shape))
    else:
        changed = stand_in.replace(shape_bytes((1, 1, 1)), shape_bytes(shape))
    assert "array 0" in params_error(array_list([changed]))


def test_negative_dimensions() -> None:
    data = dense(np.zeros((1, 1), np.int8), V2).replace(shape_bytes((1, 1)), shape_bytes((-2, -3)))
    assert "array 0 is of shape (-2, -3), which no array has" in params_error(array_list([data]))


ONE = np.ones((1, 1), np.float32)
EMPTY = np.zeros(0, np.int64)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (
            sparse((2**20, 2**20), np.zeros((0, 2**20), np.float32), EMPTY),
            f"array 0 unpacks to {2**42} bytes, too many",
        ),
        (
            sparse(
                (2**20, 2**20),
                np.zeros(0, np.float32),
                np.zeros(2**20 + 1, np.int8),
                EMPTY,
            ),
            f"array 0 unpacks to {2**42} bytes, too many",
        ),
        (
            sparse((4, 1), ONE, np.array([4])),
            "indices are 4 to 4, need 0 to 3",
        ),
        (
            sparse((4, 1), ONE, np.array([-1])),
            "indices are -1 to -1, need 0 to 3",
        ),
        (
            sparse((4, 1), ONE, np.array([1], np.float32)),
            "indices are no lists of integers",
        ),
        (sparse((4, 1), ONE, np.array([[1]])), "indices are no lists"),
        (
            sparse((2, 2), ONE[0], np.array([0, 1]), np.array([0])),
            "the starts of its rows do not divide 1 values",
        ),
        (
            sparse((2, 2), ONE[0], np.array([0, 2, 1]), np.array([0])),
            "the starts of its rows do not ascend",
        ),
        (
            sparse((2, 2, 1), ONE[0], np.array([0, 1, 1]), np.array([0])),
            "of shape (2, 2, 1), with values of shape (1,) at 1 indices",
        ),
    ],
)
def test_damaged_sparse_arrays(array: bytes, message: str) -> None:
    assert message in params_error(array_list([array]))


def zipped(**members: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as target:
        for name, content in members.items():
            target.writestr(f"{name}.npy", content)
    return file.getvalue()


HEADER = "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }"


def npy(header: str, content: bytes = b"") -> bytes:
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode() + content


@pytest.mark.parametrize(
    ("member", "message"),
    [
        (b"\x93NUMPX\1\0\0\0", "is no array of numpy's"),
        (b"\x93NUMPY\1\0\xff\xff{", "ends within its header"),
        (npy(HEADER.replace("<f4", "|O")), "has a header that no"),
        (npy("__import__('os').abort()"), "has a header that no parameter has"),
        (
            npy("{'descr': '<f4', 'fortran_order': False, 'shape': (" + "9," * 40 + "), }"),
            "of shape",
        ),
        (
            npy(HEADER.replace("1", "99999999999999")),
            "'x.npy' is of shape (99999999999999,) and type float32, but of 0 bytes",
        ),
    ],
)
def test_damaged_members(member: bytes, message: str) -> None:
    assert message in params_error(zipped(x=member))


def test_zips_that_unpack_to_too_much() -> None:
    member = npy(HEADER.replace("1", str(5 * 10**6)), bytes(2 * 10**7))
    assert "'x.npy' unpacks to 2000" in params_error(zipped(x=member))


def test_members_compressed_by_other_methods() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_LZMA) as target:
        target.writestr("x.npy", b"")
    assert "'x.npy' is compressed by method 14" in params_error(file.getvalue())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "byte 0: is no JSON: Expecting value"),
        (b"\xff{", "byte 0: is not UTF-8 text, so no symbol"),
        ("[]", "byte 0: symbol: is an array, needs an object"),
        ("{}", "byte 0: nodes: is absent, needs an array"),
        ('{"nodes": [],\n"arg_nodes": [], "heads": []}', "byte 10: nodes: is empty"),
        ('{"nodes": [] "heads"}', "byte 13: is no JSON: Expecting ',' delimiter"),
        ('{"nodes": NaN}', "byte 10: the number NaN makes no sense"),
        ('{"é": ' + "7" * 5000 + "}", "byte 7: the number 777777777777777777777777 makes no"),
        ('{"nodes": 1e999}', "byte 10: nodes: is Infinity, needs an array"),
    ],
)
def test_what_is_no_symbol(text: str | bytes, message: str) -> None:
    assert message in symbol_error(text)


@pytest.mark.parametrize("bomb", ["[" * 10**6, '{"nodes":' * 10**6, '[{"\\\\":' * 40, "[" * 65])
def test_deep_nesting(bomb: str) -> None:
    assert "nests more than 64 deep" in symbol_error(bomb)


def test_brackets_in_texts_do_not_nest() -> None:
    text = symbol_json([{"op": "null", "name": '[{"\\' * 100}])
    assert read_symbol(text).nodes[0].name == '[{"\\' * 100


def test_unending_texts_take_linear_time() -> None:
    assert "is no JSON" in symbol_error('{"' + '\\"' * 10**5)


@pytest.mark.parametrize(
    ("index", "changes", "message"),
    [
        (2, {"inputs": [[0, 0], [2, 0]]}, "nodes[2].inputs[1][0]: is 2, needs 0 to 1"),
        (2, {"inputs": [[3, 0]]}, "nodes[2].inputs[0][0]: is 3, needs 0 to 1"),
        (2, {"inputs": [[-1, 0]]}, "nodes[2].inputs[0][0]: is -1, needs 0 to 1"),
        (2, {"inputs": [[0, -1]]}, "nodes[2].inputs[0][1]: is -1, needs 0 to"),
        (2, {"inputs": [[0]]}, "nodes[2].inputs[0]: needs 2 or 3 numbers"),
        (2, {"inputs": [[0, 0, 0, 0]]}, "nodes[2].inputs[0]: needs 2 or 3 numbers"),
        (2, {"inputs": [[True, 0]]}, "nodes[2].inputs[0][0]: is a boolean, needs an integer"),
        (2, {"inputs": [[0.5, 0]]}, "nodes[2].inputs[0][0]: is 0.5, needs an integer"),
        (2, {"inputs": "abc"}, "nodes[2].inputs: is a text, needs an array"),
        (2, {"op": None}, "nodes[2].op: is absent, needs a text"),
        (2, {"name": 7}, "nodes[2].name: is 7, needs a text"),
        (2, {"name": "\ud800"}, "nodes[2].name: is no Unicode text"),
        (2, {"attrs": {"k": 1}}, "nodes[2].attrs.k: is 1, needs a text"),
        (2, {"attrs": []}, "nodes[2].attrs: is an array, needs an object"),
        (2, {"subgraphs": [{}]}, "nodes[2].subgraphs[0].nodes: is absent, needs an array"),
        (0, {"inputs": [[0, 0]]}, "nodes[0].inputs[0][0]: is 0, needs no node, as there is none"),
        (1, {"inputs": [[0, 0]]}, "nodes[1].inputs: a variable has none"),
    ],
)
def test_nodes_that_make_no_sense(index: int, changes: dict[str, Any], message: str) -> None:
    nodes = [{**node, **(changes if number == index else {})} for number, node in enumerate(NODES)]
    assert message in symbol_error(symbol_json(nodes))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"arg_nodes": [0, 2]}, "arg_nodes[1]: names node 2, which is no variable"),
        ({"arg_nodes": [9]}, "arg_nodes[0]: is 9, needs 0 to 2"),
        ({"heads": [[3, 0, 0]]}, "heads[0][0]: is 3, needs 0 to 2"),
        ({"heads": []}, "heads: is empty"),
        ({"attrs": {"mxnet_version": "1.9"}}, "attrs.mxnet_version: needs a type's name and"),
        ({"attrs": {"mxnet_version": ["int", "x"]}}, "attrs.mxnet_version[1]: is a text, needs"),
    ],
)
def test_graphs_that_make_no_sense(fields: dict[str, Any], message: str) -> None:
    assert message in symbol_error(symbol_json(NODES, **fields))


def test_the_byte_is_that_of_the_value() -> None:
    text = symbol_json(
        [NODES[0], {**NODES[1], "name": "é"}, {**NODES[2], "inputs": [[0, 0], [77, 0]]}]
    )
    text = text.replace("\\u00e9", "é")
    offset = text.encode().index(b"77")
    assert symbol_error(text).startswith(f"byte {offset}: nodes[2].inputs[1][0]: is 77")
