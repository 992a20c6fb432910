"""Parameter files of every version, and one error, in no time, for those that are damaged."""

import io
import re
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frontends.mxnet.errors import MXNetFormatError
from frontends.mxnet.params import read_params
from qnn_ops.arrays import Array
from tests.frontends.mxnet.damage import check_flipped, check_truncations, error_of, survives
from tests.frontends.mxnet.files import (
    FLAGS,
    LEGACY,
    V1,
    V2,
    V3,
    array_list,
    dense,
    shape_bytes,
    sparse,
)
from tests.support.errors import fails

EXAMPLE = np.arange(-3, 3).reshape(2, 3)


def only(data: bytes) -> Array:
    arguments, states = read_params(data)
    assert not states
    (array,) = arguments.values()
    return array


def assert_same(array: Array, expected: Array) -> None:
    assert array.dtype == expected.dtype
    np.testing.assert_array_equal(array, expected)


@pytest.mark.parametrize("magic", [LEGACY, V1, V2, V3])
@pytest.mark.parametrize("dtype", FLAGS)
def test_every_type_in_every_version(magic: int, dtype: str) -> None:
    expected = EXAMPLE.astype(dtype)
    assert_same(only(array_list([dense(expected, magic)], ["x"])), expected)


def test_bfloat16_becomes_float32() -> None:
    expected = np.array([1.0, -2.5, 3.140625, np.inf], np.float32)
    bits = (expected.view(np.uint32) >> 16).astype(np.uint16)
    assert_same(only(array_list([dense(bits, V2, flag=12)])), expected)


def test_arrays_are_copies_that_can_be_written() -> None:
    array = only(array_list([dense(EXAMPLE.astype(np.int8))], ["an odd offset"]))
    assert array.flags.writeable
    assert array.flags.aligned


def test_prefixes_tell_arguments_from_states() -> None:
    names = ["arg:w", "aux:w", "plain", "a:b", "arg:", "arg:x:y"]
    data = array_list([dense(np.full(1, n, np.int32)) for n in range(6)], names)
    arguments, states = read_params(data)
    assert {name: int(array[0]) for name, array in arguments.items()} == {
        "w": 0,
        "plain": 2,
        "a:b": 3,
        "arg:": 4,
        "x:y": 5,
    }
    assert {name: int(array[0]) for name, array in states.items()} == {"w": 1}


def test_arrays_without_names_are_numbered() -> None:
    arguments, _ = read_params(array_list([dense(np.full(1, n, np.int8)) for n in range(3)]))
    assert list(arguments) == ["0", "1", "2"]


def test_arrays_without_a_shape_are_left_out() -> None:
    unshaped = [b"\0\0\0\0", dense(np.zeros((), np.int8), V1)[:8]]
    unshaped.append(dense(np.zeros((), np.int8), V2)[:12])
    arguments, _ = read_params(array_list([*unshaped, dense(EXAMPLE)], ["a", "b", "c", "d"]))
    assert list(arguments) == ["d"]


def test_scalars_and_empty_arrays_with_the_shapes_of_numpy() -> None:
    data = array_list(
        [dense(np.array([7], np.float32).reshape(()), V3), dense(np.zeros((0, 3)), V3)]
    )
    arguments, _ = read_params(data)
    assert_same(arguments["0"], np.array([7], np.float32).reshape(()))
    assert arguments["1"].shape == (0, 3)


def test_row_sparse_arrays_are_expanded() -> None:
    values = np.arange(6, dtype=np.float32).reshape(2, 3) + 1
    expected = np.zeros((5, 3), np.float32)
    expected[[1, 3]] = values
    assert_same(only(array_list([sparse((5, 3), values, np.array([1, 3]))])), expected)


def test_csr_arrays_are_expanded() -> None:
    values = np.array([1, 2, 3], np.float32)
    starts, columns = np.array([0, 2, 2, 3]), np.array([0, 2, 1])
    expected = np.array([[1, 0, 2, 0], [0, 0, 0, 0], [0, 3, 0, 0]], np.float32)
    assert_same(only(array_list([sparse((3, 4), values, starts, columns)])), expected)


