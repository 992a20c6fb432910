"""Constants that are stored packed or sparsely."""

from dataclasses import replace

import numpy as np
import pytest

from frontends.errors import ModelFormatError, UnsupportedOperatorError
from frontends.tflite import from_tflite
from frontends.tflite.quantization import Quantization
from frontends.tflite.reader import read_model
from frontends.tflite.sparsity import BITS, Level, Sparsity, densified, pack, packed_size, unpack
from frontends.tflite.writer import ModelWriter
from tests.operators.weighted import weighted_example
from tests.support.errors import failing
from tests.support.hybrid import scales
from tests.support.models import differing_tensors
from tests.support.sparse import by_blocks, by_rows, sparse_matrix
from tests.support.tflite import ANY, Operand, Sheet, check_refused, fixed, random_quantization, x


@pytest.mark.parametrize("dtype", BITS)
@pytest.mark.parametrize("count", [0, 1, 15, 16, 17])
def test_every_number_comes_back(count: int, dtype: str) -> None:
    range_ = 2 ** BITS[dtype]
    numbers = ((np.arange(count) * 7) % range_ - range_ // 2).astype(np.int8)
    packed = pack(numbers, dtype)
    assert len(packed) == packed_size(dtype, count) == -(-count * BITS[dtype] // 8)
    np.testing.assert_array_equal(unpack(packed, dtype, count), numbers)


def test_the_lowest_bits_come_first() -> None:
    assert unpack(np.array([0x8F, 0x07], np.uint8), "int4", 3).tolist() == [-1, -8, 7]
    assert unpack(np.array([0b11_10_01_00], np.uint8), "int2", 4).tolist() == [0, 1, -2, -1]


@pytest.mark.parametrize(
    ("code", "data"),
    [
        *(("FULLY_CONNECTED", data) for data in ("int8", "int16", "float32")),
        ("EMBEDDING_LOOKUP", "float32"),
    ],
)
def test_weights_of_two_bits_equal_litert(code: str, data: str) -> None:
    sheet = weighted_example(code, f"{data} × int2")
    assert differing_tensors(sheet.model(), [sheet.arrays], "host", kernels=True) == []


def weights(sheet: Sheet, shape: tuple[int, ...], encoding: Quantization) -> Operand:
    numbers = sheet.rng.integers(-8, 8, shape).astype(np.int8)
    return Operand((shape, "int4", encoding), numbers, is_constant=True)


def test_layers_with_weights_of_four_bits_equal_litert() -> None:
    sheet = Sheet(seed=85)
    rng = sheet.rng
    data = x(1, 5, 6, 3, encoding=random_quantization(rng, "int8"))
    bias = fixed(rng.integers(-50, 50, 5), "int32", Quantization.per_tensor(1, 0))
    options = {"padding": "SAME", "gives": (ANY, "int8", random_quantization(rng, "int8", 0.3))}
    each = sheet.made(
        "CONV_2D", data, weights(sheet, (5, 3, 3, 3), scales(rng, 5)), bias, version=7, **options
    )
    kernel = weights(sheet, (1, 3, 3, 5), scales(rng, 5, axis=3))
    each = sheet.made("DEPTHWISE_CONV_2D", each, kernel, bias, version=6, **options)
    flat = sheet.made("RESHAPE", each, [1, 150])
    kernel = weights(sheet, (5, 150), Quantization.per_tensor(0.05, 0))
    sheet.add("FULLY_CONNECTED", flat, kernel, version=10)
    sheet.check()
    assert differing_tensors(sheet.model(), [sheet.arrays], "host", kernels=True) == []


def test_a_buffer_of_another_size() -> None:
    writer = ModelWriter()
    encoding = Quantization.per_tensor(0.5, 0)
    index = writer.tensor("w", (3,), "int4", encoding, np.array([1, 2, 3], np.int8))
    content = writer.finish([], [index])
    (tensor,) = read_model(content).tensors
    assert (tensor.dtype, tensor.data is not None) == ("int8", True)
    short = content.replace(bytes(pack(np.array([1, 2, 3], np.int8), "int4")), b"!!")
    assert read_model(short).tensors[0].data.tolist() == [1, 2, 1]  # type: ignore[union-attr]
    larger = ModelWriter()
    larger.tensor("w", (3,), "int4", encoding, np.array([1, 2, 3], np.int8))
    larger._tensors[0] = type(larger._tensors[0])("w", (5,), "int4", encoding, 1)
    check_refused(
        larger.finish([], [0]),
        r"buffer holds 2 bytes, shape \(5,\) of int4 needs 3",
        ModelFormatError,
    )


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("CONV_2D", "float32 × int2"),
        ("CONV_2D", "int8 × int2"),
        ("EMBEDDING_LOOKUP", "int8 × int4"),
        ("EMBEDDING_LOOKUP", "int8 × int2"),
    ],
)
def test_what_litert_does_not_unpack_is_refused(code: str, kind: str) -> None:
    weighted_example(code, kind).check_refused(
        "which LiteRT does not unpack", UnsupportedOperatorError
    )


