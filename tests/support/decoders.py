"""Small language models with a past, and their texts on ONNX Runtime."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.support.onnx_graphs import onnx, onnxruntime
from tools.prose.export import float_model, random_weights
from tools.prose.sizes import Sizes

SIZES = Sizes(layers=2, width=32, heads=4, shared=2, head=16, hidden=64, length=96)
PROMPT = [84, 104, 101, 32, 109]
_KINDS = ("key", "value")


def grouped() -> Any:
    """Return a model as onnxruntime-genai's builder writes it."""
    return float_model(SIZES, random_weights(SIZES, 1))


def plain(
    layers: int = 2,
    heads: int = 2,
    width: int = 16,
    vocabulary: int = 64,
    *,
    attention: str = "",
    hides: bool = True,
) -> Any:
    """Return a model as Optimum exports it: with positions, and attention of the standard.

    Args:
        layers: how many.
        heads: of a layer.
        width: of a head.
        vocabulary: how many tokens there are.
        attention: the operator that computes it; empty for simpler ones.
        hides: whether tokens without attention_mask are not seen.
    """
    rng, whole = np.random.default_rng(2), heads * width
    helper, numpy_helper = onnx.helper, onnx.numpy_helper
    constants: dict[str, np.ndarray] = {
        "embed": rng.normal(0, 1, (vocabulary, whole)).astype(np.float32),
        "places": rng.normal(0, 1, (96, whole)).astype(np.float32),
        "out": rng.normal(0, 0.5, (whole, vocabulary)).astype(np.float32),
        "split": np.array([0, 0, heads, width]),
        "joined": np.array([0, 0, whole]),
        "column": np.array([-1, 1]),
        "spread": np.array([0, 1, 1, -1]),
        "scale": np.array(width**-0.5, np.float32),
        "low": np.array(-1e9, np.float32),
        "no": np.array(0, np.float32),
        "zero": np.array(0),
        "one": np.array(1),
    }
    nodes: list[Any] = []

    def add(op: str, operands: str, output: str, **attributes: Any) -> None:
        nodes.append(helper.make_node(op, operands.split(), [output], output, **attributes))

    add("Gather", "embed input_ids", "words")
    add("Gather", "places position_ids", "positions")
    add("Add", "words positions", "x.0")
    for name, source in (("tokens", "input_ids"), ("total", "attention_mask")):
        add("Shape", source, f"{name}_shape")
        add("Gather", f"{name}_shape one", name)
    add("Sub", "total tokens", "before")
    add("Range", "before total one", "own_flat")
    add("Reshape", "own_flat column", "own")
    add("Range", "zero total one", "all")
    add("Greater", "all own", "later")
    add("Where", "later low no", "causal")
    add("Cast", "attention_mask", "mask", to=onnx.TensorProto.FLOAT)
    add("Reshape", "mask spread", "wide_mask")
    add("Cast", "wide_mask", "is_there", to=onnx.TensorProto.BOOL)
    add("Where", "is_there causal low" if hides else "is_there causal causal", "hidden")
    for layer in range(layers):
        stem = f"l{layer}."
        for part in "qkvo":
            constants[stem + part] = rng.normal(0, whole**-0.5, (whole, whole)).astype(np.float32)
        for part in "qkv":
            add("MatMul", f"x.{layer} {stem}{part}", f"{stem}{part}.flat")
        if attention:
            nodes.append(_attention(attention, layer, heads, width))
        else:
            _written_out(add, layer)
        add("MatMul", f"{stem}flat {stem}o", f"{stem}result")
        add("Add", f"x.{layer} {stem}result", f"x.{layer + 1}")
    add("MatMul", f"x.{layers} out", "logits")
    info, kind64, kind32 = helper.make_tensor_value_info, 7, 1
    inputs = [
        info("input_ids", kind64, ["batch", "tokens"]),
        info("attention_mask", kind64, ["batch", "total"]),
        info("position_ids", kind64, ["batch", "tokens"]),
    ]
    outputs = [info("logits", kind32, ["batch", "tokens", vocabulary])]
    for layer in range(layers):
        for kind in _KINDS:
            shape = ["batch", heads, "past", width]
            inputs.append(info(f"past_key_values.{layer}.{kind}", kind32, shape))
            shape = ["batch", heads, "total", width]
            outputs.append(info(f"present.{layer}.{kind}", kind32, shape))
    tensors = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    graph = helper.make_graph(nodes, "plain", inputs, outputs, tensors)
    versions = [("", 23 if attention == "Attention" else 17), ("com.microsoft", 1)]
    opsets = [helper.make_opsetid(*each) for each in versions]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def _attention(op: str, layer: int, heads: int, width: int) -> Any:
    """Return a node that computes a layer's attention and keeps its past."""
    stem, is_standard = f"l{layer}.", op == "Attention"
    past, present = (
        [f"{name}.{layer}.{kind}" for kind in _KINDS] for name in ("past_key_values", "present")
    )
    counts = ("q_num_heads", "kv_num_heads") if is_standard else ("num_heads",)
    return onnx.helper.make_node(
        op,
        [*(f"{stem}{p}.flat" for p in "qkv"), *([] if is_standard else ["", ""]), "hidden", *past],
        [f"{stem}flat", *present],
        domain="" if is_standard else "com.microsoft",
        scale=float(width**-0.5),
        **dict.fromkeys(counts, heads),
    )


