from __future__ import annotations

import numpy as np
import pytest
import tvm
from tvm import tirx

import legalize
from qnn_ops import float_function
from tests.qnn_ops.test_float_function import near_functions, numbers, ulps_from_truth
from tests.support.operators import check_operator, module_of, run
from tvm_qnn import host_target


@pytest.mark.parametrize(
    "function",
    ["erf", "exp", "onnxruntime_gru_tanh", "onnxruntime_logistic", "onnxruntime_tanh"],
)
def test_primitives_equal_the_reference(function: str) -> None:
    data = numbers()[-21_009:].reshape(3, -1)
    if function == "exp":
        data = -np.abs(data) * 9
    expected = check_operator(float_function, [data], function=function)
    # As vector code, too.
    lowered = legalize.LegalizeQnn()(module_of(float_function, [data], function=function))
    np.testing.assert_array_equal(run(lowered, [data], host_target()), expected)


@pytest.mark.parametrize("function", ["logistic", "tanh"])
@pytest.mark.parametrize("target", ["llvm", "host"])
def test_gates_are_within_three_units_of_the_true_functions(function: str, target: str) -> None:
    # With fused multiply-adds and without.
    data, expected = near_functions(function)
    mod = legalize.LegalizeQnn()(module_of(float_function, [data], function=function))
    found = run(mod, [data], host_target() if target == "host" else target)
    assert ulps_from_truth(data, found, function) <= 3
    np.testing.assert_array_max_ulp(found, expected, 3)


@pytest.mark.parametrize("function", ["logistic", "tanh"])
def test_gates_are_vector_code_that_calls_nothing(function: str) -> None:
    data = np.zeros((1, 64), np.float32)
    mod = legalize.LegalizeQnn()(module_of(float_function, [data], function=function))
    (loop,) = (each for _, each in mod.functions_items() if isinstance(each, tirx.PrimFunc))
    target = tvm.target.Target({"kind": "llvm", "mcpu": "haswell"})
    library = tvm.compile(loop.with_attr("global_symbol", "gate"), target=target).mod
    text = library.inspect_source("asm")
    assert "vdivps" in text
    assert "vfmadd" in text
    assert not any(name in text for name in ("expf", "tanhf", "fmaf"))
