from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tvm import relax, tirx

import tvm_qnn
from legalize import lower
from legalize.kernels.isa.x86 import ISAS
from qnn_ops import quantized_matmul
from tests.support.encodings import encodings
from tests.support.modules import module
from tests.support.x86 import PROCESSORS, runs_here
from tvm_qnn.target.target import parse_target

Array = np.ndarray[Any, Any]

RNG = np.random.default_rng(4)
BYTES = [PROCESSORS[isa][0] for isa in ISAS if isa.has_byte_products]


def numbers(dtype: str) -> dict[str, Any]:
    return encodings(
        lhs=(0.1, 3), rhs=(0.2, 124 if dtype == "uint8" else -4), output=(1.9, 1), out_dtype=dtype
    )


def product(lhs: Any, rhs: Any, dtype: str, **attrs: Any) -> Any:
    types = {"x": relax.TensorType(lhs, dtype), "y": relax.TensorType(rhs, dtype)}
    return module(types, lambda x, y: quantized_matmul(x, y, **numbers(dtype), **attrs))


def data(shape: tuple[int, ...], dtype: str) -> Array:
    limits = np.iinfo(dtype)
    return RNG.integers(limits.min, limits.max, shape, endpoint=True).astype(dtype)


def check(library: Any, x: Array, y: Array, **attrs: Any) -> None:
    dtype = str(x.dtype)
    expected = quantized_matmul.evaluate(x, y, **numbers(dtype), **attrs)
    np.testing.assert_array_equal(library.run(x, y), expected)


@pytest.mark.parametrize("mcpu", BYTES)
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("rounding", ["tflite", "float32"])
def test_products_of_attention_are_the_reference(mcpu: str, dtype: str, rounding: str) -> None:
    if not runs_here(mcpu):
        pytest.skip("this processor cannot run it")
    batch, length = (tirx.Var(name, "int64") for name in ("batch", "length"))
    heads, weights = (batch, 2, length, 12), (batch, 2, length, length)
    target = f"llvm -mcpu={mcpu}"
    mods = [
        product(heads, heads, dtype, transpose_rhs=True, rounding=rounding),
        product(weights, heads, dtype, rounding=rounding),
    ]
    names = [each.name_hint for each in lower(mods[0], parse_target(target)).get_global_vars()]
    assert any("z_matmul" in name for name in names)
    scores, mixed = (tvm_qnn.build(mod, target, num_threads=1) for mod in mods)
    for number, size in [(1, 1), (2, 3), (1, 5), (1, 16), (2, 17), (1, 100), (1, 130)]:
        values = data((number, 2, size, 12), dtype)
        check(scores, values, values[..., ::-1, :].copy(), transpose_rhs=True, rounding=rounding)
        check(mixed, data((number, 2, size, size), dtype), values, rounding=rounding)


def test_unsigned_bytes_and_known_columns() -> None:
    rows = tirx.Var("rows", "int64")
    library = tvm_qnn.build(product((rows, 9), (9, 70), "uint8"), "host", num_threads=1)
    for count in (1, 7, 33):
        check(library, data((count, 9), "uint8"), data((9, 70), "uint8"))


def test_long_sums_are_the_reference() -> None:
    depth = tirx.Var("depth", "int64")
    library = tvm_qnn.build(product((2, depth), (depth, 3), "int8"), "host", num_threads=1)
    for count in (4, 16_300, 20_000):
        full = np.full((2, count), -128, np.int8), np.full((count, 3), 127, np.int8)
        check(library, *full)
        check(library, data((2, count), "int8"), data((count, 3), "int8"))