def test_a_path(tmp_path: Path) -> None:
    path = tmp_path / "model-0000.params"
    path.write_bytes(array_list([dense(EXAMPLE)], ["x"]))
    for spelled in (path, str(path)):
        assert_same(read_params(spelled)[0]["x"], EXAMPLE)


@pytest.mark.parametrize("write", [np.savez, np.savez_compressed])
def test_npz(write: Any) -> None:
    arrays: dict[str, Any] = {
        "arg:w": EXAMPLE.astype(np.float32),
        "arg:turned": np.asfortranarray(EXAMPLE.astype(np.int8)),
        "aux:scalar": np.array(2.5),
        "block.0.weight": np.zeros((2, 0), np.uint8),
        "flags": np.array([True, False]),
    }
    file = io.BytesIO()
    write(file, **arrays)
    arguments, states = read_params(file.getvalue())
    assert list(arguments) == ["w", "turned", "block.0.weight", "flags"]
    assert list(states) == ["scalar"]
    read = {**{f"arg:{name}": array for name, array in arguments.items()}, **arguments}
    read["aux:scalar"] = states["scalar"]
    for name, expected in arrays.items():
        assert_same(read[name], expected)


def npy(array: Array, descr: str | None = None) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    data = file.getvalue()
    return data.replace(array.dtype.str.encode(), descr.encode()) if descr else data


