"""A network like BERT in ONNX, with weights from a seed, and its quantized forms."""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

_OPSET = 17
_MASKED = -10000.0


@dataclass(frozen=True)
class Sizes:
    """The sizes of a network.

    Attributes:
        layers: number of layers, each of attention and a feed-forward network.
        width: the width of a token.
        heads: number of heads of attention.
        inner: width of the feed-forward network.
        words: number of words in the vocabulary.
        tokens: number of tokens of a sentence.
    """

    layers: int
    width: int
    heads: int
    inner: int
    words: int
    tokens: int


TINY = Sizes(1, 32, 4, 64, 50, 12)
SMALL = Sizes(4, 512, 8, 2048, 30522, 128)
"""The sizes of BERT-Small, as its authors call it."""


@dataclass
class _Graph:
    """The nodes and constants of a growing model."""

    rng: np.random.Generator
    nodes: list[Any] = field(default_factory=list)
    constants: dict[str, Array] = field(default_factory=dict)

    def constant(self, array: Any, name: str = "") -> str:
        name = name or f"c{len(self.constants)}"
        self.constants[name] = np.asarray(array)
        return name

    def weights(self, *shape: int, scale: float = 1.0) -> str:
        values = self.rng.normal(0, scale / shape[0] ** 0.5, shape)
        return self.constant(values.astype(np.float32))

    def node(self, op: str, *inputs: str, **attributes: Any) -> str:
        from onnx import helper

        output = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [output], name=output, **attributes))
        return output

    def dense(self, x: str, depth: int, units: int) -> str:
        product = self.node("MatMul", x, self.weights(depth, units))
        bias = self.rng.normal(0, 0.1, units).astype(np.float32)
        return self.node("Add", product, self.constant(bias))

    def norm(self, x: str, width: int) -> str:
        scale = self.rng.uniform(0.7, 1.3, width).astype(np.float32)
        bias = self.rng.normal(0, 0.1, width).astype(np.float32)
        operands = (self.constant(scale), self.constant(bias))
        return self.node("LayerNormalization", x, *operands, axis=-1, epsilon=1e-12)

    def gelu(self, x: str) -> str:
        root = self.constant(np.float32(2**0.5))
        erf = self.node("Erf", self.node("Div", x, root))
        factor = self.node("Add", erf, self.constant(np.float32(1)))
        return self.node("Mul", self.node("Mul", x, factor), self.constant(np.float32(0.5)))


def network(sizes: Sizes, seed: int = 0, *, of_any_length: bool = False) -> Any:
    """Return the float model, from tokens and their mask, for any batch, to two numbers.

    Its Reshapes depend on the shape of its input, as in exported models. With ``of_any_length`` it
    takes sentences of any length up to that of the sizes.
    """
    from onnx import TensorProto, checker, helper, numpy_helper

    graph = _Graph(np.random.default_rng(seed))
    node, constant, width = graph.node, graph.constant, sizes.width
    first, axis = constant(np.array(0)), constant(np.array([0]))
    batch = node("Unsqueeze", node("Gather", node("Shape", "tokens"), first), axis)

    def shaped(x: str, *rest: int) -> str:
        shape = node("Concat", batch, constant(np.array(rest)), axis=0)
        return node("Reshape", x, shape)

    words = graph.weights(sizes.words, width, scale=sizes.words**0.5)
    places = graph.weights(1, sizes.tokens, width, scale=0.5)
    if of_any_length:
        length = node("Gather", node("Shape", "tokens"), constant(np.array([1])))
        places = node("Slice", places, constant(np.array([0])), length, constant(np.array([1])))
    x = node("Gather", words, "tokens")
    x = graph.norm(node("Add", x, places), width)
    seen = node("Unsqueeze", node("Cast", "mask", to=TensorProto.FLOAT), constant(np.array([1, 2])))
    hidden = node("Sub", constant(np.float32(1)), seen)
    hidden = node("Mul", hidden, constant(np.float32(_MASKED)))
    depth = width // sizes.heads
    for _ in range(sizes.layers):
        parts = [
            node(
                "Transpose",
                shaped(graph.dense(x, width, width), -1, sizes.heads, depth),
                perm=perm,
            )
            for perm in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3])
        ]
        scores = node("MatMul", parts[0], parts[1])
        scores = node("Div", scores, constant(np.float32(depth**0.5)))
        weights = node("Softmax", node("Add", scores, hidden), axis=-1)
        mixed = node("Transpose", node("MatMul", weights, parts[2]), perm=[0, 2, 1, 3])
        mixed = graph.dense(shaped(mixed, -1, width), width, width)
        x = graph.norm(node("Add", mixed, x), width)
        inner = graph.gelu(graph.dense(x, width, sizes.inner))
        x = graph.norm(node("Add", graph.dense(inner, sizes.inner, width), x), width)
    pooled = node("Gather", x, first, axis=1)
    pooled = node("Tanh", graph.dense(pooled, width, width))
    output = graph.dense(pooled, width, 2)
    shape: list[str | int] = ["batch", "length" if of_any_length else sizes.tokens]
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, shape) for name in ("tokens", "mask")
    ]
    outputs = [helper.make_tensor_value_info(output, TensorProto.FLOAT, ["batch", 2])]
    tensors = [numpy_helper.from_array(array, name) for name, array in graph.constants.items()]
    made = helper.make_graph(graph.nodes, "transformer", inputs, outputs, tensors)
    opsets = [helper.make_opsetid("", _OPSET)]
    model = helper.make_model(made, opset_imports=opsets, ir_version=8)
    checker.check_model(model)
    return model


def sentence(sizes: Sizes, seed: int) -> dict[str, Array]:
    """Return tokens and a mask that hides the last ones."""
    rng = np.random.default_rng(seed)
    mask = np.ones((1, sizes.tokens), np.int64)
    mask[:, sizes.tokens - sizes.tokens // 4 :] = 0
    return {"tokens": rng.integers(0, sizes.words, (1, sizes.tokens)), "mask": mask}


def dynamic(model: Any, *, per_channel: bool = False) -> Any:
    """Quantize the weights; activations are quantized when the model runs."""
    import onnx
    from onnxruntime.quantization import quantize_dynamic

    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "float.onnx"), Path(folder, "dynamic.onnx")
        onnx.save(model, source)
        quantize_dynamic(source, target, per_channel=per_channel)
        return onnx.load(target)


def static(model: Any, sizes: Sizes, *, activations: str = "QUInt8", qdq: bool = True) -> Any:
    """Quantize weights and activations; a few sentences determine the activations' ranges."""
    import onnx
    from onnxruntime import quantization

    class _Reader(quantization.CalibrationDataReader):
        def __init__(self) -> None:
            self.left: Iterator[dict[str, Array]] = (sentence(sizes, 10 + i) for i in range(4))

        def get_next(self) -> dict[str, Array] | None:
            return next(self.left, None)

    forms = quantization.QuantFormat
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "float.onnx"), Path(folder, "static.onnx")
        onnx.save(model, source)
        quantization.quantize_static(
            source,
            target,
            _Reader(),
            quant_format=forms.QDQ if qdq else forms.QOperator,
            activation_type=quantization.QuantType[activations],
            weight_type=quantization.QuantType.QInt8,
        )
        return onnx.load(target)
