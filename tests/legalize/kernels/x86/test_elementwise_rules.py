from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvm

from legalize.lower import lower
from qnn_ops import (
    quantized_concat,
    quantized_lookup,
    quantized_relu,
    requantize,
)
from tests.support.arrays import full_range
from tests.support.operators import module_of, run
from tests.support.vnni import TARGET, needs_vbmi

ICE_LAKE = {"kind": "llvm", "mcpu": "icelake-server"}
CONCAT: dict[str, Any] = {
    "input_scales": [0.5, 0.25, 0.5],
    "input_zero_points": [3, 128, 3],
    "output_scale": 0.5,
    "output_zero_point": 3,
    "out_dtype": "uint8",
    "axis": -1,
}


@pytest.mark.parametrize("target", [TARGET, ICE_LAKE])
@needs_vbmi
def test_concatenation_with_and_without_table_instructions(target: dict[str, str]) -> None:
    rng = np.random.default_rng(5)
    data = [full_range(rng, "uint8", (1, 5, 4, channels)) for channels in (96, 7, 64)]
    mod = module_of(quantized_concat, [data], **CONCAT)
    mod = lower(mod, tvm.target.Target(target))
    assert "join" in str(mod["main"].script())
    assert ("R.take" in str(mod["main"].script())) == (target is TARGET)
    expected = quantized_concat.evaluate(data, **CONCAT)
    np.testing.assert_array_equal(run(mod, data, target), expected)


CHANGE: dict[str, Any] = {
    "input_scale": 0.31,
    "input_zero_point": 5,
    "output_scale": 0.17,
    "output_zero_point": -9,
    "out_dtype": "int8",
}


@needs_vbmi
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("shape", [(3, 70), (), (0, 4)])
@pytest.mark.parametrize("operator", [requantize, quantized_relu])
def test_functions_of_a_byte_are_tables(operator: Any, shape: tuple[int, ...], dtype: str) -> None:
    data = full_range(np.random.default_rng(1), dtype, shape)
    mod = lower(module_of(operator, [data], **CHANGE), tvm.target.Target(ICE_LAKE))
    assert ("join" in str(mod["main"].script())) == (data.size > 1)
    expected = operator.evaluate(data, **CHANGE)
    np.testing.assert_array_equal(run(mod, [data], ICE_LAKE), expected)


@needs_vbmi
@pytest.mark.parametrize("dtypes", [("int8", "uint8"), ("uint8", "int8"), ("int8", "int8")])
def test_constant_tables(dtypes: tuple[str, str]) -> None:
    rng = np.random.default_rng(2)
    data, table = full_range(rng, dtypes[0], (2, 200)), full_range(rng, dtypes[1], (256,))
    mod = module_of(quantized_lookup, [data, table])
    assert "join" not in str(lower(mod, tvm.target.Target(ICE_LAKE))["main"].script())
    name = mod["main"].params[1].name
    mod = tvm.relax.transform.BindParams("main", {name: table})(mod)
    mod = lower(mod, tvm.target.Target(ICE_LAKE))
    assert "join" in str(mod["main"].script())
    expected = quantized_lookup.evaluate(data, table)
    np.testing.assert_array_equal(run(mod, [data], ICE_LAKE), expected)


def test_other_requantizations_are_left_to_the_primitives() -> None:
    per_channel = {**CHANGE, "input_scale": [0.1, 0.2]}
    for data, attrs in [
        (np.zeros((3, 2), np.int8), per_channel),
        (np.zeros((3, 2), np.int32), CHANGE),
        (np.zeros((3, 2), np.int8), {**CHANGE, "out_dtype": "int32"}),
    ]:
        mod = lower(module_of(requantize, [data], **attrs), tvm.target.Target(ICE_LAKE))
        assert "join" not in str(mod["main"].script())