def test_rows_and_blocks_come_back() -> None:
    rng = np.random.default_rng(0)
    for size in (1, 4, 16):
        dense = sparse_matrix(rng, (7, 32), size)
        stored = by_rows(dense) if size == 1 else by_blocks(dense, size)
        np.testing.assert_array_equal(densified(*stored, dense.shape, "w"), dense)


def test_dense_layers_of_sparse_weights_equal_litert() -> None:
    sheet, size = Sheet(seed=97), 16  # of int8, LiteRT multiplies no other blocks
    rng = sheet.rng
    data = sheet.random_input((3, 32), "int8", random_quantization(rng, "int8"))
    dense = sparse_matrix(rng, (8, 32), size)
    weights = sheet.sparse(dense.shape, *by_blocks(dense, size), Quantization.per_tensor(0.02, 0))
    result = ((3, 8), "int8", random_quantization(rng, "int8", 0.3))
    sheet.operator("FULLY_CONNECTED", [data, weights], result, version=8)
    sheet.check()


def test_densify_gives_a_constant() -> None:
    dense = sparse_matrix(np.random.default_rng(1), (5, 6))
    values, sparsity = by_rows(dense)
    encoding = Quantization.per_tensor(0.5, 0)
    writer = ModelWriter()
    stored = writer.tensor("w", dense.shape, "int8", encoding, values, sparsity)
    whole = writer.tensor("d", dense.shape, "int8", encoding)
    data = writer.tensor("x", (2, 6), "int8", encoding)
    output = writer.tensor("y", (2, 5), "int8", encoding)
    writer.operator("DENSIFY", [stored], [whole], version=1)
    writer.operator("FULLY_CONNECTED", [data, whole], [output])
    _, params = from_tflite(writer.finish([data], [output]))
    (weights,) = params.values()
    np.testing.assert_array_equal(weights.numpy(), dense)


VALUES, GOOD = by_rows(np.array([[0, 3], [4, 0]], np.int8))


test_orders_that_make_no_sense = failing(
    lambda changes: densified(VALUES, replace(GOOD, **changes), (2, 2), "w"),
    ({"order": (0, 2)}, "do not fit shape"),
    ({"order": (0, 1), "blocks": (5,)}, "blocks of axis 5 have no level"),
    ({"levels": GOOD.levels[:1]}, "do not fit shape"),
    ({"levels": (Level(9), GOOD.levels[1])}, "a dense level has 9 indices"),
    ({"levels": (Level(2), Level(2))}, "stores 2 sparse values, needs 4"),
    ({"levels": (Level(2), Level(0, np.array([0, 2, 1]), np.array([0, 1])))}, "do not fit 2"),
    ({"levels": (Level(2), Level(0, np.array([0, 3, 2]), np.array([0, 1])))}, "overlap"),
    ({"levels": (Level(2), Level(0, np.array([0, 1, 2]), np.array([0, 7])))}, "outside axis 1"),
    ({"levels": (Level(2), Level(0, np.array([0, 1, 2]), np.array([0, -1])))}, "outside axis 1"),
    ({"levels": (Level(-1), GOOD.levels[1])}, "a dense level has -1 indices"),
    error=ModelFormatError,
)


def test_huge_tensors_need_no_memory_and_numbers_no_axes() -> None:
    levels = (Level(1), Level(0, np.array([0, 1]), np.array([5])))
    with pytest.raises(ModelFormatError, match="stores 1 values of shape"):
        densified(np.ones(1, np.int8), Sparsity((0, 1), (), levels), (1 << 14, 1 << 14), "w")
    levels = (Level(1 << 25), Level(0, np.array([0, 1]), np.array([0])))
    with pytest.raises(ModelFormatError, match="a dense level has 33554432 indices"):
        densified(np.ones(1, np.int8), Sparsity((0, 1), (), levels), (1 << 25, 1), "w")
    whole = densified(np.full(1, 7, np.int8), Sparsity((), (), ()), (), "w")
    assert (whole.shape, whole.item()) == ((), 7)
    with pytest.raises(ModelFormatError, match="stores 2 sparse values, needs 1"):
        densified(np.ones(2, np.int8), Sparsity((), (), ()), (), "w")
