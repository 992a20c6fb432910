from typing import Any

import numpy as np
import pytest
import tvm

from legalize.passes.legalize_qnn import LegalizeQnn
from legalize.passes.split_words import SplitWords
from qnn_ops import quantized_conv2d, quantized_dense
from qnn_ops.dialect.registry import operator_of
from tests.support.arrays import full_range
from tests.support.encodings import encodings
from tests.support.modules import calls_of
from tests.support.operators import flat, module_of, run

ATTRS = encodings(input=(1e-3, 0), kernel_zero_point=0, output_zero_point=0, out_dtype="int16")
CONV: dict[str, Any] = {
    **ATTRS,
    "kernel_scale": [0.01, 0.02, 0.03],
    "output_scale": 0.4,
    "padding": (1, 0, 1, 2),
    "data_layout": "NHWC",
    "kernel_layout": "OHWI",
}


def calls(mod: tvm.IRModule) -> list[Any]:
    """List the calls of operators of the dialect."""
    return [call for call in calls_of(mod) if operator_of(call) is not None]


def operands(bias: str) -> list[Any]:
    rng = np.random.default_rng(0)
    data, kernel = full_range(rng, "int16", (2, 5, 6, 8)), full_range(rng, "int8", (3, 3, 3, 8))
    return [data, kernel, rng.integers(-(2**25), 2**25, 3).astype(bias)]


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize(("bias", "rounding"), [("int64", "reduced"), ("int32", "tflite")])
def test_halves_make_the_whole(dtype: str, bias: str, rounding: str) -> None:
    attrs = {**CONV, "rounding": rounding}
    arrays = operands(bias)
    mod = SplitWords(dtype)(module_of(quantized_conv2d, arrays, **attrs))
    for call in calls(mod):
        assert str(call.args[0].ty.dtype) == dtype
        assert str(call.ty.dtype) == "int32"
    assert len(calls(mod)) == 2
    data, kernel, added = arrays
    expected = quantized_conv2d.evaluate(data, kernel, bias=added, **attrs)
    np.testing.assert_array_equal(run(LegalizeQnn()(mod), flat(arrays)), expected)
    assert len(np.unique(expected)) > 50


def test_dense_layers_keep_their_zero_points() -> None:
    rng = np.random.default_rng(1)
    arrays = [full_range(rng, "int16", (3, 2, 70)), full_range(rng, "int8", (4, 70))]
    attrs = {**ATTRS, "kernel_scale": 0.01, "output_scale": 0.2, "kernel_zero_point": 5}
    mod = SplitWords("uint8")(module_of(quantized_dense, arrays, **attrs))
    assert len(calls(mod)) == 2
    result = run(LegalizeQnn()(mod), arrays)
    data, weights = arrays
    np.testing.assert_array_equal(result, quantized_dense.evaluate(data, weights, **attrs))


def test_what_is_left_alone() -> None:
    bytes_of = [np.zeros((1, 8), np.int8), np.zeros((2, 8), np.int8)]
    attrs = {**ATTRS, "kernel_scale": 0.01, "output_scale": 0.2}
    mod = module_of(quantized_dense, bytes_of, **{**attrs, "out_dtype": "int8"})
    tvm.ir.assert_structural_equal(SplitWords("int8")(mod), mod)
    # The sum of so many products of bytes might leave int32.
    deep = [np.zeros((1, 40_000), np.int16), np.zeros((1, 40_000), np.int8)]
    mod = module_of(quantized_dense, deep, **attrs)
    tvm.ir.assert_structural_equal(SplitWords("int8")(mod), mod)
