"""Functions and arithmetic of floats that Relax does not have: as loops of their own."""

import numpy as np
import pytest
import tvm
from tvm import tirx

import legalize
from qnn_ops import float_function, fused_multiply_add, natural_power, reinterpret
from qnn_ops.arithmetic.float_epilogue import fused_multiply_add_float32
from qnn_ops.unquantized.float_arithmetic import DTYPES
from tests.qnn_ops.unquantized.test_float_function import near_functions, numbers, ulps_from_truth
from tests.support.operators import check_operator, module_of, run
from tvm_qnn import host_target


def operands(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    return [rng.normal(size=shape).astype(np.float32) for shape in shapes]


@pytest.mark.parametrize(
    "shapes",
    [
        ((1000,), (1000,), (1000,)),
        ((2, 5, 4, 7), (7,), (7,)),
        ((2, 5, 4, 7), (5, 1, 1), ()),
        ((1, 3), (4, 1), (1, 1)),
        ((), (), ()),
    ],
)
def test_primitives_equal_the_reference(shapes: tuple[tuple[int, ...], ...]) -> None:
    check_operator(fused_multiply_add, operands(*shapes))


def test_one_rounding_on_a_processor_with_the_instruction() -> None:
    arrays = operands((1000,), (1000,), (1000,))
    lowered = legalize.LegalizeQnn()(module_of(fused_multiply_add, arrays))
    np.testing.assert_array_equal(
        run(lowered, arrays, host_target()), fused_multiply_add_float32(*arrays)
    )


@pytest.mark.parametrize("dtype", DTYPES)
def test_primitives_equal_the_reference_of_natural_power(dtype: str) -> None:
    rng = np.random.default_rng(0)
    data = rng.integers(-(2**31), 2**31, 37).astype(dtype)
    if dtype == "float32":
        data = rng.normal(0, 2, 37).astype(dtype)
        data[:5] = [np.nan, np.inf, -np.inf, 1e30, -0.0]
    for exponent in (-5, 0, 1, 2, 3, 6, 7, 100, 2**30, 2**31 - 1):
        check_operator(natural_power, [data, np.array([exponent], np.int32)])


def test_primitives_equal_the_reference_of_reinterpret() -> None:
    bits = np.random.default_rng(0).integers(-(2**31), 2**31, 99).astype(np.int32)
    check_operator(reinterpret, [bits])
    check_operator(reinterpret, [bits.view(np.float32)])


@pytest.mark.parametrize(
    "function", ["erf", "exp", "onnxruntime_gru_tanh", "onnxruntime_logistic", "onnxruntime_tanh"]
)
def test_primitives_equal_the_reference_of_float_function(function: str) -> None:
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
