"""ONNX Runtime's own normalizations and forms of Gelu, as standard nodes."""

from functools import partial, reduce

import numpy as np

from frontends.errors import UnsupportedError
from frontends.onnx.read.standard import INT32
from frontends.onnx.replacements.quantized import dequantized
from frontends.onnx.replacements.registry import Call, rule

_SLOPE = 1.702
"""The default slope of a QuickGelu."""
_EPSILON = float(np.float32(1e-12))
"""The default epsilon of a normalization with a sum before it."""
_SUM = 3
"""The index of the sum among the results of an operator with a residual."""


@rule("Gelu")
def _gelu(call: Call) -> None:
    """Write a Gelu of either domain."""
    (data,) = call.inputs
    call.end("Gelu", data, **call.attributes)


@rule("BiasGelu", "FastGelu")
def _biased_gelu(call: Call) -> None:
    """Write a sum and its Gelu; a FastGelu uses a hyperbolic tangent, and may lack a bias."""
    is_fast = call.node.op_type == "FastGelu"
    data, bias = call.operands(1 if is_fast else 2, 2)
    if bias:
        if bias in call.graph.constants and len(call.graph.shape(bias)) != 1:
            raise UnsupportedError("the bias must have one axis")
        data = call.add("Add", data, bias)
    call.end("Gelu", data, approximate="tanh" if is_fast else "none")


@rule("QuickGelu")
def _quick_gelu(call: Call) -> None:
    """Write the product of the data and the Sigmoid of a multiple of the data."""
    (data,), slope = call.inputs, call.real("alpha", _SLOPE)
    scaled = data if slope == 1 else call.add("Mul", data, slope)
    call.end("Mul", data, call.add("Sigmoid", scaled))


_AFTER_SUM = {
    "SkipLayerNormalization": ("LayerNormalization", 5, "welford"),
    "SkipSimplifiedLayerNormalization": ("RMSNormalization", 4, "squares"),
}
"""By name: the normalization, the most operands, and the order of its sums."""


@rule(*_AFTER_SUM)
def _after_sum(call: Call) -> None:
    """Write a sum and its normalization."""
    op, most, order = _AFTER_SUM[call.node.op_type]
    data, skip, *parameters, bias = call.operands(3, most)
    _check_results(call, (0, _SUM))
    total = _sum(call, [name for name in (data, skip, bias) if name], call.result(_SUM))
    _normalized(call, op, [total, *filter(None, parameters)], order)


@rule("SimplifiedLayerNormalization")
def _simplified(call: Call) -> None:
    """Write an RMSNormalization."""
    data, scale = call.inputs
    _check_results(call, (0,))
    call.end("RMSNormalization", data, scale, **call.attributes)


@rule("EmbedLayerNormalization", "QEmbedLayerNormalization")
def _embedded(call: Call) -> None:
    """Write the sum of rows of tables, its LayerNormalization, and the count of unmasked tokens.

    Tables, scale and offset may be bytes.
    """
    operands = call.operands(*((18, 18) if call.node.op_type.startswith("Q") else (7, 9)))
    ids, segments, words, positional, kinds, scale, offset, mask = operands[:8]
    encodings = [*zip(operands[8:13], operands[13:], strict=False)]
    positions = "" if encodings else operands[8]

    def real(data: str, index: int) -> str:
        return dequantized(call.graph, data, *encodings[index]) if encodings else data

    parts = [real(_rows(call, words, ids, "words"), 0)]
    parts.append(real(_placed(call, positional, positions, ids), 1))
    if segments:
        parts.append(real(_rows(call, kinds, segments, "kinds"), 2))
    parameters = [real(scale, 3), real(offset, 4)]
    total = _sum(call, parts, call.result(2))
    _normalized(call, "LayerNormalization", [total, *parameters], "two_passes")
    _count(call, mask, ids)


def _rows(call: Call, table: str, indices: str, name: str) -> str:
    return call.add("Gather", table, indices, output=call.graph.part(name), axis=0)


def _check_results(call: Call, known: tuple[int, ...]) -> None:
    if any(name for index, name in enumerate(call.node.output) if index not in known):
        raise UnsupportedError("mean and deviation as results are not imported")


def _sum(call: Call, operands: list[str], output: str) -> str:
    """Add up two or more operands from left to right; ``output`` names the result if not empty."""
    *others, last = operands
    return call.add("Add", reduce(partial(call.add, "Add"), others), last, output=output)


def _normalized(call: Call, op: str, operands: list[str], order: str) -> None:
    call.end(op, *operands, axis=-1, epsilon=call.real("epsilon", _EPSILON), order=order)


def _placed(call: Call, table: str, positions: str, ids: str) -> str:
    """Return the rows of a table at stated positions, or the first rows, one for each token."""
    if positions:
        return _rows(call, table, positions, "rows")
    tokens = call.add("Slice", call.add("Shape", ids), [1], [2], [0])
    return call.add("Slice", table, [0], tokens, [0])


def _count(call: Call, mask: str, ids: str) -> None:
    """Write how many tokens of each sentence have the mask 1; without a mask the count is 0."""
    graph, output = call.graph, call.result(1)
    if not output:
        return
    one = np.array(1, np.int32)
    is_seen = graph.add("Equal", mask, one) if mask else graph.add("Less", ids, ids)
    seen = graph.add("Cast", is_seen, to=INT32)
    graph.along("ReduceSum", seen, [1], output, keepdims=0)
    graph.ranks = {**graph.ranks, output: 1}
