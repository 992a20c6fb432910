"""A network as a quantized TFLite model."""

from __future__ import annotations

from frontends.tflite.quantization import Quantization
from tvm_qnn.zoo.file import QUANTIZED, File, Style, Tensor, TensorType
from tvm_qnn.zoo.graph import Graph, Kind, Operator


def emit(name: str, graph: Graph, style: Style) -> bytes:
    """Quantize a network and write it.

    Args:
        name: what the network is called.
        graph: the network.
        style: how to quantize.

    Returns:
        The contents of a .tflite file.
    """
    file = File(style)
    tensors: dict[int, Tensor] = {}
    # A signed CONCATENATION has no scales: all its inputs must have the output's.
    ranges = graph.ranges if style.dtype == "uint8" else graph.tied()
    for node in graph.nodes:
        file.weights = node.weights
        inputs = [tensors[kind.number] for kind in node.inputs]
        types = [
            TensorType(
                kind.shape,
                style.dtype if kind.dtype == QUANTIZED else kind.dtype,
                _quantization(node.operator, inputs, kind, style, ranges),
            )
            for kind in node.outputs
        ]
        written = node.operator.write(file, inputs, types)
        tensors.update((v.number, t) for v, t in zip(node.outputs, written, strict=True))
    return file.finish(name, [tensors[kind.number] for kind in graph.results])


def _quantization(
    operator: Operator,
    inputs: list[Tensor],
    kind: Kind,
    style: Style,
    ranges: dict[int, tuple[float, float]],
) -> Quantization | None:
    if kind.dtype != QUANTIZED:
        return None
    if operator.same_scale:
        return inputs[0].quantization
    if operator.lowest is not None:
        return style.prescribed(operator.lowest)
    return style.activation(*ranges[kind.number])
