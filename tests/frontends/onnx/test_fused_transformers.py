"""A network like BERT in the form that ONNX Runtime's optimizer of transformers gives it."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from frontends.onnx.source import OnnxSource
from tests.support.onnx_graphs import Array, Net, Node, compiled, on_runtime, onnx

TOKENS, WIDTH, HEADS, INNER, WORDS, LAYERS = 12, 32, 4, 64, 50, 2


def sentences() -> dict[str, Array]:
    rng = np.random.default_rng(1)
    return {
        "ids": rng.integers(0, WORDS, (2, TOKENS)).astype(np.int32),
        "kinds": rng.integers(0, 2, (2, TOKENS)).astype(np.int32),
        "mask": (np.arange(TOKENS) < np.array([[12], [7]])).astype(np.int32),
    }


def network(mask: str) -> Any:
    """Return the float model; attention reads the mask itself, or the count of what is seen."""
    rng = np.random.default_rng(0)
    constants: dict[str, Array] = {}

    def weights(name: str, *shape: int, scale: float = 1.0) -> str:
        constants[name] = rng.normal(0, scale / shape[0] ** 0.5, shape).astype(np.float32)
        return name

    def numbers(name: str, mean: float = 0, size: int = WIDTH) -> str:
        constants[name] = rng.normal(mean, 0.1, size).astype(np.float32)
        return name

    def norm(name: str) -> str:
        return f"{numbers(f'{name}_scale', 1)} {numbers(f'{name}_bias')}"

    tables = " ".join(
        weights(name, count, WIDTH, scale=count**0.5)
        for name, count in (("words", WORDS), ("places", 20), ("segments", 2))
    )
    embedding = f"ids kinds {tables} {norm('embedding')} mask"
    nodes: list[Node] = [("EmbedLayerNormalization", embedding, "x0 seen")]
    for layer in range(LAYERS):
        x, name = f"x{layer}", f"layer{layer}"
        qkv = f"{weights(f'{name}_qkv', WIDTH, 3 * WIDTH)} {numbers(f'{name}_b', 0, 3 * WIDTH)}"
        attention = {"num_heads": HEADS}
        nodes += [
            ("Attention", f"{x} {qkv} {mask}", f"{name}_mixed", attention),
            ("MatMul", f"{name}_mixed {weights(f'{name}_o', WIDTH, WIDTH)}", f"{name}_sum"),
            (
                "SkipLayerNormalization",
                f"{name}_sum {x} {norm(f'{name}_n')} {numbers(f'{name}_ob')}",
                f"{name}_y",
                {"epsilon": 1e-12},
            ),
            ("MatMul", f"{name}_y {weights(f'{name}_i', WIDTH, INNER)}", f"{name}_inner"),
            (
                ("BiasGelu", "FastGelu")[layer % 2],
                f"{name}_inner {numbers(f'{name}_ib', 0, INNER)}",
                f"{name}_gelu",
            ),
            ("MatMul", f"{name}_gelu {weights(f'{name}_w', INNER, WIDTH)}", f"{name}_outer"),
            (
                "SkipLayerNormalization",
                f"{name}_outer {name}_y {norm(f'{name}_m')} {numbers(f'{name}_wb')}",
                f"x{layer + 1}",
                {"epsilon": 1e-12},
            ),
        ]
    constants["first"] = np.array(0)
    nodes += [
        ("Gather", f"x{LAYERS} first", "token", {"axis": 1}),
        ("MatMul", f"token {weights('pool', WIDTH, WIDTH)}", "pooled"),
        ("Add", f"pooled {numbers('pool_bias')}", "biased"),
        ("Tanh", "biased", "tanh"),
        ("MatMul", f"tanh {weights('classes', WIDTH, 3)}", "y"),
    ]
    return Net(nodes, sentences(), constants, [f"x{LAYERS}", "y"]).model


def dynamic(model: Any, folder: Path, **options: Any) -> Any:
    quantization = pytest.importorskip("onnxruntime.quantization")
    onnx.save(model, folder / "float.onnx")
    # The package onnx does not infer types over operators of ONNX Runtime's.
    options["extra_options"] = {"DefaultTensorType": onnx.TensorProto.FLOAT}
    quantization.quantize_dynamic(folder / "float.onnx", folder / "bytes.onnx", **options)
    return onnx.load(folder / "bytes.onnx")


@pytest.mark.parametrize(
    ("mask", "options"),
    [("seen", {}), ("mask", {"per_channel": True}), ("seen", {"weight_type": "QUInt8"})],
)
def test_near_onnx_runtime(mask: str, options: dict[str, Any], tmp_path: Path) -> None:
    quantization = pytest.importorskip("onnxruntime.quantization")
    if "weight_type" in options:
        options = {"weight_type": quantization.QuantType.QUInt8}
    model = dynamic(network(mask), tmp_path, **options)
    kinds = Counter(node.op_type for node in model.graph.node)
    assert (kinds["QAttention"], kinds["QEmbedLayerNormalization"]) == (LAYERS, 1)
    data = sentences()
    for ours, theirs in zip(compiled(model, data), on_runtime(model, data), strict=True):
        # A byte at a tie may be another, as sums of floats have another order.
        np.testing.assert_allclose(ours, theirs, atol=0.02)
        assert np.abs(ours - theirs).mean() < 0.002


def test_near_onnx_runtime_before_it_is_quantized() -> None:
    model, data = network("mask"), sentences()
    for ours, theirs in zip(compiled(model, data), on_runtime(model, data), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_a_summary_knows_all_of_it(tmp_path: Path) -> None:
    model = dynamic(network("mask"), tmp_path)
    operators = OnnxSource(model).summary("bert").operators
    assert not [each.reason for each in operators if each.reason]
    assert {each.lowering for each in operators if each.code == "QAttention"} == {"integer"}
