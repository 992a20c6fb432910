"""Weights of a few bits with a scale for each block, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from frontends.errors import UnsupportedOperatorError
from frontends.onnx import from_onnx
from tests.support.onnx_graphs import Array, Node, check_equal, compiled, model_of, on_runtime, onnx

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
    data: dict[str, Array],
    constants: dict[str, Array],
    operands: str = "",
    **attributes: Any,
) -> Any:
    text = operands or f"x w s {'z' if 'z' in constants else '_'} _ {'b' * ('b' in constants)}"
    given = {"N": UNITS, "K": data["x"].shape[-1], "bits": 4, "block_size": 32, **attributes}
    return model_of([("MatMulNBits", text.rstrip("_ "), "y", given)], data, ["y"], constants)


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
        ours, theirs = compiled(net, data)[0], on_runtime(net, data)[0]
        # Sums of products, or of blocks of them, in another order. One integer of the data that
        # is another would be a thousandth.
        sizes = np.abs(data["x"]).astype(np.float64) @ np.abs(real)
        assert (np.abs(ours - theirs) <= 2.0**-21 * (sizes + 1)).all()


@pytest.mark.parametrize("kind", [0, 1])
@pytest.mark.parametrize(("size", "depth"), [(16, 64), (64, 64), (32, 33)])
def test_four_bits_that_choose_a_number(size: int, depth: int, kind: int) -> None:
    rng = np.random.default_rng(size)
    count = depth * UNITS
    known = {
        "w": rng.integers(0, 256, -(-count // 2)).astype(np.uint8),
        "s": np.exp2(rng.integers(-3, 3, -(-count // size))).astype(np.float32),
    }
    data = {"x": np.eye(depth, dtype=np.float32)[np.newaxis]}  # the weights themselves
    how = {"N": UNITS, "K": depth, "block_size": size, "quant_type": kind}
    check_equal(model_of([("MatMulBnb4", "x w s", "y", how)], data, ["y"], known), data)


def test_data_of_zeros() -> None:
    data, constants, _ = product()
    data["x"][:, :, :64] = 0
    data["x"][0, 0] = 0
    net = model(data, constants, accuracy_level=4)
    ours, theirs = compiled(net, data)[0], on_runtime(net, data)[0]
    np.testing.assert_allclose(ours, theirs, atol=1e-5)
    assert not ours[0, 0].any()


def test_ties_are_rounded_to_even_steps() -> None:
    # 127 is the largest of each block, so that steps are 1.
    data, constants, _ = product()
    data["x"][...] = np.random.default_rng(2).integers(-200, 200, data["x"].shape) / 2
    data["x"][..., ::32] = 127
    constants["s"][...] = 0.25
    check_equal(model(data, constants, accuracy_level=4), data)


@pytest.mark.parametrize(("bits", "points"), [(4, False), (4, True), (8, False), (8, True)])
def test_rows_of_tables_have_every_bit(bits: int, points: bool) -> None:
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
    check_equal(model_of([node], data, ["y"], constants), data)


def test_rows_whose_last_block_is_short() -> None:
    rng = np.random.default_rng(6)
    constants = {
        "t": rng.integers(0, 256, (20, 40)).astype(np.uint8),
        "s": rng.uniform(0.01, 0.05, (20, 3)).astype(np.float32),
    }
    data = {"i": rng.integers(-20, 20, 9).astype(np.int32)}
    node = ("GatherBlockQuantized", "t i s", "y", {"bits": 8, "block_size": 16})
    check_equal(model_of([node], data, ["y"], constants), data)


REFUSED: dict[str, dict[str, Any]] = {
    "weights of 3 bits": {"bits": 3},
    "block_size is 24": {"block_size": 24},
    "block_size is 512, weights of 2 bits": {"bits": 2, "block_size": 512},
    "scales are 96, need 75000": {"K": 100_000},
    "B are 1536, need 3072": {"bits": 8},
    "its operands or attributes": {"bits": "many"},
}


@pytest.mark.parametrize("reason", REFUSED)
def test_attributes_that_are_refused(reason: str) -> None:
    data, constants, _ = product()
    net = model(data, constants)
    (node,) = net.graph.node
    for name, value in REFUSED[reason].items():
        kept = [each for each in node.attribute if each.name != name]
        del node.attribute[:]
        node.attribute.extend([*kept, onnx.helper.make_attribute(name, value)])
    with pytest.raises(UnsupportedOperatorError, match=reason):
        from_onnx(net)


def test_columns_in_the_order_of_blocks_are_multiplied_as_floats() -> None:
    data, constants, real = product()
    constants["g"] = (np.arange(128) // 32).astype(np.int32)
    net = model(data, constants, "x w s _ g", accuracy_level=4)
    ours, theirs = compiled(net, data)[0], on_runtime(net, data)[0]
    sizes = np.abs(data["x"]).astype(np.float64) @ np.abs(real)
    assert (np.abs(ours - theirs) <= 2.0**-21 * sizes).all()


def test_columns_in_another_order_are_refused() -> None:
    data, constants, _ = product()
    net = model(data, constants)
    order = np.random.default_rng(0).permutation(np.arange(128) // 32).astype(np.int32)
    net.graph.initializer.append(onnx.numpy_helper.from_array(order, "g"))
    net.graph.node[0].input.extend(["", "g"])
    with pytest.raises(UnsupportedOperatorError, match="g_idx"):
        from_onnx(net)


def test_weights_that_the_run_tells_are_refused() -> None:
    data, constants, _ = product()
    net = model(data, constants)
    kind = onnx.TensorProto.UINT8
    shape = constants["w"].shape
    net.graph.input.append(onnx.helper.make_tensor_value_info("w", kind, shape))
    kept = [each for each in net.graph.initializer if each.name != "w"]
    del net.graph.initializer[:]
    net.graph.initializer.extend(kept)
    with pytest.raises(UnsupportedOperatorError, match="'w' must be a constant"):
        from_onnx(net)


def test_tables_of_other_axes_are_refused() -> None:
    rng = np.random.default_rng(6)
    constants = {
        "t": rng.integers(0, 256, (20, 32)).astype(np.uint8),
        "s": rng.uniform(0.01, 0.05, (20, 2)).astype(np.float32),
    }
    data = {"i": rng.integers(0, 20, 9).astype(np.int32)}
    node: Node = ("GatherBlockQuantized", "t i s", "y", {"bits": 8, "block_size": 16})
    net = model_of([node], data, ["y"], constants)
    net.graph.node[0].attribute.append(onnx.helper.make_attribute("gather_axis", 1))
    with pytest.raises(UnsupportedOperatorError, match="rows of tables alone"):
        from_onnx(net)
