"""What is told of a model that is not imported."""

from typing import Any

import numpy as np
import pytest

from frontends.onnx.source import OnnxSource
from frontends.summary import UNSUPPORTED
from tests.support.errors import fails
from tests.support.onnx_graphs import Array, Net, Node, onnx

ROWS, DEPTH, UNITS, HEADS = 6, 16, 8, 2


def reals(*shape: int) -> Array:
    return np.random.default_rng(len(shape)).normal(0, 1, shape).astype(np.float32)


DATA = {"x": reals(1, ROWS, DEPTH)}
MATRIX = reals(DEPTH, UNITS)
BYTES = np.ones((DEPTH, UNITS), np.uint8)

_OF_WEIGHTS = ROWS * DEPTH * 3 * DEPTH
_OF_SCORES = 2 * ROWS * ROWS * DEPTH
_PLAIN = ROWS * DEPTH * UNITS

KINDS: dict[str, tuple[list[Node], dict[str, Array], int]] = {
    "MatMul": ([("MatMul", "x w", "y")], {"w": MATRIX}, _PLAIN),
    "Gemm": (
        [("Reshape", "x s", "r"), ("Gemm", "r w", "y", {"transB": 1})],
        {"w": MATRIX.T.copy(), "s": np.array([ROWS, DEPTH])},
        _PLAIN,
    ),
    "FusedMatMul": ([("FusedMatMul", "x w", "y", {"alpha": 2.0})], {"w": MATRIX}, _PLAIN),
    "FusedMatMul of its own transpose": (
        [("FusedMatMul", "x x", "y", {"transB": 1})],
        {},
        ROWS * ROWS * DEPTH,
    ),
    "DynamicQuantizeMatMul": (
        [("DynamicQuantizeMatMul", "x w s", "y")],
        {"w": BYTES, "s": np.array(0.5, np.float32)},
        _PLAIN,
    ),
    "MatMulNBits": (
        [("MatMulNBits", "x w s", "y", {"N": UNITS, "K": DEPTH, "block_size": 16, "bits": 4})],
        {"w": np.ones((UNITS, 1, 8), np.uint8), "s": np.ones((UNITS, 1), np.float32)},
        _PLAIN,
    ),
    "Attention": (
        [("Attention", "x w b", "y", {"num_heads": HEADS})],
        {"w": reals(DEPTH, 3 * DEPTH), "b": reals(3 * DEPTH)},
        _OF_WEIGHTS + _OF_SCORES,
    ),
    "MultiHeadAttention": (
        [("MultiHeadAttention", "x x x", "y", {"num_heads": HEADS})],
        {},
        _OF_SCORES,
    ),
    "LSTM": (
        [("LSTM", "x w r", "y", {"hidden_size": 3})],
        {"w": reals(1, 12, DEPTH), "r": reals(1, 12, 3)},
        ROWS * 12 * (DEPTH + 3),
    ),
    "ConvTranspose": (
        [("ConvTranspose", "x w", "y")],
        {"w": reals(ROWS, 5, 3)},
        DEPTH * ROWS * 5 * 3,
    ),
}
"""Nodes, constants, and the products of the last node."""


@pytest.mark.parametrize("kind", KINDS)
def test_products_are_counted(kind: str) -> None:
    nodes, constants, macs = KINDS[kind]
    summary = OnnxSource(Net(nodes, DATA, constants).model).summary("m")
    assert [operator.macs for operator in summary.operators] == [*[0] * (len(nodes) - 1), macs]


def layers() -> Any:
    """Return a model whose file states no shapes, of operators that the standard has not."""
    constants = {
        "w": reals(DEPTH, 3 * DEPTH),
        "b": reals(3 * DEPTH),
        "g": reals(DEPTH),
        "m": MATRIX,
    }
    nodes: list[Node] = [
        ("Attention", "x w b", "a", {"num_heads": HEADS}),
        ("SkipLayerNormalization", "a x g g", "n"),
        ("FusedMatMul", "n m", "f"),
        ("FastGelu", "f", "h"),
        ("FusedMatMul", "h m", "o", {"transB": 1}),
        ("SkipLayerNormalization", "o n g g", "l"),
        ("Attention", "l w b", "y", {"num_heads": HEADS}),
    ]
    model = Net(nodes, DATA, constants).model
    whole = onnx.helper.make_tensor_value_info("y", 1, (1, ROWS, DEPTH))
    model.graph.output[0].CopyFrom(whole)
    return model


def test_shapes_behind_operators_of_onnx_runtime_are_known() -> None:
    summary = OnnxSource(layers()).summary("m")
    found = {op.outputs[0].name: op.outputs[0] for op in summary.operators}
    whole = (1, ROWS, DEPTH)
    assert {name: note.shape for name, note in found.items()} == {
        **dict.fromkeys("anoly", whole),
        **dict.fromkeys("fh", (1, ROWS, UNITS)),
    }
    assert {note.dtype for note in found.values()} == {"float32"}
    assert summary.macs == 2 * (_OF_WEIGHTS + _OF_SCORES + _PLAIN)
    assert not summary.unsupported


def test_what_is_refused_keeps_none_of_the_others_from_being_counted() -> None:
    model = layers()
    node = onnx.helper.make_node("Inverse", ["x"], ["z"], domain="com.microsoft")
    model.graph.node.append(node)
    summary = OnnxSource(model).summary("m")
    assert [operator.name for operator in summary.unsupported] == ["z"]
    assert summary.operators[-1].lowering == UNSUPPORTED
    assert summary.macs == 2 * (_OF_WEIGHTS + _OF_SCORES + _PLAIN)


def test_shapes_that_are_given_are_those_that_are_counted() -> None:
    model = layers()
    dims = model.graph.input[0].type.tensor_type.shape.dim
    dims[0].dim_param = "batch"
    dims = model.graph.output[0].type.tensor_type.shape.dim
    dims[0].dim_param = "batch"
    source = OnnxSource(model)
    assert source.summary("m").macs == 0
    summary = source.summary("m", {"x": (3, ROWS, DEPTH)})
    assert summary.macs == 6 * (_OF_WEIGHTS + _OF_SCORES + _PLAIN)
    fails("no input is named 'z'", source.summary, "m", {"z": (1,)})


@pytest.mark.parametrize(
    ("kind", "sizes", "weights", "scales"),
    [
        ("MatMulNBits", {"block_size": 16, "bits": 4}, (UNITS, 1, 8), (UNITS, 1)),
        ("MatMulBnb4", {"block_size": 16, "quant_type": 1}, (UNITS * DEPTH // 2,), (UNITS,)),
    ],
)
def test_scales_of_float16_are_not_told_as_refused(
    kind: str, sizes: dict[str, int], weights: tuple[int, ...], scales: tuple[int, ...]
) -> None:
    constants = {"w": np.ones(weights, np.uint8), "s": np.ones(scales, np.float16)}
    nodes: list[Node] = [(kind, "x w s", "y", {"N": UNITS, "K": DEPTH, **sizes})]
    data = {"x": DATA["x"].astype(np.float16)}
    assert not OnnxSource(Net(nodes, data, constants).model).summary("m").unsupported