def _written_out(add: Any, layer: int) -> None:
    """Add a layer's attention in operators of sums and products."""
    stem = f"l{layer}."
    for part in "qkv":
        add("Reshape", f"{stem}{part}.flat split", f"{stem}{part}.split")
        add("Transpose", f"{stem}{part}.split", f"{stem}{part}.heads", perm=[0, 2, 1, 3])
    for part, kind in zip("kv", _KINDS, strict=True):
        operands = f"past_key_values.{layer}.{kind} {stem}{part}.heads"
        add("Concat", operands, f"present.{layer}.{kind}", axis=2)
    add("Transpose", f"present.{layer}.key", f"{stem}columns", perm=[0, 1, 3, 2])
    add("MatMul", f"{stem}q.heads {stem}columns", f"{stem}products")
    add("Mul", f"{stem}products scale", f"{stem}scaled")
    add("Add", f"{stem}scaled hidden", f"{stem}scores")
    add("Softmax", f"{stem}scores", f"{stem}weights", axis=-1)
    add("MatMul", f"{stem}weights present.{layer}.value", f"{stem}mixed")
    add("Transpose", f"{stem}mixed", f"{stem}turned", perm=[0, 2, 1, 3])
    add("Reshape", f"{stem}turned joined", f"{stem}flat")


class OnRuntime:
    """A model on ONNX Runtime, whose past grows."""

    def __init__(self, model: Any) -> None:
        """Begin with an empty text."""
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        providers = ["CPUExecutionProvider"]
        content = model if isinstance(model, bytes) else model.SerializeToString()
        self.session = onnxruntime.InferenceSession(content, options, providers)
        self.names = [each.name for each in self.session.get_inputs()]
        self.past = {
            each.name: np.zeros((1, each.shape[1], 0, each.shape[3]), np.float32)
            for each in self.session.get_inputs()
            if each.name.startswith("past_")
        }

    def step(self, ids: Sequence[int]) -> np.ndarray:
        """Return the scores of the token after each."""
        begin = next(iter(self.past.values())).shape[2]
        end = begin + len(ids)
        known = {
            "input_ids": np.array([ids]),
            "attention_mask": np.ones((1, end), np.int64),
            "position_ids": np.arange(begin, end)[None],
        }
        given = {name: known[name] for name in self.names if name in known}
        scores, *presents = self.session.run(None, {**given, **self.past})
        self.past = dict(zip(self.past, presents, strict=True))
        return scores[0]

    def generate(self, ids: Sequence[int], count: int) -> list[int]:
        """Return the likeliest tokens behind others."""
        found: list[int] = []
        for _ in range(count):
            found.append(int(self.step(ids)[-1].argmax()))
            ids = found[-1:]
        return found
