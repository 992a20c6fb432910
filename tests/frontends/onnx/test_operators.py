"""Operators between DequantizeLinear and QuantizeLinear, against ONNX Runtime."""

from dataclasses import replace

import numpy as np
import pytest

import tvm_qnn as qnn
from frontends.onnx import from_onnx
from tests.support.onnx_branches import RNG, SHAPE, Branches, Case, check, floats, ints, onnx, pool
from tvm_qnn.oracle import onnxruntime_tensors

TWO = {"axis": 1, "num_outputs": 2}
MASK = RNG.random(SHAPE) < 0.5
PADS = ints(0, 0, 1, 2, 0, 0, 0, 3)

MOVEMENTS = {
    "split": Case("Split", ("x",), TWO, count=2),
    "uneven split": Case("Split", ("x", ints(1, 3)), {"axis": 1}, count=2),
    "slice": Case("Slice", ("x", ints(0, 7), ints(3, -9), ints(1, 2), ints(2, -2))),
    "gather": Case("Gather", ("x", ints(3, -4, 1)), {"axis": 1}),
    "gather elements": Case("GatherElements", ("x", np.full((1, 2, 8, 8), 3)), {"axis": 1}),
    "squeeze": Case("Squeeze", ("x", ints(0))),
    "unsqueeze": Case("Unsqueeze", ("x", ints(0, 3))),
    "transpose": Case("Transpose", ("x",), {"perm": [0, 2, 3, 1]}),
    "flatten": Case("Flatten", ("x",), {"axis": 2}),
    "reshape": Case("Reshape", ("x", ints(0, -1, 4))),
    "tile": Case("Tile", ("x", ints(1, 2, 1, 3))),
    "expand": Case("Expand", ("x", ints(3, 4, 8, 8))),
    "depth to space": Case("DepthToSpace", ("x",), {"blocksize": 2}),
    "depth to space by rows": Case("DepthToSpace", ("x",), {"blocksize": 2, "mode": "CRD"}),
    "space to depth": Case("SpaceToDepth", ("x",), {"blocksize": 2}),
    "pad": Case("Pad", ("x", PADS)),
    "pad with a number": Case("Pad", ("x", PADS, np.float32(1.3))),
    "pad and cut": Case("Pad", ("x", ints(0, -1, 1, 2, 0, 0, -2, 3))),
    "reflect": Case("Pad", ("x", PADS), {"mode": "reflect"}),
    "edge": Case("Pad", ("x", PADS), {"mode": "edge"}),
    "pad of an axis": Case("Pad", ("x", ints(1, 2), "", ints(3))),
    "gather of a table": Case("Gather", ("x", np.array([[0, 1], [2, -1]])), {"axis": 2}),
    "maximum of all": Case("ReduceMax", ("x",)),
    "maximum of axes": Case("ReduceMax", ("x", ints(1, 3))),
    "minimum of axes": Case("ReduceMin", ("x", ints(2)), {"keepdims": 0}),
    "max pool": pool("MaxPool", [3, 2], strides=[2, 1], pads=[1, 0, 0, 1]),
    "dilated max pool": pool("MaxPool", [3, 2], dilations=[2, 3], pads=[2, 1, 1, 1]),
    "max pool rounded up": pool("MaxPool", [3, 3], strides=[2, 2], ceil_mode=1),
    "max pool of the same size": pool("MaxPool", [3, 2], auto_pad="SAME_UPPER", strides=[2, 2]),
    "max pool of the same size below": pool("MaxPool", [2, 2], auto_pad="SAME_LOWER"),
}
RESIZES = {
    f"{mode} {rounding} {number}": Case(
        "Resize",
        ("x", "", *sizes),
        {"coordinate_transformation_mode": mode, "nearest_mode": rounding},
    )
    for mode in ("asymmetric", "half_pixel", "pytorch_half_pixel", "align_corners")
    for rounding in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
    for number, sizes in enumerate(
        ((floats(1, 1, 2, 2),), (floats(1, 1, 0.6, 1.7),), ("", ints(1, 4, 13, 5)))
    )
}
INTEGERS = {
    "average pool": pool("AveragePool", [2, 2], 0.05),
    "average pool with pads": pool("AveragePool", [3, 3], 0.041, pads=[1, 1, 1, 1]),
    "average pool that counts pads": pool(
        "AveragePool", [3, 2], 0.25, pads=[1, 0, 2, 1], strides=[2, 1], count_include_pad=1
    ),
    "average pool of the same size": pool("AveragePool", [3, 3], 0.03, auto_pad="SAME_UPPER"),
    "average pool rounded up": pool("AveragePool", [3, 3], 0.03, strides=[2, 2], ceil_mode=1),
    "average pool rounded up that counts pads": pool(
        *("AveragePool", [3, 3], 0.03),
        strides=[3, 2],
        pads=[1, 1, 1, 1],
        ceil_mode=1,
        count_include_pad=1,
    ),
    "average of all": pool("AveragePool", [8, 8], 0.021),
    "average of all and pads": pool("AveragePool", [8, 8], 0.05, pads=[1, 1, 1, 1]),
    "global average": Case("GlobalAveragePool", ("x",), {}, 0.0125),
    "where": Case("Where", (MASK, "x", "y"), {}, 0.125),
    "where, broadcast": Case("Where", (MASK[:, :1, :, :1], "x", "y"), {}, 0.125),
    "where of the same": Case("Where", (MASK, "x", "x")),
    "sigmoid": Case("Sigmoid", ("x",), {}, 1 / 256),
    "tanh": Case("Tanh", ("x",), {}, 1 / 128),
    "leaky relu": Case("LeakyRelu", ("x",), {"alpha": 0.3}, 0.05),
    "softmax of channels": Case("Softmax", ("x",), {"axis": 1}, 1 / 256),
    "sum": Case("Add", ("x", "y"), {}, 0.1),
    "product": Case("Mul", ("x", "y"), {}, 0.3),
}
FLOATS = {
    "hard sigmoid": Case("HardSigmoid", ("x",), {"alpha": 0.21, "beta": 0.37}, 1 / 256),
    "hard swish": Case("HardSwish", ("x",), {}, 0.0625),
    "hard swish, finer": Case("HardSwish", ("x",), {}, 0.011),
    "clip": Case("Clip", ("x", np.float32(-1.3), np.float32(2.1)), {}, 0.05),
    "relu": Case("Relu", ("x",), {}, 0.05),
    "prelu": Case("PRelu", ("x", floats(0.1, -0.3, 0.25, 2).reshape(4, 1, 1)), {}, 0.07),
    "difference": Case("Sub", ("x", "y"), {}, 0.125),
    "quotient": Case("Div", ("y", floats(0.3, 7, 1.1, 2).reshape(4, 1, 1)), {}, 0.5),
    "larger": Case("Max", ("x", "y"), {}, 0.05),
    "smaller": Case("Min", ("x", "y"), {}, 0.05),
    "sum with a number": Case("Add", ("x", np.float32(0.77)), {}, 0.05),
    "product with a number": Case("Mul", ("x", np.float32(0.77)), {}, 0.05),
    "absolute": Case("Abs", ("x",), {}, 0.03),
    "square root, of numbers below 0 too": Case("Sqrt", ("x",), {}, 0.01),
    "negative": Case("Neg", ("x",), {}, 0.05),
    "floor": Case("Floor", ("x",), {}, 0.05),
    "ceiling": Case("Ceil", ("x",), {}, 0.05),
    "exponential": Case("Exp", ("x",), {}, 0.9),
    "logarithm, of numbers below 0 too": Case("Log", ("x",), {}, 0.01),
    "elu": Case("Elu", ("x",), {"alpha": 0.7}, 0.02),
    "largest of all": Case("GlobalMaxPool", ("x",), {}, 0.05),
    "scatter": Case(
        "ScatterND", ("x", ints(0, 1).reshape(1, 2), floats(*[1.3] * 64).reshape(1, 8, 8))
    ),
    "sum of channels": Case("ReduceSum", ("x", ints(1)), {}, 0.25),
    "mean": Case("ReduceMean", ("x", ints(2, 3)), {}, 0.0125),
    "mean of rows": Case("ReduceMean", ("x", ints(-1)), {"keepdims": 0}, 2.0**-6),
    "mean of all": Case("ReduceMean", ("x",), {}, 0.001),
    "other scale": Case("Transpose", ("x",), {"perm": [0, 2, 3, 1]}, 0.04),
    "pool of another scale": pool("MaxPool", [2, 2], 0.04),
    "product after a flatten": Case("Flatten", ("x",), {}, 1 / 256, after="Sigmoid"),
    "sigmoid after a tile": Case("Tile", ("x", ints(1, 2, 1, 1)), {}, 1 / 200, after="Sigmoid"),
    "sigmoid before depth": Case(
        "DepthToSpace", ("x",), {"blocksize": 2}, 1 / 99, before="Sigmoid"
    ),
    "where with a number": Case("Where", (MASK, "x", np.float32(0.4)), {}, 0.05),
}
MOVED_OVER = {
    "pool": pool("MaxPool", [2, 2], 1 / 256),
    "slice": Case("Slice", ("x", ints(1), ints(3), ints(1)), {}, 1 / 256),
    "unsqueeze": Case("Unsqueeze", ("x", ints(1)), {}, 1 / 177),
}
PROPAGATED = {
    **{f"sigmoid, {name}": replace(each, before="Sigmoid") for name, each in MOVED_OVER.items()},
    **{f"{name}, sigmoid": replace(each, after="Sigmoid") for name, each in MOVED_OVER.items()},
}


