from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax

from legalize.kernels.kernel import IS_KERNEL, Kernel
from legalize.passes import use_kernels
from legalize.passes.use_kernels import UseKernels
from qnn_ops import (
    fused_multiply_add,
    quantized_add,
    quantized_conv2d,
    quantized_dense,
    quantized_lookup,
    quantized_pad,
)
from qnn_ops.arrays import Array
from qnn_ops.dialect.registry import operator_of
from tests.support.encodings import encodings
from tests.support.modules import calls_of, module
from tests.support.x86 import needs_native_vnni
from tvm_qnn import build

VNNI = tvm.target.Target({"kind": "llvm", "mcpu": "cascadelake"})
ATTRS = encodings(
    input=(0.5, 3), kernel=(0.25, 0), output=(4.0, -3), out_dtype="int8", rounding="tflite"
)
NHWC = {"data_layout": "NHWC", "kernel_layout": "OHWI"}
IMAGE = {"x": relax.TensorType((1, 8, 8, 16), "uint8")}
ROWS = {"x": relax.TensorType((2, 3, 16), "uint8")}
KERNEL = np.ones((16, 3, 3, 16), np.int8)
WEIGHT = np.ones((16, 16), np.int8)


def conv(x: relax.Expr, kernel: Array = KERNEL, **changes: Any) -> relax.Call:
    return quantized_conv2d(x, relax.const(kernel), **{**ATTRS, **NHWC, **changes})


def dense(x: relax.Expr, **changes: Any) -> relax.Call:
    return quantized_dense(x, relax.const(WEIGHT), **{**ATTRS, **changes})


def calls(mod: tvm.IRModule) -> list[str]:
    """List the calls of ``main``, in order: operators, or functions of the module."""
    return [
        call.args[0].name_hint if call.op.name == "relax.call_tir" else call.op.name
        for call in calls_of(mod)
    ]


def kernels(mod: tvm.IRModule) -> list[Any]:
    return [f for f in mod.functions.values() if isinstance(f, tvm.tirx.PrimFunc)]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (conv, ["z_conv2d"]),
        # Data of another dtype, or with padding, is copied first.
        (lambda x: conv(x, padding=1), ["stage", "z_conv2d"]),
    ],
)
def test_a_convolution_becomes_its_kernel(body: Any, expected: list[str]) -> None:
    mod = UseKernels(VNNI)(module(IMAGE, body))
    assert calls(mod) == expected
    assert len(kernels(mod)) == len(expected)
    assert all(bool(function.attrs[IS_KERNEL]) for function in kernels(mod))
    assert mod["main"].ret_ty == module(IMAGE, body)["main"].ret_ty


def test_a_dense_layer_becomes_its_kernel_on_rows() -> None:
    mod = UseKernels(VNNI)(module(ROWS, dense))
    assert calls(mod) == ["relax.reshape", "z_conv2d", "relax.reshape"]
    assert [int(size) for size in mod["main"].ret_ty.shape] == [2, 3, 16]


@pytest.mark.parametrize(
    "changes", [{"out_dtype": "int32", "out_max": 5}, {"out_dtype": "int32", "out_min": -5}]
)
def test_what_the_kernel_does_not_end_in_follows_it(changes: dict[str, Any]) -> None:
    mod = UseKernels(VNNI)(module(IMAGE, lambda x: conv(x, **changes)))
    assert calls(mod)[0] == "z_conv2d"
    assert len(calls(mod)) > 1
    (function,) = kernels(mod)
    assert function.params[-1].dtype == "int32"


@pytest.mark.parametrize(
    "changes", [{"rounding": "float32"}, {"rounding": "float64"}, {"out_dtype": "int32"}]
)
def test_what_the_kernel_ends_in_is_the_kernel_alone(changes: dict[str, Any]) -> None:
    mod = UseKernels(VNNI)(module(IMAGE, lambda x: conv(x, **changes)))
    assert calls(mod) == ["z_conv2d"]


def test_equal_kernels_share_one_function() -> None:
    def body(x: relax.Expr) -> list[relax.Expr]:
        other = np.full_like(KERNEL, 7)
        return [conv(x), conv(x, other, kernel_scale=0.5), conv(x, out_max=5)]

    mod = UseKernels(VNNI)(module(IMAGE, body))
    assert calls(mod) == ["z_conv2d", "z_conv2d", "z_conv2d1"]
    assert len(kernels(mod)) == 2


