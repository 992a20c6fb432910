from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.relax import op as R

from legalize import lower
from legalize.passes.join_in_place import JoinInPlace
from qnn_ops import float_conv2d, quantized_concat, quantized_conv2d, quantized_lookup
from qnn_ops.arrays import Array
from qnn_ops.unquantized.float_conv2d import ORDERS
from tests.support.arrays import full_range
from tests.support.encodings import encodings
from tests.support.linking import needs_linker
from tests.support.modules import calls_of, emit, module
from tests.support.standalone import run_standalone
from tvm_qnn import build

Body = Callable[..., Any]

AVX2 = tvm.target.Target({"kind": "llvm", "mcpu": "haswell"})
RNG = np.random.default_rng(0)
X = full_range(RNG, "uint8", (1, 5, 6, 20))
TABLE = RNG.permutation(256).astype(np.uint8)
KERNELS = {size: full_range(RNG, "int8", (size, 1, 1, 20)) for size in (3, 37, 40)}
ATTRS = encodings(
    input=(0.5, 7),
    kernel=(0.0078125, 0),
    output=(2.5, 3),
    out_dtype="uint8",
    data_layout="NHWC",
    kernel_layout="OHWI",
)


def conv(x: relax.Expr, size: int) -> relax.Expr:
    return emit(quantized_conv2d(x, relax.const(KERNELS[size]), **ATTRS))


def join(*fields: relax.Expr, scales: dict[int, float] | None = None, axis: int = 3) -> relax.Expr:
    count = len(fields)
    steps = [(scales or {}).get(index, 2.5) for index in range(count)]
    return emit(quantized_concat(list(fields), steps, [3] * count, 2.5, 3, "uint8", axis))


def before(body: Body) -> tvm.IRModule:
    return module({"x": relax.TensorType(X.shape, "uint8")}, body)


def calls(mod: tvm.IRModule) -> list[str]:
    """List the calls of main, in order; with "into" where one writes to a tensor that is there."""
    found = []
    for call in calls_of(mod):
        if call.op.name.startswith("relax.call_tir"):
            name = call.args[0].name_hint.rstrip("0123456789")
            found.append(f"{name} into" if "inplace" in call.op.name else name)
        else:
            found.append(call.op.name.removeprefix("relax.qnn."))
    return found


def test_convolutions_write_to_the_joined_tensor() -> None:
    mod = JoinInPlace(AVX2)(before(lambda x: join(conv(x, 40), conv(x, 3), conv(x, 37))))
    assert calls(mod) == ["z_conv2d", "z_conv2d into", "z_conv2d into"]
    assert [int(size) for size in mod["main"].ret_ty.shape] == [1, 5, 6, 80]


def test_other_tensors_are_copied_there() -> None:
    def body(x: relax.Expr) -> list[relax.Expr]:
        y = conv(x, 3)
        # After the first: an operand read elsewhere, one of no convolution, one of another scale.
        return [join(conv(x, 40), y, x, conv(x, 3), scales={3: 2.25}), y]

    names = calls(JoinInPlace(AVX2)(before(body)))
    copies = ["join into"] * 3
    assert names == ["quantized_conv2d", "quantized_conv2d", "z_conv2d", *copies]


def test_a_join_that_only_another_reads_is_a_part_of_it() -> None:
    mod = JoinInPlace(AVX2)(before(lambda x: join(conv(x, 40), join(conv(x, 3), conv(x, 37)))))
    assert calls(mod) == ["z_conv2d", "z_conv2d into", "z_conv2d into"]


@pytest.mark.parametrize(
    "body",
    [
        lambda x: join(conv(x, 3), x),
        lambda x: join(conv(x, 3), conv(x, 3), axis=1),
        lambda x: _both(conv(x, 37)),
        lambda x: join(*[emit(quantized_lookup(x, relax.const(TABLE)))] * 2),
        lambda x: join(conv(x, 40), conv(x, 37), scales={0: 2.25, 1: 2.25}),
        lambda x: join(conv(x, 40), relax.const(X)),
        lambda x: join(conv(x, 40), conv(relax.const(X), 3)),
    ],
    ids=[
        "mostly copies",
        "rows",
        "also read elsewhere",
        "no convolution",
        "other scales",
        "a constant",
        "constants",
    ],
)
def test_what_stays(body: Body) -> None:
    mod = before(body)
    tvm.ir.assert_structural_equal(JoinInPlace(AVX2)(mod), mod)


def _both(y: relax.Expr) -> list[relax.Expr]:
    return [join(y, y), y]


