"""ONNX Runtime's own matrix products and convolutions, as standard nodes."""

from frontends.errors import UnsupportedError
from frontends.onnx.graph.graph import Graph
from frontends.onnx.read.standard import FLOAT
from frontends.onnx.replacements.registry import Call, rule

_OF_LSTM = 12
"""The number of operands of a DynamicQuantizeLSTM; the last ones are scales and zero points."""
_OF_MATRIX = 2
_ACTIVATIONS = {
    **dict.fromkeys(("Relu", "Sigmoid", "Softplus", "Softsign", "Tanh"), ()),
    **dict.fromkeys(("Elu", "LeakyRelu", "ThresholdedRelu"), ("alpha",)),
    "HardSigmoid": ("alpha", "beta"),
}
"""Activations by name, with the attributes of each."""


@rule("MatMulIntegerToFloat")
def _matmul_integer_to_float(call: Call) -> None:
    a, b, sa, sb, za, zb, bias = (*call.inputs, "", "", "")[:7]
    product(call.graph, [a, b, za, zb], (sa, sb), bias, call.node.output[0])


@rule("DynamicQuantizeMatMul")
def _dynamic_quantize_matmul(call: Call) -> None:
    a, b, sb, zb, bias = (*call.inputs, "", "")[:5]
    names = [call.graph.part(part) for part in ("bytes", "scale", "point")]
    call.add("DynamicQuantizeLinear", a, output=names)
    product(call.graph, [names[0], b, names[2], zb], (names[1], sb), bias, call.node.output[0])


@rule("DynamicQuantizeLSTM")
def _dynamic_quantize_lstm(call: Call) -> None:
    """Write an LSTM that also has the encodings of its weights."""
    operands = [*call.inputs, *[""] * _OF_LSTM][:_OF_LSTM]
    call.add("LSTM", *operands, output=list(call.node.output), **call.attributes)


def product(
    graph: Graph, operands: list[str], scales: tuple[str, str], bias: str, output: str = ""
) -> str:
    """Add nodes for integer sums, their product with both scales, and the sum with the bias.

    Args:
        graph: the model.
        operands: data, weights, and their zero points; empty for none.
        scales: of data and of weights.
        bias: a tensor; empty for none.
        output: the name of the result; a new one if it is empty.
    """
    while not operands[-1]:
        operands.pop()
    real = graph.add("Cast", graph.add("MatMulInteger", *operands), to=FLOAT)
    if _is_scaled_last(graph, operands[1], scales[1]):
        of_data = graph.add("Mul", real, scales[0])
        biased = graph.add("Add", of_data, bias) if bias else of_data
        return graph.add("Mul", biased, scales[1], output=output)
    scale = graph.add("Mul", *scales)
    if not bias:
        return graph.add("Mul", real, scale, output=output)
    return graph.add("Add", graph.add("Mul", real, scale), bias, output=output)


def _is_scaled_last(graph: Graph, weights: str, scale: str) -> bool:
    """Tell whether the weights' scales multiply last, behind the bias, as in ONNX Runtime.

    ONNX Runtime's kernel takes scales with the axes of the weights. It multiplies its result by
    other scales.
    """
    sizes = graph.known_shape(scale) or ()
    return len(sizes) == 1 and sizes[0] > 1 and graph.rank(weights) > _OF_MATRIX


@rule("FusedMatMul")
def _fused_matmul(call: Call) -> None:
    """Write a MatMul of matrices, perhaps transposed, times a number.

    ONNX Runtime's quantization group ends before the product with the number, and in the next two
    operators before the activation.
    """
    names = call.operands(2, 2)
    if call.integer("transBatchA") or call.integer("transBatchB"):
        raise UnsupportedError("transposed batches are not imported")
    operands = [
        _turned(call.graph, name) if call.integer(f"trans{side}") else name
        for name, side in zip(names, "AB", strict=True)
    ]
    real = call.graph.apart(call.add("MatMul", *operands))
    call.end("Mul", real, call.real("alpha", 1.0))


@rule("FusedGemm")
def _fused_gemm(call: Call) -> None:
    """Write a Gemm and the activation of its result."""
    attrs = call.attributes
    operands = [name for name in call.operands(2, 3) if name]
    activation = attrs.pop("activation", b"").decode()
    if activation not in _ACTIVATIONS:
        raise UnsupportedError(f"the activation {activation!r} is not imported")
    attrs |= {name: call.integer(name) for name in ("transA", "transB")}
    own = {key: attrs.pop(f"activation_{key}", None) for key in ("alpha", "beta", "gamma")}
    real = call.graph.apart(call.add("Gemm", *operands, **attrs))
    stated = {key: own[key] for key in _ACTIVATIONS[activation] if own[key] is not None}
    call.end(activation, real, **stated)


@rule("FusedConv")
def _fused_conv(call: Call) -> None:
    """Write a Conv, perhaps the sum with an addend, and the activation of the result."""
    *operands, addend = call.operands(2, 4)
    attrs = call.attributes
    activation = attrs.pop("activation", b"").decode()
    given = [float(each) for each in attrs.pop("activation_params", [])]
    names = ("min", "max") if activation == "Clip" else _ACTIVATIONS.get(activation)
    if names is None or len(given) not in (0, len(names)):
        text = f"the activation {activation!r} with {len(given)} parameters is not imported"
        raise UnsupportedError(text)
    products = call.add("Conv", *(name for name in operands if name), **attrs)
    real = call.graph.apart(products)
    if addend:
        real = call.add("Add", real, addend)
    if activation == "Clip":
        call.end("Clip", real, *given)
    else:
        call.end(activation, real, **dict(zip(names, given, strict=False)))


def _turned(graph: Graph, name: str) -> str:
    rank = graph.rank(name)
    if rank < _OF_MATRIX:
        raise UnsupportedError("of a matrix that is transposed the rank must be known")
    return graph.add("Transpose", name, perm=[*range(rank - 2), rank - 1, rank - 2])