def zipped(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return file.getvalue()


def test_npz_of_bfloat16() -> None:
    bits = np.array([0x3F80, 0xC020], np.uint16)
    data = zipped({"x.npy": npy(bits, "<b2"), "notes.txt": b"not an array"})
    assert_same(only(data), np.array([1, -2.5], np.float32))


# MXNet's own header of the format is none: it forgot to close the quotation.
BROKEN_HEADER = b"{'descr': '|s3{'descr': '<i8', 'fortran_order': False, 'shape': (), }" + b" " * 9


@pytest.mark.parametrize("mxnets", [False, True])
def test_npz_of_sparse_arrays(mxnets: bool) -> None:
    def form(kind: str) -> bytes:
        if mxnets:
            return (
                b"\x93NUMPY\1\0"
                + len(BROKEN_HEADER).to_bytes(2, "little")
                + (BROKEN_HEADER + kind.encode())
            )
        return npy(np.array(kind))

    data = zipped(
        {
            "arg:rows/data.npy": npy(np.array([[1, 2]], np.float32)),
            "arg:rows/indices.npy": npy(np.array([1])),
            "arg:rows/shape.npy": npy(np.array([3, 2])),
            "arg:rows/format.npy": form("row_sparse"),
            "arg:csr/data.npy": npy(np.array([5, 6], np.float32)),
            "arg:csr/indices.npy": npy(np.array([2, 0])),
            "arg:csr/indptr.npy": npy(np.array([0, 1, 2])),
            "arg:csr/shape.npy": npy(np.array([2, 3])),
            "arg:csr/format.npy": form("csr"),
            "folder/x.npy": npy(np.array([1], np.int8)),
        }
    )
    arguments, _ = read_params(data)
    assert_same(arguments["rows"], np.array([[0, 0], [1, 2], [0, 0]], np.float32))
    assert_same(arguments["csr"], np.array([[0, 0, 5], [6, 0, 0]], np.float32))
    assert_same(arguments["folder/x"], np.array([1], np.int8))


ROWS = sparse((4, 2), np.array([[1, 2]], np.float32), np.array([3]))
CSR = sparse((2, 3), np.array([4, 5], np.float32), np.array([0, 1, 2]), np.array([2, 0]))
ARRAYS = [dense(np.arange(3, dtype=np.int8), magic) for magic in (LEGACY, V1, V2, V3)]
PARAMS = array_list([*ARRAYS, ROWS, CSR], ["arg:a", "b", "aux:c", "arg:d", "e", "f"])
BYTE = np.ones(1, np.int8)


def archive(**arrays: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.savez_compressed(file, **dict[str, Any](arrays))
    return file.getvalue()


NPZ = archive(x=np.arange(6, dtype=np.int8).reshape(2, 3), y=np.zeros(40, np.float32))


def params_error(data: bytes) -> str:
    return error_of(read_params, data)


@pytest.mark.parametrize("data", [PARAMS, NPZ], ids=["list", "zip"])
def test_every_truncation_is_an_error(data: bytes) -> None:
    check_truncations(read_params, data)


@pytest.mark.parametrize("data", [PARAMS, NPZ], ids=["list", "zip"])
@settings(max_examples=100)
@given(numbers=st.data())
def test_flipped_bytes_parse_or_are_an_error(data: bytes, numbers: st.DataObject) -> None:
    check_flipped(read_params, data, numbers)


@settings(max_examples=100)
@given(data=st.binary(max_size=200), is_zip=st.booleans())
def test_any_bytes_behind_a_header(data: bytes, is_zip: bool) -> None:
    survives(read_params, (b"PK\3\4" if is_zip else struct.pack("<QQQ", 0x112, 0, 1)) + data)
    survives(read_params, array_list([struct.pack("<Ii", V2, len(data) % 4 - 1) + data], ["x"]))


@pytest.mark.parametrize("source", [None, 3, ["a"], object()])
def test_not_a_source(source: Any) -> None:
    fails(r"params: got .*, needs a path or bytes", read_params, source, error=MXNetFormatError)


def test_errors_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / "net.params"
    path.write_bytes(PARAMS[:-1])
    fails(re.escape(f"{path}, byte {len(PARAMS) - 1}: "), read_params, path, error=MXNetFormatError)


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
        (array_list([dense(BYTE)], ["a", "b"]), "byte 57: there are 1 arrays, but 2 names"),
        (array_list([dense(BYTE)] * 2, ["a", "a"]), "byte 90: two arrays have the same name"),
        (array_list([dense(BYTE)], ["?"])[:-1] + b"\xff", "byte 73: name 0 is not UTF-8 text"),
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
            sparse((2**20, 2**20), np.zeros(0, np.float32), np.zeros(2**20 + 1, np.int8), EMPTY),
            f"array 0 unpacks to {2**42} bytes, too many",
        ),
        (sparse((4, 1), ONE, np.array([4])), "indices are 4 to 4, need 0 to 3"),
        (sparse((4, 1), ONE, np.array([-1])), "indices are -1 to -1, need 0 to 3"),
        (sparse((4, 1), ONE, np.array([1], np.float32)), "indices are no lists of integers"),
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


HEADER = "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }"


def member_of(header: str, content: bytes = b"") -> bytes:
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode() + content


@pytest.mark.parametrize(
    ("member", "message"),
    [
        (b"\x93NUMPX\1\0\0\0", "is no array of numpy's"),
        (b"\x93NUMPY\1\0\xff\xff{", "ends within its header"),
        (member_of(HEADER.replace("<f4", "|O")), "has a header that no"),
        (member_of("__import__('os').abort()"), "has a header that no parameter has"),
        (
            member_of("{'descr': '<f4', 'fortran_order': False, 'shape': (" + "9," * 40 + "), }"),
            "of shape",
        ),
        (
            member_of(HEADER.replace("1", "99999999999999")),
            "'x.npy' is of shape (99999999999999,) and type float32, but of 0 bytes",
        ),
    ],
)
def test_damaged_members(member: bytes, message: str) -> None:
    assert message in params_error(zipped({"x.npy": member}))


def test_zips_that_unpack_to_too_much() -> None:
    member = member_of(HEADER.replace("1", str(5 * 10**6)), bytes(2 * 10**7))
    assert "'x.npy' unpacks to 2000" in params_error(zipped({"x.npy": member}))


def test_members_compressed_by_other_methods() -> None:
    data = zipped({"x.npy": b""}, zipfile.ZIP_LZMA)
    assert "'x.npy' is compressed by method 14" in params_error(data)
