"""A calibrated network as a quantized TFLite model."""

from __future__ import annotations

from frontends.tflite.quantization import Quantization
from tvm_qnn.zoo.calibrate import Calibration
from tvm_qnn.zoo.file import QUANTIZED, File, Style, Tensor, TensorType
from tvm_qnn.zoo.graph import Graph, Operator, Value


def emit(name: str, graph: Graph, style: Style, calibration: Calibration) -> bytes:
    """Quantize a network and write it.

    Args:
        name: what the network is called.
        graph: the network.
        style: how to quantize.
        calibration: what `calibrate` found for the graph.

    Returns:
        The contents of a .tflite file.
    """
    file = File(style)
    tensors: dict[int, Tensor] = {}
    # A signed CONCATENATION has no scales: all its inputs must have the output's.
    ranges = calibration.ranges if style.dtype == "uint8" else calibration.tied
    for number, node in enumerate(graph.nodes):
        file.weights = calibration.weights.get(number)
        inputs = [tensors[value.number] for value in node.inputs]
        types = [
            TensorType(
                value.shape,
                style.dtype if value.dtype == QUANTIZED else value.dtype,
                _quantization(node.operator, inputs, value, style, ranges),
            )
            for value in node.outputs
        ]
        written = node.operator.write(file, inputs, types)
        tensors.update((v.number, t) for v, t in zip(node.outputs, written, strict=True))
    return file.finish(name, [tensors[value.number] for value in graph.results])


def _quantization(
    operator: Operator,
    inputs: list[Tensor],
    value: Value,
    style: Style,
    ranges: dict[int, tuple[float, float]],
) -> Quantization | None:
    if value.dtype != QUANTIZED:
        return None
    if operator.same_scale:
        return inputs[0].quantization
    if operator.lowest is not None:
        return style.prescribed(operator.lowest)
    return style.activation(*ranges[value.number])
