"""Convolutions and products that ONNX Runtime leaves in float: its order of sums, bit for bit."""

from typing import Any

import numpy as np
import pytest

from frontends.onnx import from_onnx
from tests.support.onnx_graphs import Net, each, equal, on_runtime, pair
from tests.support.x86 import runs_here
from tvm_qnn import build

RNG = np.random.default_rng(8)

pytestmark = pytest.mark.skipif(
    not runs_here("icelake-server"), reason="ONNX Runtime has another order without AVX512"
)

# Data, kernel, attributes.
CASES: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "three channels": ((2, 3, 12, 11), (20, 3, 3, 3), {"strides": [2, 2], "pads": [1, 1, 1, 1]}),
    "blocks of channels": ((1, 36, 9, 8), (24, 36, 3, 3), {"pads": [1, 0, 1, 2]}),
    "channels that are no fours": ((1, 18, 9, 8), (7, 18, 3, 2), {"dilations": [2, 1]}),
    "pixels": ((2, 200, 9, 20), (32, 200, 1, 1), {}),
    "few pixels": ((1, 300, 5, 5), (40, 300, 1, 1), {}),
    "few pixels of windows": ((1, 40, 6, 6), (16, 40, 3, 3), {"pads": [1, 1, 1, 1]}),
    "depthwise": ((1, 20, 9, 8), (20, 1, 3, 3), {"group": 20, "pads": [1, 1, 1, 1]}),
    "two units of a channel": ((1, 6, 9, 8), (12, 1, 3, 3), {"group": 6}),
    "groups": ((1, 32, 9, 8), (32, 16, 3, 3), {"group": 2}),
    "one unit": ((1, 45, 9, 8), (1, 45, 3, 3), {}),
    "a unit of each group": ((1, 12, 9, 8), (4, 3, 3, 3), {"group": 4}),
    "rows": ((2, 20, 40), (24, 20, 5), {"pads": [2, 2]}),
}


def model(name: str, are_dequantized: bool) -> Net:
    """Return a network whose Relu keeps Conv apart from QuantizeLinear."""
    data, kernel, attributes = CASES[name]
    inputs = {"x": RNG.normal(size=data).astype(np.float32)}
    step, scale = np.float32(0.017), np.float32(0.0123)
    constants: dict[str, Any] = {"sx": step, "zx": np.uint8(0), "zd": np.uint8(7)}
    nodes: list[Any] = []
    if are_dequantized:
        constants |= {"w": RNG.integers(-127, 128, kernel).astype(np.int8), "sw": scale}
        constants["b"] = RNG.integers(-5000, 5000, kernel[0]).astype(np.int32)
        constants["sb"] = step * scale
        nodes = [
            *pair("x sx zd", "data"),
            ("DequantizeLinear", "w sw", "weights"),
            ("DequantizeLinear", "b sb", "bias"),
        ]
    else:
        constants["weights"] = RNG.normal(size=kernel).astype(np.float32)
        constants["bias"] = RNG.normal(size=kernel[0]).astype(np.float32)
    operands = f"{'data' if are_dequantized else 'x'} weights bias"
    nodes += [("Conv", operands, "sums", attributes), ("Relu", "sums", "y"), *pair("y sx zx", "z")]
    return Net(nodes, inputs, constants, ["y", "z"])


test_sums_are_those_of_onnx_runtime = equal(each(model, CASES, (True, False)), in_float=True)


# Both matrices, whether the second is a constant, the operator, whether there is a bias.
PRODUCTS: dict[str, tuple[tuple[int, ...], tuple[int, ...], bool, str, bool]] = {
    "constant": ((2, 5, 600), (600, 40), True, "MatMul", False),
    "constant and a bias": ((2, 5, 600), (600, 40), True, "MatMul", True),
    "one row": ((1, 600), (600, 600), True, "MatMul", True),
    "Gemm": ((10, 300), (40, 300), True, "Gemm", True),
    "short": ((10, 200), (40, 200), True, "Gemm", True),
    "of a run": ((2, 3, 10, 600), (2, 3, 600, 400), False, "MatMul", False),
    "of a run, few columns": ((3, 10, 300), (3, 300, 64), False, "MatMul", False),
}


def product_of(name: str) -> Net:
    lhs, rhs, is_constant, operator, has_bias = PRODUCTS[name]
    inputs = {"x": RNG.normal(size=lhs).astype(np.float32)}
    constants: dict[str, Any] = {"s": np.float32(0.02), "z": np.uint8(128)}
    (constants if is_constant else inputs)["w"] = RNG.normal(size=rhs).astype(np.float32)
    nodes: list[Any] = [*pair("x s z", "d"), ("Abs", "d", "data")]
    if has_bias:
        constants["c"] = RNG.normal(size=rhs[0 if operator == "Gemm" else -1]).astype(np.float32)
    if operator == "Gemm":
        nodes.append(("Gemm", "data w c", "y", {"transB": 1}))
    else:
        nodes.append(("MatMul", "data w", "m" if has_bias else "y"))
        nodes += [("Add", "m c", "y")] if has_bias else []
    return Net(nodes, inputs, constants)


test_products_are_those_of_onnx_runtime = equal(each(product_of, PRODUCTS), in_float=True)


def with_bias(bias: tuple[int, ...], shape: tuple[int, ...]) -> Net:
    inputs = {"x": RNG.normal(size=shape).astype(np.float32)}
    constants = {"w": (600, 40), "c": bias}
    drawn = {name: RNG.normal(size=size).astype(np.float32) for name, size in constants.items()}
    nodes: list[Any] = [("MatMul", "x w", "m"), ("Add", "m c", "y")]
    return Net(nodes, inputs, drawn)


test_a_bias_of_other_axes_is_a_part_of_a_product_as_in_onnx_runtime = equal(
    each(with_bias, [(1, 40), (1, 1, 40), (1,)], [(5, 600), (2, 5, 600)]), in_float=True
)


@pytest.mark.parametrize(
    ("operator", "rank", "bias"),
    [
        ("MatMul", 2, (40,)),
        ("MatMul", 2, (1, 40)),
        ("MatMul", 2, (1,)),
        ("MatMul", 3, (40,)),
        ("Gemm", 2, (40,)),
    ],
)
@pytest.mark.parametrize("depth", [200, 600])
def test_products_of_open_rows_are_those_of_onnx_runtime(
    operator: str, rank: int, bias: tuple[int, ...], depth: int
) -> None:
    """A bias is a part of a long sum only if the product has two axes."""
    shape = (5,) * (rank - 1) + (depth,)
    constants = {
        "w": RNG.normal(size=(depth, 40)).astype(np.float32),
        "c": RNG.normal(size=bias).astype(np.float32),
    }
    nodes: list[Any] = [("Gemm", "x w c", "y")]
    if operator == "MatMul":
        nodes = [("MatMul", "x w", "m"), ("Add", "c m", "y")]
    model = Net(nodes, {"x": np.zeros(shape, np.float32)}, constants).model
    sizes = tuple("abc"[: rank - 1])
    dims = model.graph.input[0].type.tensor_type.shape.dim
    for dim, size in zip(dims, sizes, strict=False):
        dim.dim_param = size
    mod, params = from_onnx(model, shape_dict={"x": (*sizes, depth)})
    library = build(mod, "host", params, num_threads=1)
    for count in (1, 2, 37):
        x = RNG.normal(size=(count,) * (rank - 1) + (depth,)).astype(np.float32)
        (expected,) = on_runtime(model, {"x": x})
        np.testing.assert_array_equal(library.run(x), expected)