# A power of two, which has ties, and another scale.
SCALES = {"uint8": 0.0437, "int8": 0.0625}


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize("cases", [MOVEMENTS, INTEGERS], ids=["movements", "integers"])
def test_what_onnx_runtime_has_in_integers(cases: dict[str, Case], dtype: str) -> None:
    assert not check(cases, dtype, SCALES[dtype])


def test_resizes() -> None:
    assert not check(RESIZES, "uint8", 0.05)


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_what_onnx_runtime_moves_quantization_over(dtype: str) -> None:
    assert not check(PROPAGATED, dtype, 0.05)


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_what_onnx_runtime_has_in_float(dtype: str) -> None:
    assert check(FLOATS, dtype, SCALES[dtype])


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_averages_of_volumes(dtype: str) -> None:
    cases = {
        "window": pool("AveragePool", [2, 3, 2], 0.05, strides=[1, 2, 2], pads=[0, 1, 1, 1, 0, 0]),
        "pads": pool("AveragePool", [3, 2, 2], 0.25, pads=[1] * 6, count_include_pad=1),
        "all": pool("AveragePool", [4, 8, 4], 0.021),
        "global": Case("GlobalAveragePool", ("x",), {}, 0.0125),
    }
    assert not check(cases, dtype, 0.0437, (1, 2, 4, 8, 4))


