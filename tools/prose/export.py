"""The language model as ONNX, as onnxruntime-genai's builder writes such models; and quantized."""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper, numpy_helper

from tools.prose.sizes import EPSILON, Sizes, angles

Weights = Mapping[str, npt.NDArray[np.float32]]
"""By the names that they have in the network."""

_RUNTIME = "com.microsoft"
_FLOAT, _INT32, _INT64 = onnx.TensorProto.FLOAT, onnx.TensorProto.INT32, onnx.TensorProto.INT64
_BLOCK = 32
"""Weights that share a scale."""
_INTEGERS = 4
"""The accuracy level of products of integers."""


def random_weights(sizes: Sizes, seed: int = 0) -> Weights:
    """Return weights of a network that was not trained."""
    rng = np.random.default_rng(seed)
    own, shared = sizes.heads * sizes.head, sizes.shared * sizes.head
    layer: dict[str, tuple[int, ...]] = {"q": (own, sizes.width)}
    layer |= dict.fromkeys(("k", "v"), (shared, sizes.width))
    layer |= {"o": (sizes.width, own), "down": (sizes.width, sizes.hidden)}
    layer |= dict.fromkeys(("gate", "up"), (sizes.hidden, sizes.width))
    layer |= dict.fromkeys(("before", "between"), (sizes.width,))
    shapes: dict[str, tuple[int, ...]] = {"norm": (sizes.width,)}
    shapes |= dict.fromkeys(("embed", "scores"), (sizes.vocabulary, sizes.width))
    for number in range(sizes.layers):
        shapes |= {f"layers.{number}.{name}": shape for name, shape in layer.items()}
    found = {}
    for name, shape in shapes.items():
        values = rng.normal(0, shape[-1] ** -0.5, shape) if len(shape) > 1 else np.ones(shape)
        found[f"{name}.weight"] = values.astype(np.float32)
    return found


def float_model(sizes: Sizes, weights: Weights) -> onnx.ModelProto:
    """Return the model in float32."""
    return _Writer(sizes, weights).model()


def in_4_bits(model: onnx.ModelProto) -> onnx.ModelProto:
    """Quantize products of weights to 4 bits, with ONNX Runtime's tools."""
    from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    quantizer = MatMulNBitsQuantizer(
        copy, block_size=_BLOCK, is_symmetric=True, accuracy_level=_INTEGERS
    )
    quantizer.process()
    return quantizer.model.model


def in_8_bits(model: onnx.ModelProto) -> onnx.ModelProto:
    """Quantize products of weights to 8 bits, with ONNX Runtime's tools."""
    from onnxruntime.quantization import quantize_dynamic

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "int8.onnx"
        # Types behind attention, which the package onnx does not know.
        options = {"DefaultTensorType": onnx.TensorProto.FLOAT}
        quantize_dynamic(model, path, per_channel=True, extra_options=options)
        return onnx.load(path)


class _Writer:
    def __init__(self, sizes: Sizes, weights: Weights) -> None:
        self.sizes, self.weights = sizes, weights
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}

    def model(self) -> onnx.ModelProto:
        """Return the whole model."""
        sizes = self.sizes
        inputs = [
            helper.make_tensor_value_info("input_ids", _INT64, ("batch", "tokens")),
            helper.make_tensor_value_info("attention_mask", _INT64, ("batch", "total")),
        ]
        outputs = [
            helper.make_tensor_value_info("logits", _FLOAT, ("batch", "tokens", sizes.vocabulary))
        ]
        for number in range(sizes.layers):
            for kind in ("key", "value"):
                for role, values in (("past_key_values", inputs), ("present", outputs)):
                    tokens = "total" if role == "present" else "past"
                    shape = "batch", sizes.shared, tokens, sizes.head
                    name = f"{role}.{number}.{kind}"
                    values.append(helper.make_tensor_value_info(name, _FLOAT, shape))
        self._lengths()
        table = self._constant("embed", self.weights["embed.weight"])
        x = self._node("Gather", [table, "input_ids"], "embedded")
        for number in range(sizes.layers):
            x = self._layer(x, number)
        x = self._normalized(x, "norm")
        self._product(x, "scores", "logits")
        tensors = [numpy_helper.from_array(array, name) for name, array in self.constants.items()]
        graph = helper.make_graph(self.nodes, "prose", inputs, outputs, tensors)
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid(_RUNTIME, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=8)

    def _node(self, op: str, inputs: list[str], output: str, domain: str = "", **attrs: Any) -> str:
        self.nodes.append(helper.make_node(op, inputs, [output], output, domain=domain, **attrs))
        return output

    def _constant(self, name: str, array: Any) -> str:
        self.constants[name] = array
        return name

    def _lengths(self) -> None:
        """Write how many tokens there are, as the attentions read it."""
        axis = self._constant("axis", np.array([1], np.int64))
        count = self._node("ReduceSum", ["attention_mask", axis], "count", keepdims=0)
        last = self._node("Sub", [count, axis], "last")
        self._node("Cast", [last], "seqlens_k", to=_INT32)
        shape = self._node("Shape", ["attention_mask"], "mask_shape")
        number = self._constant("one", np.array(1, np.int64))
        self._node("Cast", [self._node("Gather", [shape, number], "size")], "total", to=_INT32)
        turns = angles(self.sizes)
        self._constant("cosines", np.cos(turns).astype(np.float32))
        self._constant("sines", np.sin(turns).astype(np.float32))

    def _normalized(self, x: str, name: str) -> str:
        gains = self._constant(name, self.weights[f"{name}.weight"])
        attrs: dict[str, Any] = {"axis": -1, "epsilon": EPSILON, "stash_type": 1}
        return self._node("SimplifiedLayerNormalization", [x, gains], f"{name}.result", **attrs)

    def _product(self, x: str, name: str, output: str = "") -> str:
        columns = np.ascontiguousarray(self.weights[f"{name}.weight"].T)
        return self._node("MatMul", [x, self._constant(name, columns)], output or f"{name}.result")

    def _layer(self, x: str, number: int) -> str:
        """Write a layer."""
        sizes, stem = self.sizes, f"layers.{number}."
        y = self._normalized(x, f"{stem}before")
        parts = [self._product(y, stem + name) for name in "qkv"]
        past = [f"past_key_values.{number}.{kind}" for kind in ("key", "value")]
        lengths = ["seqlens_k", "total", "cosines", "sines"]
        results = [f"{stem}mixed", *(f"present.{number}.{kind}" for kind in ("key", "value"))]
        attention = helper.make_node(
            *("GroupQueryAttention", [*parts, *past, *lengths], results, results[0]),
            domain=_RUNTIME,
            num_heads=sizes.heads,
            kv_num_heads=sizes.shared,
            scale=float(sizes.head**-0.5),
            do_rotary=1,
        )
        self.nodes.append(attention)
        x = self._node("Add", [x, self._product(results[0], f"{stem}o")], f"{stem}between.sum")
        y = self._normalized(x, f"{stem}between")
        gate = self._product(y, f"{stem}gate")
        open_ = self._node("Sigmoid", [gate], f"{stem}sigmoid")
        silu = self._node("Mul", [gate, open_], f"{stem}silu")
        wide = self._node("Mul", [silu, self._product(y, f"{stem}up")], f"{stem}wide")
        return self._node("Add", [x, self._product(wide, f"{stem}down")], f"{stem}sum")