def test_targets_without_such_kernels_change_nothing() -> None:
    mod = before(lambda x: join(conv(x, 40), conv(x, 37)))
    for options in ({"mcpu": "x86-64"}, {"mtriple": "aarch64-linux-gnu", "mcpu": "cortex-a72"}):
        target = tvm.target.Target({"kind": "llvm", **options})
        tvm.ir.assert_structural_equal(JoinInPlace(target)(mod), mod)


def nested(x: relax.Expr) -> relax.Expr:
    """Joins in joins, a copy and a conversion, read twice."""
    other = emit(quantized_lookup(x, relax.const(TABLE)))
    inner = join(conv(x, 3), other, scales={1: 2.25})
    joined = join(conv(x, 40), inner, conv(x, 37))
    looked_up = emit(quantized_lookup(joined, relax.const(TABLE)))
    return emit(R.concat([looked_up, joined], axis=1))


def evaluated(x: Array) -> Array:
    convs = {
        size: quantized_conv2d.evaluate(x, kernel, **ATTRS) for size, kernel in KERNELS.items()
    }
    inner = quantized_concat.evaluate([convs[3], TABLE[x]], [2.5, 2.25], [3, 3], 2.5, 3, "uint8", 3)
    joined = np.concatenate([convs[40], inner, convs[37]], axis=3)
    return np.concatenate([TABLE[joined], joined], axis=1)


@pytest.mark.parametrize("disabled", [[], ["OneFunction"]])
def test_results_stay(disabled: list[str]) -> None:
    assert calls(lower(before(nested), AVX2)).count("z_conv2d into") == 2
    with tvm.transform.PassContext(opt_level=2, disabled_pass=disabled):
        library = build(before(nested), "host")
    for data in (X, X[:, ::-1].copy()):
        np.testing.assert_array_equal(library.run(data), evaluated(data))


@needs_linker
def test_results_without_tvms_runtime(tmp_path: Any) -> None:
    ((result,),) = run_standalone(build(before(nested), "host"), [[X]], tmp_path)
    np.testing.assert_array_equal(result, evaluated(X))


def float_conv(x: relax.Expr, units: int, **attrs: Any) -> relax.Expr:
    inputs = 20 // attrs.get("groups", 1)
    kernel = np.random.default_rng(units).normal(size=(units, 3, 3, inputs)).astype(np.float32)
    return emit(float_conv2d(x, relax.const(kernel), padding=1, **attrs))


def floats(body: Body) -> tvm.IRModule:
    return module({"x": relax.TensorType(X.shape, "float32")}, body)


def test_convolutions_of_floats_write_to_the_joined_tensor() -> None:
    def body(x: relax.Expr) -> relax.Expr:
        parts = [float_conv(x, 37), float_conv(x, 20, groups=20)]
        kernel, bias = np.ones((20, 1, 1, 20), np.float32), np.ones(20, np.float32)
        parts.append(emit(float_conv2d(x, relax.const(kernel), relax.const(bias), x, low=0.0)))
        return emit(R.concat(parts, 3))

    whole = floats(body)
    assert calls(JoinInPlace(AVX2)(whole)) == ["float_conv2d", *["float_conv2d into"] * 2]
    data = np.random.default_rng(7).normal(size=X.shape).astype(np.float32)
    joined, apart = (
        build(lower(whole, AVX2, kernels=kernels), {"kind": "llvm", "mcpu": "haswell"}).run(data)
        for kernels in (True, False)
    )
    assert joined.shape == (1, 5, 6, 77)
    np.testing.assert_array_equal(joined, apart)


def test_floats_are_not_copied_there() -> None:
    def body(x: relax.Expr) -> relax.Expr:
        return emit(R.concat([float_conv(x, 37), emit(R.abs(x))], 3))

    assert "concat" in calls(JoinInPlace(AVX2)(floats(body)))[-1]


@pytest.mark.parametrize("is_sum", [False, True], ids=["products", "residual sums"])
def test_floats_stay_where_no_kernel_has_their_order(*, is_sum: bool) -> None:
    """Without fused multiply-adds no kernel has ONNX Runtime's order."""

    def body(x: relax.Expr) -> relax.Expr:
        kernels = [np.full((20, 1, 1, 20), value, np.float32) for value in (1, 2)]
        others = (relax.const(np.ones(20, np.float32)), x) if is_sum else ()
        parts = [float_conv2d(x, relax.const(each), *others, order=ORDERS[1]) for each in kernels]
        # The first part, in LiteRT's order, has a kernel.
        return emit(R.concat([float_conv(x, 37), *map(emit, parts)], 3))

    target = tvm.target.Target({"kind": "llvm", "mcpu": "penryn"})
    whole = floats(body)
    tvm.ir.assert_structural_equal(JoinInPlace(target)(whole), whole)
