"""Weights of a few bits or of bytes, whose products ONNX Runtime computes by MatMulNBits."""

from typing import Any

import numpy as np
import pytest

from frontends.errors import UnsupportedOperatorError
from frontends.onnx.graph.graph import Graph
from frontends.onnx.normalize.weight_products import weight_product
from tests.support.onnx_graphs import Array, Held, Net, Node, each, equal, one, onnx, pair, refused

UNITS = 24
POINTS = ["none", "bytes", "floats"]


def packed(values: Array, bits: int) -> Array:
    """Return values of the last axis in bytes, the first ones in the lowest bits."""
    each = 8 // bits
    short = -values.shape[-1] % each
    whole = np.concatenate([values, np.zeros((*values.shape[:-1], short), int)], -1)
    parts = whole.reshape(*whole.shape[:-1], -1, each) << (np.arange(each) * bits)
    return parts.sum(-1).astype(np.uint8)


def product(
    *, bits: int = 4, size: int = 32, depth: int = 128, points: str = "none", rows: int = 3
) -> tuple[dict[str, Array], dict[str, Array], Array]:
    """Return data, constants, and the real weights, [depth, units]."""
    rng = np.random.default_rng(depth + bits)
    blocks = -(-depth // size)
    values = rng.integers(0, 2**bits, (UNITS, blocks, size))
    scales = rng.uniform(0.01, 0.05, (UNITS, blocks)).astype(np.float32)
    zeros: Array = np.full((UNITS, blocks), 2 ** (bits - 1))
    constants = {"w": packed(values, bits), "s": scales}
    if points == "bytes":
        zeros = rng.integers(0, 2**bits, (UNITS, blocks))
        constants["z"] = packed(zeros, bits)
    elif points == "floats":
        zeros = constants["z"] = rng.uniform(0, 2**bits, (UNITS, blocks)).astype(np.float32)
    real = (values - zeros[..., None]) * scales[..., None].astype(np.float64)
    data = {"x": rng.normal(0, 1, (2, rows, depth)).astype(np.float32)}
    return data, constants, real.reshape(UNITS, -1)[:, :depth].T


def model(
    data: dict[str, Array], constants: dict[str, Array], operands: str = "", **attributes: Any
) -> Net:
    text = operands or f"x w s {'z' if 'z' in constants else '_'} _ {'b' * ('b' in constants)}"
    given = {"N": UNITS, "K": data["x"].shape[-1], "bits": 4, "block_size": 32, **attributes}
    return Net([("MatMulNBits", text.rstrip("_ "), "y", given)], data, constants)


@pytest.mark.parametrize("level", [0, 4])
@pytest.mark.parametrize(
    ("bits", "size", "depth", "points"),
    [
        *((4, 32, 128, points) for points in POINTS),
        (4, 16, 200, "bytes"),
        (2, 16, 128, "bytes"),
        *((2, 32, 200, points) for points in POINTS),
        (8, 32, 128, "none"),
        (8, 64, 200, "bytes"),
        (2, 256, 300, "bytes"),
        (4, 512, 1300, "bytes"),
        (8, 1024, 700, "none"),
    ],
)
def test_near_onnx_runtime(bits: int, size: int, depth: int, points: str, level: int) -> None:
    for rows in (1, 5):
        data, constants, real = product(bits=bits, size=size, depth=depth, points=points, rows=rows)
        if rows == 1:
            data["x"] = data["x"][:1]
        constants["b"] = np.random.default_rng(1).normal(0, 1, UNITS).astype(np.float32)
        net = model(data, constants, bits=bits, block_size=size, accuracy_level=level)
        ours, theirs = net.ours()[0], net.theirs()[0]
        # Sums of products, or of blocks of them, in another order. One integer of the data that
        # is another would be a thousandth.
        sizes = np.abs(data["x"]).astype(np.float64) @ np.abs(real)
        assert (np.abs(ours - theirs) <= 2.0**-21 * (sizes + 1)).all()


def chosen(sizes: tuple[int, int], kind: int) -> Net:
    size, depth = sizes
    rng = np.random.default_rng(size)
    count = depth * UNITS
    known = {
        "w": rng.integers(0, 256, -(-count // 2)).astype(np.uint8),
        "s": np.exp2(rng.integers(-3, 3, -(-count // size))).astype(np.float32),
    }
    data = {"x": np.eye(depth, dtype=np.float32)[np.newaxis]}  # the weights themselves
    how = {"N": UNITS, "K": depth, "block_size": size, "quant_type": kind}
    return Net([("MatMulBnb4", "x w s", "y", how)], data, known)


test_four_bits_that_choose_a_number = equal(each(chosen, [(16, 64), (64, 64), (32, 33)], (0, 1)))


def test_data_of_zeros() -> None:
    data, constants, _ = product()
    data["x"][:, :, :64] = 0
    data["x"][0, 0] = 0
    net = model(data, constants, accuracy_level=4)
    ours, theirs = net.ours()[0], net.theirs()[0]
    np.testing.assert_allclose(ours, theirs, atol=1e-5)
    assert not ours[0, 0].any()


def test_ties_are_rounded_to_even_steps() -> None:
    # 127 is the largest of each block, so that steps are 1.
    data, constants, _ = product()
    data["x"][...] = np.random.default_rng(2).integers(-200, 200, data["x"].shape) / 2
    data["x"][..., ::32] = 127
    constants["s"][...] = 0.25
    model(data, constants, accuracy_level=4).check()


def rows_of_table(bits: int, points: bool) -> Net:
    rng = np.random.default_rng(bits)
    values = rng.integers(0, 2**bits, (50, 96))
    constants = {
        "t": packed(values, bits),
        "s": rng.uniform(0.01, 0.05, (50, 3)).astype(np.float32),
    }
    if points:
        constants["z"] = packed(rng.integers(0, 2**bits, (50, 3)), bits)
    data = {"i": rng.integers(0, 50, (2, 7))}
    attributes = {"bits": bits, "block_size": 32, "gather_axis": 0, "quantize_axis": 1}
    node = ("GatherBlockQuantized", f"t i s {'z' if points else ''}", "y", attributes)
    return Net([node], data, constants)


test_rows_of_tables_have_every_bit = equal(each(rows_of_table, (4, 8), (False, True)))


def test_rows_whose_last_block_is_short() -> None:
    rng = np.random.default_rng(6)
    constants = {
        "t": rng.integers(0, 256, (20, 40)).astype(np.uint8),
        "s": rng.uniform(0.01, 0.05, (20, 3)).astype(np.float32),
    }
    data = {"i": rng.integers(-20, 20, 9).astype(np.int32)}
    node = ("GatherBlockQuantized", "t i s", "y", {"bits": 8, "block_size": 16})
    Net([node], data, constants).check()


REFUSED: dict[str, dict[str, Any]] = {
    "weights of 3 bits": {"bits": 3},
    "block_size is 24": {"block_size": 24},
    "block_size is 512, weights of 2 bits": {"bits": 2, "block_size": 512},
    "scales are 96, need 75000": {"K": 100_000},
    "B are 1536, need 3072": {"bits": 8},
    "'bits' must be a whole number": {"bits": "many"},
    "'K' must be a whole number": {"K": 128.5},
}


FEW = product()[:2]
test_attributes_that_are_refused = refused(
    *((reason, model(*FEW, **attributes)) for reason, attributes in REFUSED.items()),
    error=UnsupportedOperatorError,
)


def test_columns_in_the_order_of_blocks_are_multiplied_as_floats() -> None:
    data, constants, real = product()
    constants["g"] = (np.arange(128) // 32).astype(np.int32)
    net = model(data, constants, "x w s _ g", accuracy_level=4)
    ours, theirs = net.ours()[0], net.theirs()[0]
    sizes = np.abs(data["x"]).astype(np.float64) @ np.abs(real)
    assert (np.abs(ours - theirs) <= 2.0**-21 * sizes).all()


ORDER = (np.random.default_rng(0).permutation(128) // 32).astype(np.int32)
TABLE = Held(np.random.default_rng(6).integers(0, 256, (20, 32)).astype(np.uint8))
SCALES, PLACES = Held(np.full((20, 2), 0.02, np.float32)), np.arange(9, dtype=np.int32)
test_operands_that_are_refused = refused(
    ("g_idx", model(FEW[0], {**FEW[1], "g": ORDER}, "x w s _ g")),
    ("'w' must be a constant", model({**FEW[0], "w": FEW[1]["w"]}, {"s": FEW[1]["s"]})),
    (
        "rows of tables alone",
        one("GatherBlockQuantized", TABLE, PLACES, SCALES, bits=8, block_size=16, gather_axis=1),
    ),
    error=UnsupportedOperatorError,
)

DEPTH, COLUMNS = 40, 24
ORDERS = {"Transpose": {"perm": [0, 1]}}
LIMITS = {"INT4": (-8, 8), "UINT4": (0, 16), "INT8": (-128, 128), "UINT8": (0, 256)}
NEAR = 2.0**-21
"""Of the sum of the products' sizes: blocks are added up in another order."""


def model_weight_products(
    dtype: str = "INT8",
    *,
    operator: str = "MatMul",
    axis: int | None = None,
    block: int = 0,
    has_points: bool = True,
    bias: tuple[int, ...] | None = None,
    data: str = "",
    reads: int = 1,
    after: str = "",
    **attributes: Any,
) -> Net:
    """Return a model of one product.

    Args:
        dtype: of the weights.
        operator: that multiplies.
        axis: of the scales, if there are several.
        block: how many weights have one, if there are several for each column.
        has_points: whether there are zero points.
        bias: the shape of one, if there is one.
        data: the dtype that data is quantized to before, if it is.
        after: what reads the result and is quantized to bytes, if anything is.
        reads: how many products read the weights.
        attributes: of the operator.
    """
    rng = np.random.default_rng(7)
    kind = onnx.helper.tensor_dtype_to_np_dtype(getattr(onnx.TensorProto, dtype))
    shape = (COLUMNS, DEPTH) if attributes.get("transB") else (DEPTH, COLUMNS)
    sizes: tuple[int, ...] = () if axis is None else (shape[axis],)
    where: dict[str, int] = {} if axis is None else {"axis": axis}
    if block:
        sizes, where = (-(-DEPTH // block), COLUMNS), {"axis": 0, "block_size": block}
    constants: dict[str, Any] = {
        "s": np.asarray(rng.random(sizes) * 0.01 + 0.001, np.float32),
        "w": rng.integers(*LIMITS[dtype], shape).astype(kind),
        "z": np.asarray(rng.integers(*LIMITS[dtype], sizes)).astype(kind),
        "b": rng.normal(0, 1, bias or ()).astype(np.float32),
        **({"t": np.float32(0.0002), "u": np.array(5, data)} if data else {}),
        **({"t": np.float32(0.05), "u": np.uint8(120)} if after else {}),
    }
    nodes: list[Node] = pair("x t u", "d") if data else []
    nodes.append(("DequantizeLinear", "w s z" if has_points else "w s", "r", where))
    operands = f"{'d' if data else 'x'} r {'' if bias is None else 'b'}"
    nodes += [(operator, operands, f"y{number}", attributes) for number in range(reads)]
    if after:
        nodes += [(after, "y0", "e", ORDERS.get(after, {})), *pair("e t u", "y")]
    x = np.random.default_rng(8).normal(0, 1, (3, DEPTH)).astype(np.float32)
    return Net(nodes, {"x": x}, constants, opset=21)


CASES: dict[str, dict[str, Any]] = {
    **{dtype: {"dtype": dtype} for dtype in LIMITS},
    **{f"{dtype} without points": {"dtype": dtype, "has_points": False} for dtype in LIMITS},
    **{f"{dtype} of columns": {"dtype": dtype, "axis": 1} for dtype in LIMITS},
    **{f"{dtype} of blocks": {"dtype": dtype, "block": 16} for dtype in LIMITS},
    "large blocks": {"dtype": "INT4", "block": 64},
    "words": {"data": "uint16"},
    "Gemm": {"operator": "Gemm", "axis": 1},
    "Gemm with beta": {"operator": "Gemm", "beta": 2.0},
    "Gemm with a bias": {"operator": "Gemm", "bias": (COLUMNS,)},
}
OTHERS: dict[str, dict[str, Any]] = {
    "rows": {"axis": 0},
    "quantized": {"after": "Transpose"},
    "quantized after a Relu": {"after": "Relu"},
    "read twice": {"reads": 2},
    "small blocks": {"dtype": "INT4", "block": 8},
    "bytes and four bits": {"dtype": "INT4", "data": "uint8"},
    "int8 and uint8": {"dtype": "UINT8", "data": "int8"},
    "transposed": {"operator": "Gemm", "transB": 1},
    "a bias of two axes": {"operator": "Gemm", "bias": (1, COLUMNS)},
}


def written(net: Net) -> list[str]:
    graph = Graph(net.model)
    graph.apply(weight_product)
    return [node.op_type for node in graph.node]


def check(net: Net) -> None:
    ours, theirs = net.ours(in_float=True)[0], net.theirs()[0]
    # Weights are at most 0.011 * 255 each.
    most = np.abs(net.data["x"]).sum(1, keepdims=True) * 0.011 * 255
    assert np.all(np.abs(ours - theirs) <= NEAR * most)


@pytest.mark.parametrize("case", CASES)
def test_quantizes_data_by_block(case: str) -> None:
    net = model_weight_products(**CASES[case])
    assert "MatMulNBits" in written(net)
    assert written(net).count("DequantizeLinear") == ("data" in CASES[case])
    check(net)


@pytest.mark.parametrize("case", OTHERS)
def test_others_stay(case: str) -> None:
    net = model_weight_products(**OTHERS[case])
    assert "MatMulNBits" not in written(net)
    check(net)