@pytest.mark.parametrize("op", ["Greater", "GreaterOrEqual", "Less", "LessOrEqual"])
def test_comparisons(op: str) -> None:
    branches = Branches({}, "uint8", 0.05, SHAPE)
    x, y = branches.reals["x"], branches.reals["y"]
    (first,) = branches.node(op, [x, y])
    (second,) = branches.node(op, [y, branches.constant(np.float32(0.0811))])
    (both,) = branches.node("And", [first, second])
    (either,) = branches.node("Or", [both, branches.constant(MASK)])
    (result,) = branches.node("Where", [either, x, y])
    encoding = branches.encodings["x"]
    (name,) = branches.node("QuantizeLinear", [result, *encoding])
    model = branches.model()
    value = onnx.helper.make_tensor_value_info(name, onnx.TensorProto.UINT8, SHAPE)
    model.graph.output.append(value)
    data = [RNG.normal(0, 1, SHAPE).astype(np.float32) for _ in "xy"]
    wanted = onnxruntime_tensors(model, data)[name]
    mod, params = from_onnx(model)
    np.testing.assert_array_equal(qnn.build(mod, "host", params).run(*data), wanted)


@pytest.mark.parametrize("last", [0, 1])
def test_places_of_the_largest(last: int) -> None:
    branches = Branches({}, "uint8", 0.05, SHAPE)
    attributes = {"axis": 1, "keepdims": 0, "select_last_index": last}
    (name,) = branches.node("ArgMax", [branches.reals["x"]], **attributes)
    model = branches.model()
    value = onnx.helper.make_tensor_value_info(name, onnx.TensorProto.INT64, (1, 8, 8))
    model.graph.output.append(value)
    data = np.float32(0.05) * RNG.integers(0, 4, SHAPE).astype(np.float32)
    wanted = onnxruntime_tensors(model, [data, data])[name]
    mod, params = from_onnx(model)
    np.testing.assert_array_equal(qnn.build(mod, "host", params).run(data, data), wanted)
