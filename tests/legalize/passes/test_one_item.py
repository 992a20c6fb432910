from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax, tirx
from tvm.relax import op as R

import qnn_ops as q
import tvm_qnn
from legalize.passes.one_item import BATCH, OneItem
from tests.support.modules import emit, module

SHAPE = (6, 5, 8)
KERNEL = np.random.default_rng(1).integers(-127, 128, (8, 3, 3, 8)).astype(np.int8)
WEIGHTS = np.random.default_rng(2).integers(-127, 128, (4, 8)).astype(np.int8)
SCALES = {"lhs_scale": 0.1, "lhs_zero_point": 2, "rhs_scale": 0.1, "rhs_zero_point": 2}
SUM: dict[str, Any] = {**SCALES, "output_scale": 0.2, "output_zero_point": 1, "out_dtype": "int8"}


def conv(x: relax.Expr) -> relax.Var:
    numbers = (0.02, 3, 0.01, 0, 0.1, 2)
    layouts: dict[str, Any] = {
        "data_layout": "NHWC",
        "kernel_layout": "OHWI",
        "padding": (1, 1, 1, 1),
    }
    kernel = relax.const(KERNEL)
    return emit(q.quantized_conv2d(x, kernel, *numbers, "int8", **layouts))


def classifier(x: relax.Expr) -> relax.Expr:
    y = emit(q.quantized_add(conv(x), x, **SUM))
    y = emit(R.concat([y, x], axis=3))
    y = emit(q.quantized_pad(y, [0, 0, 1, 1, 0, 0, 0, 0], 1))
    y = emit(q.quantized_mean(y, [1, 2], False, 0.2, 1, 0.1, 1, "int8"))
    y = emit(R.reshape(y, (x.ty.shape[0], 2, 8)))
    y = emit(q.quantized_dense(y, relax.const(WEIGHTS), 0.1, 1, 0.01, 0, 0.2, 0, "int8"))
    y = emit(q.quantized_softmax(y, 0.2, 0, 1 / 256, -128, "int8", axis=-1))
    return emit(q.dequantize(y, 1 / 256, -128))


def opened(body: Callable[[relax.Expr], Any], *rest: Any, dtype: str = "int8") -> tvm.IRModule:
    shape = (tirx.Var("n", "int64"), *(rest or SHAPE))
    return module({"x": relax.TensorType(shape, dtype)}, body)


def test_a_network_of_pictures_becomes_one_of_one_picture() -> None:
    main = OneItem()(opened(classifier))["main"]
    assert main.attrs[BATCH] == "n"
    assert [int(size) for size in main.params[0].ty.shape] == [1, *SHAPE]


@pytest.mark.parametrize("batch", [1, 3, 16, 17, 100])
def test_each_item_of_a_batch_is_that_of_a_build_for_it(batch: int) -> None:
    x = np.random.default_rng(batch).integers(-128, 128, (batch, *SHAPE)).astype(np.int8)
    fixed = module({"x": relax.TensorType(x.shape, "int8")}, classifier)
    found = tvm_qnn.build(opened(classifier), "host", num_threads=1).run(x)
    np.testing.assert_array_equal(found, tvm_qnn.build(fixed, "host", num_threads=1).run(x))


def test_a_result_may_be_copied() -> None:
    """A tensor that is two results is computed once."""
    x = np.random.default_rng(4).integers(-128, 128, (3, *SHAPE)).astype(np.int8)
    once = tvm_qnn.build(opened(conv), "host", num_threads=1).run(x)

    def twice(x: relax.Expr) -> relax.Expr:
        y = conv(x)
        return relax.Tuple([y, y])

    mod = opened(twice)
    assert OneItem()(mod)["main"].attrs[BATCH] == "n"
    for found in tvm_qnn.build(mod, "host", num_threads=1).run(x).values():
        np.testing.assert_array_equal(found, once)


def other_rank(x: relax.Expr) -> relax.Expr:
    return emit(q.quantized_add(conv(x), emit(R.reshape(x, (1, *x.ty.shape))), **SUM))


@pytest.mark.parametrize(
    "body",
    [
        lambda x: emit(R.max(conv(x), 0, keepdims=True)),
        lambda x: emit(R.concat([conv(x), x], axis=0)),
        lambda x: emit(q.quantized_softmax(conv(x), 0.1, 2, 1 / 256, -128, "int8", axis=0)),
        lambda x: emit(R.permute_dims(conv(x), [1, 0, 2, 3])),
        lambda x: emit(R.reshape(conv(x), (x.ty.shape[0] * 6, 5, 8))),
        lambda x: emit(q.quantized_pad(conv(x), [1, 0, 0, 0, 0, 0, 0, 0], 1)),
        lambda x: emit(q.dynamic_encoding(emit(q.dequantize(conv(x), 0.1, 2)), True, whole=True)),
        lambda x: emit(R.cumsum(conv(x), 0)),
        other_rank,
    ],
)
def test_networks_that_mix_items_stay(body: Callable[[relax.Expr], Any]) -> None:
    mod = opened(body)
    assert OneItem()(mod)["main"].attrs.get(BATCH) is None


def test_other_open_sizes_and_dense_layers_stay() -> None:
    dense = relax.const(WEIGHTS)
    rows = opened(lambda x: q.quantized_dense(x, dense, 0.1, 1, 0.01, 0, 0.2, 0, "int8"), 8)
    several = opened(conv, tirx.Var("h", "int64"), 9, 8)
    for mod in (rows, several):
        assert (OneItem()(mod)["main"].attrs or {}).get(BATCH) is None