@pytest.mark.parametrize(
    "changes",
    [
        {"kernel": KERNEL[..., :8], "groups": 2},
        {"out_layout": "NCHW"},
        {"kernel": np.ones((8, 8, 3, 3), np.int8), "data_layout": "NCHW", "kernel_layout": "OIHW"},
        {"kernel_zero_point": [0] * 15 + [1]},
    ],
    ids=["groups", "out_layout", "NCHW", "zero points per channel"],
)
def test_convolutions_without_a_kernel_are_left_alone(changes: dict[str, Any]) -> None:
    mod = module(IMAGE, lambda x: conv(x, **changes))
    tvm.ir.assert_structural_equal(UseKernels(VNNI)(mod), mod)


@pytest.mark.parametrize("mcpu", ["x86-64", "i686"])
def test_targets_without_vector_extensions_change_nothing(mcpu: str) -> None:
    target = tvm.target.Target({"kind": "llvm", "mcpu": mcpu})
    mod = module(IMAGE, lambda x: [conv(x), dense(x)])
    tvm.ir.assert_structural_equal(UseKernels(target)(mod), mod)


def test_weights_that_are_parameters_are_left_to_the_primitives() -> None:
    mod = module(
        {**IMAGE, "w": relax.TensorType(KERNEL.shape, "int8")},
        lambda x, w: quantized_conv2d(x, w, **{**ATTRS, **NHWC}),
    )
    tvm.ir.assert_structural_equal(UseKernels(VNNI)(mod), mod)
    bound = relax.transform.BindParams("main", {"w": KERNEL})(mod)
    assert calls(UseKernels(VNNI)(bound)) == ["z_conv2d"]


@pytest.mark.parametrize("is_constant", [False, True])
def test_a_bias_must_be_constant_too(is_constant: bool) -> None:
    ty = relax.TensorType((16,), "int32")
    bias = relax.const(np.arange(16, dtype=np.int32))

    def body(x: relax.Expr, parameter: relax.Expr) -> list[relax.Expr]:
        b = bias if is_constant else parameter
        return [conv(x, bias=b), dense(x, bias=b)]

    mod = UseKernels(VNNI)(module({**IMAGE, "b": ty}, body))
    assert ("z_conv2d" in calls(mod)) == is_constant
    assert len(kernels(mod)) == 2 * is_constant


def test_operators_without_a_kernel_are_left_alone() -> None:
    ty = relax.TensorType((4,), "float32")
    mod = module({"x": ty}, lambda x: fused_multiply_add(x, x, x))
    tvm.ir.assert_structural_equal(UseKernels(VNNI)(mod), mod)


def test_a_first_kernel_that_declines_leaves_the_call_to_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []

    def answering(name: str, answer: Any) -> Kernel:
        def rule(_builder: Any, _attrs: Any, operands: Any) -> Any:
            asked.append(name)
            return operands[0] if answer else None

        return Kernel(("avx2",), rule)

    table = {
        "relax.qnn.quantized_pad": [
            Kernel(("avx512fp16",), lambda *_: pytest.fail("does not serve")),
            answering("first", False),
            answering("second", True),
            answering("third", True),
        ]
    }
    monkeypatch.setattr(use_kernels, "KERNELS", table)
    mod = module(IMAGE, lambda x: quantized_pad(x, [0] * 8, 3))
    after = UseKernels(VNNI)(mod)
    assert asked == ["first", "second"]
    assert not any(map(operator_of, calls_of(after)))


def with_constant_operands() -> tvm.IRModule:
    """x plus bytes that were looked up, reshaped and looked up back: x twice, for x = 0 to 63."""
    table = relax.const(np.arange(256, dtype=np.uint8)[::-1].copy())
    reversed_ = quantized_lookup(relax.const(np.arange(64, dtype=np.uint8)), table)

    def body(x: relax.Expr) -> relax.Expr:
        constant = quantized_lookup(relax.op.reshape(reversed_, (8, 8)), table)
        return quantized_add(x, constant, 0.5, 0, 0.5, 0, 0.5, 0, "uint8")

    return module({"x": relax.TensorType((8, 8), "uint8")}, body)


def test_what_follows_from_constants_is_left_to_compile_time() -> None:
    names = calls(UseKernels(VNNI)(with_constant_operands()))
    assert names[:3] == [
        "relax.qnn.quantized_lookup",
        "relax.reshape",
        "relax.qnn.quantized_lookup",
    ]
    assert "relax.qnn.quantized_add" not in names


@needs_native_vnni
def test_what_is_left_to_compile_time_is_computed_there() -> None:
    x = np.arange(64, dtype=np.uint8).reshape(8, 8)
    library = build(with_constant_operands(), VNNI)
    np.testing.assert_array_equal(library.run(x), 2 * x)
