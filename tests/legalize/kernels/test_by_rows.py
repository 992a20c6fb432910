from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from tvm import relax, tirx

import qnn_ops as q
import tvm_qnn
from legalize import lower
from tests.support.as_written import compile_as_written
from tests.support.modules import module
from tvm_qnn.target.target import parse_target

RNG = np.random.default_rng(5)
WIDTH = 70
SCALES = {"lhs_scale": 0.1, "lhs_zero_point": 2, "rhs_scale": 0.13, "rhs_zero_point": -1}
SUM: dict[str, Any] = {**SCALES, "output_scale": 0.2, "output_zero_point": 1, "out_dtype": "int8"}
ROW = RNG.integers(-128, 128, WIDTH).astype(np.int8)
TABLE = RNG.integers(-128, 128, 256).astype(np.int8)
KERNEL = RNG.integers(-127, 128, (8, 3, 3, 4)).astype(np.int8)


def emit(call: relax.Expr) -> relax.Var:
    return relax.BlockBuilder.current().emit(call)


def requantized(x: relax.Expr) -> relax.Expr:
    reals = emit(q.dequantize(x, 0.1, 3))
    encoding = emit(q.dynamic_encoding(reals, True))
    return q.dynamic_quantize(reals, encoding)


def blockwise(x: relax.Expr) -> relax.Expr:
    rng = np.random.default_rng(1)
    weights = relax.const(rng.integers(0, 256, (12, 32)).astype(np.uint8))
    scales = relax.const(rng.random((12, 2)).astype(np.float32))
    return q.blockwise_dense(emit(q.dequantize(x, 0.1, 3)), weights, scales, bits=4, block_size=32)


def convolution(x: relax.Expr) -> relax.Expr:
    layouts: dict[str, Any] = {
        "data_layout": "NHWC",
        "kernel_layout": "OHWI",
        "padding": (1, 1, 1, 1),
    }
    numbers = (0.02, 3, 0.01, 0, 0.1, 2)
    made = emit(q.quantized_conv2d(x, relax.const(KERNEL), *numbers, "int8", **layouts))
    return q.quantized_softmax(made, 0.1, 2, 1 / 256, -128, "int8", axis=0)  # mixes images


BODIES: dict[str, tuple[Callable[[relax.Expr], relax.Expr], tuple[int, ...]]] = {
    "quantized_add": (lambda x: q.quantized_add(x, relax.const(ROW), **SUM), (WIDTH,)),
    "quantized_multiply": (lambda x: q.quantized_multiply(x, relax.const(ROW), **SUM), (WIDTH,)),
    "quantized_lookup": (lambda x: q.quantized_lookup(x, relax.const(TABLE)), (3,)),
    "quantized_softmax": (
        lambda x: q.quantized_softmax(x, 0.1, 2, 1 / 256, -128, "int8"),
        (WIDTH,),
    ),
    "dequantize": (lambda x: q.dequantize(x, 0.1, 3), (5, 7)),
    "dynamic_quantize": (requantized, (WIDTH,)),
    "blockwise_dense": (blockwise, (64,)),
    "quantized_concat": (
        lambda x: q.quantized_concat(
            relax.Tuple([x, x]), [0.1, 0.1], [1, 1], 0.1, 1, axis=-1, out_dtype="int8"
        ),
        (9,),
    ),
    "quantized_mean": (
        lambda x: q.quantized_mean(x, [-1], False, 0.25, 1, 0.2, 1, "int8"),
        (4, WIDTH),
    ),
    "quantized_conv2d": (convolution, (5, 6, 4)),
}


MIXING = ("quantized_conv2d",)
"""Bodies that mix rows, by a softmax along them: a build for fewer rows gives other numbers."""


@pytest.mark.parametrize("name", BODIES)
def test_open_rows_are_those_of_fixed_builds(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if name in MIXING:  # many builds, of integers
        compile_as_written(monkeypatch)
    body, rest = BODIES[name]
    opened = module({"x": relax.TensorType((tirx.Var("n", "int64"), *rest), "int8")}, body)
    target = parse_target("host")
    with target:
        functions = [each.name_hint for each in lower(opened, target).get_global_vars()]
    assert any(f"z_{name}" in each for each in functions)
    library = tvm_qnn.build(opened, target, num_threads=1)
    whole = RNG.integers(-128, 128, (300, *rest)).astype(np.int8)

    @cache
    def fixed(rows: int) -> Any:
        mod = module({"x": relax.TensorType((rows, *rest), "int8")}, body)
        return tvm_qnn.build(mod, target, num_threads=1).run(whole[:rows])

    expected = fixed(300)
    for rows in (1, 16, 17, 100, 300):
        wanted = fixed(rows) if rows == 1 or name in MIXING else expected[:rows]
        np.testing.assert_array_equal(library.run(whole[:rows]), wanted)


def test_several_axes_are_rows() -> None:
    shape = (tirx.Var("n", "int64"), tirx.Var("m", "int64"), WIDTH)
    body = BODIES["quantized_add"][0]
    library = tvm_qnn.build(module({"x": relax.TensorType(shape, "int8")}, body), num_threads=1)
    x = RNG.integers(-128, 128, (3, 11, WIDTH)).astype(np.int8)
    fixed = tvm_qnn.build(module({"x": relax.TensorType(x.shape, "int8")}, body), num_threads=1)
    np.testing.assert_array_equal(library.run(x), fixed.run(x))


def test_a_function_of_all_rows_sees_them_all() -> None:
    def body(x: relax.Expr) -> relax.Expr:
        return q.dynamic_encoding(emit(q.dequantize(x, 0.1, 3)), True, whole=True)

    def built(rows: Any) -> Any:
        mod = module({"x": relax.TensorType((rows, WIDTH), "int8")}, body)
        return tvm_qnn.build(mod, "host", num_threads=1)

    library = built(tirx.Var("n", "int64"))
    for rows in (1, 7, 40):
        x = RNG.integers(-rows, rows, (rows, WIDTH)).astype(np.int8)
        np.testing.assert_array_equal(library.run(x), built(rows).run(x))
