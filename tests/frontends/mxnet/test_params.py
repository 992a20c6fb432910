"""Parameter files of every version, as the arrays that they hold."""

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from frontends.mxnet.params import read_params
from qnn_ops.arrays import Array
from tests.frontends.mxnet.files import FLAGS, LEGACY, V1, V2, V3, array_list, dense, sparse

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


def zipped(members: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
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
