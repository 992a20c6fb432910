from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.relax import op as R

from legalize import lower
from qnn_ops import dequantize, quantized_add, quantized_conv2d, quantized_pad, quantized_relu
from qnn_ops.arrays import Array
from tests.support.arrays import full_range
from tests.support.encodings import encodings
from tests.support.modules import module
from tests.support.operators import run
from tests.support.x86 import TARGET, marks

VNNI = tvm.target.Target(TARGET)
OUTPUT = encodings(output=(0.07, 9), out_dtype="uint8")
CONV: dict[str, Any] = {
    "input_scale": 0.05,
    "input_zero_point": 120,
    "kernel_scale": 0.01,
    "kernel_zero_point": 0,
    "data_layout": "NHWC",
    "kernel_layout": "OHWI",
    **OUTPUT,
}
KERNEL = full_range(np.random.default_rng(1), "int8", (32, 3, 3, 16))
IMAGE = {"x": relax.TensorType((1, 9, 8, 16), "uint8")}
PADS = [0, 0, 1, 0, 0, 2, 0, 0]


def layers(x: relax.Expr) -> relax.Expr:
    """Padding, a convolution, an activation, a sum, and an operator of Relax."""
    padded = quantized_pad(x, PADS, CONV["input_zero_point"])
    y = quantized_conv2d(padded, relax.const(KERNEL), **CONV)
    y = quantized_relu(y, 0.07, 9, 0.07, 9, "uint8", kind="relu6")
    y = quantized_add(y, y, 0.07, 9, 0.07, 9, 0.1, 4, "int8")
    return R.nn.relu(dequantize(y, 0.1, 4))


def evaluated(x: Array) -> Array:
    y = quantized_conv2d.evaluate(quantized_pad.evaluate(x, PADS, 120), KERNEL, **CONV)
    y = quantized_relu.evaluate(y, 0.07, 9, 0.07, 9, "uint8", kind="relu6")
    y = quantized_add.evaluate(y, y, 0.07, 9, 0.07, 9, 0.1, 4, "int8")
    return np.maximum(dequantize.evaluate(y, 0.1, 4), 0)


def functions(mod: tvm.IRModule) -> list[Any]:
    return [f for f in mod.functions.values() if isinstance(f, tvm.tirx.PrimFunc)]


@pytest.mark.parametrize("kernels", [True, False])
@pytest.mark.parametrize("target", [VNNI, tvm.target.Target("llvm")], ids=["vnni", "plain"])
def test_nothing_of_the_dialect_is_left(target: tvm.target.Target, kernels: bool) -> None:
    mod = lower(module(IMAGE, layers), target, kernels=kernels)
    assert "R.qnn." not in mod.script()
    assert "R.nn.relu" in mod.script()
    assert mod["main"].ret_ty == module(IMAGE, layers)["main"].ret_ty


def test_without_kernels_all_is_relax() -> None:
    assert functions(lower(module(IMAGE, layers), VNNI, kernels=False)) == []


def test_pads_and_activations_are_folded_before_kernels_are_chosen() -> None:
    def body(x: relax.Expr) -> relax.Expr:
        padded = quantized_pad(x, PADS, CONV["input_zero_point"])
        y = quantized_conv2d(padded, relax.const(KERNEL), **CONV)
        return quantized_relu(y, 0.07, 9, 0.07, 9, "uint8", kind="relu6")

    def folded(x: relax.Expr) -> relax.Expr:
        padding = (1, 0, 0, 2)
        return quantized_conv2d(
            x, relax.const(KERNEL), **CONV, padding=padding, out_min=9, out_max=95
        )

    mod = lower(module(IMAGE, body), VNNI)
    assert functions(mod)
    tvm.ir.assert_structural_equal(mod, lower(module(IMAGE, folded), VNNI))


def test_the_callers_module_stays_as_it_is() -> None:
    mod = module(IMAGE, layers)
    lower(mod, VNNI)
    tvm.ir.assert_structural_equal(mod, module(IMAGE, layers))


@pytest.mark.parametrize(
    ("target", "kernels"),
    [
        pytest.param(TARGET, True, marks=marks(TARGET["mcpu"]), id="kernels"),
        pytest.param(TARGET, False, marks=marks(TARGET["mcpu"]), id="primitives"),
        pytest.param("llvm", True, id="plain"),
    ],
)
def test_results_are_the_references(target: Any, kernels: bool) -> None:
    data = full_range(np.random.default_rng(2), "uint8", (1, 9, 8, 16))
    mod = lower(module(IMAGE, layers), tvm.target.Target(target), kernels=kernels)
    expected = evaluated(data)
    assert np.unique(expected).size > 20
    np.testing.assert_array_equal(run(mod, [data], target), expected)
