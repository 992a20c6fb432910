from __future__ import annotations

import numpy as np
import tvm
from hypothesis import given, settings
from hypothesis import strategies as st
from tvm import relax

import legalize
from qnn_ops import quantized_concat
from tests.support.arrays import full_range
from tests.support.cases.quantized_concat import random_concat
from tests.support.operators import check_operator, module_of


@given(st.integers(0, 2**32 - 1), st.sampled_from(["int8", "uint8", "uint8", "uint8"]))
@settings(max_examples=15)
def test_primitives_equal_the_reference(seed: int, dtype: str) -> None:
    operands, attrs = random_concat(np.random.default_rng(seed), dtype)
    check_operator(quantized_concat, operands, **attrs)


def test_a_variable_of_a_tuple_type_is_lowered_too() -> None:
    rng = np.random.default_rng(1)
    arrays = [full_range(rng, "uint8", (2, 3)), full_range(rng, "uint8", (2, 1))]
    tensors = [relax.TensorType(array.shape, "uint8") for array in arrays]
    pair = relax.Var("pair", relax.TupleType(tensors))
    builder = relax.BlockBuilder()
    scales, zero_points = [0.5, 0.3], [10, 20]
    with builder.function("main", [pair]):
        result = quantized_concat(pair, scales, zero_points, 0.5, 10, "uint8")
        builder.emit_func_output(builder.emit(result))
    lowered = legalize.LegalizeQnn()(builder.get())
    machine = relax.VirtualMachine(tvm.compile(lowered, target="llvm"), tvm.cpu())
    actual = machine["main"](tuple(tvm.runtime.tensor(array) for array in arrays)).numpy()
    expected = quantized_concat.evaluate(arrays, scales, zero_points, 0.5, 10, "uint8")
    np.testing.assert_array_equal(actual, expected)


def test_the_lowered_code_has_no_float_arithmetic() -> None:
    # So no compiler can contract or reorder it.
    (inputs,), attrs = random_concat(np.random.default_rng(2), "uint8")
    lowered = legalize.LegalizeQnn()(module_of(quantized_concat, [inputs], **attrs))
    assert "R.take" in lowered.script()
    assert "float" not in lowered.script()
