from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvm
from hypothesis import assume, given, settings

from legalize.lower import lower
from qnn_ops import quantized_softmax
from tests.support.cases.quantized_softmax import softmaxes
from tests.support.operators import module_of, run
from tests.support.vnni import TARGET, needs_vnni

ATTRS: dict[str, Any] = {
    "input_scale": 0.1,
    "input_zero_point": 3,
    "output_scale": 1 / 256,
    "output_zero_point": -128,
    "out_dtype": "int8",
}


@needs_vnni
@settings(max_examples=25)
@given(softmaxes())
def test_the_kernel_equals_the_reference(case: tuple[list[Any], dict[str, Any]]) -> None:
    (data,), attrs = case
    assume(attrs["axis"] in (-1, data.ndim - 1))
    mod = lower(module_of(quantized_softmax, [data], **attrs), tvm.target.Target(TARGET))
    assert str(mod["main"].script()).count("call_tir") == 1
    expected = quantized_softmax.evaluate(data, **attrs)
    np.testing.assert_array_equal(run(mod, [data], TARGET), expected)


@pytest.mark.parametrize(("axis", "mcpu"), [(0, "cascadelake"), (-1, "core2")])
def test_other_axes_and_processors_are_left_to_the_primitives(axis: int, mcpu: str) -> None:
    mod = module_of(quantized_softmax, [np.zeros((4, 5), np.int8)], axis=axis, **ATTRS)
    target = tvm.target.Target({"kind": "llvm", "mcpu": mcpu})
    assert "call_tir" not in str(lower(mod, target)["main"].script())
