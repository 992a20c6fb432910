"""Grows an ONNX graph from all the steps there are."""

# Importing them registers their steps.
from tests.differential.onnx import (  # noqa: F401
    elementwise,
    few_bits,
    layers,
    moves,
    odd_forms,
    reals,
    sequences,
)
from tests.differential.onnx.graphs import STEPS, Graph, Value

_SHAPES = "its kin compute shapes"
_OWN_TEST = "tests/frontends/onnx has a case"
_DYNAMIC = "it is quantized when it runs, and its result is float32"
NOT_DRAWN: dict[str, str] = {
    **dict.fromkeys(
        (
            *("And", "ConstantOfShape", "Equal", "Expand", "Not", "Or", "Range"),
            *("ScatterND", "Shape", "Size"),
        ),
        _SHAPES,
    ),
    **dict.fromkeys(
        (
            *("BiasGelu", "BitCast", "Celu", "FastGelu", "OneHot", "QuickGelu", "RMSNormalization"),
            *("Attention", "EmbedLayerNormalization", "GroupQueryAttention"),
            *("MultiHeadAttention", "QAttention", "MatMulInteger16"),
            *("FusedGemm", "FusedMatMul", "QEmbedLayerNormalization"),
            *("SimplifiedLayerNormalization", "SkipLayerNormalization"),
            "SkipSimplifiedLayerNormalization",
            *("ArgMax", "ArgMin", "Cos", "CumSum", "Einsum", "GatherElements", "GatherND", "Gelu"),
            *("GridSample", "GroupNormalization", "InstanceNormalization", "LRN", "LogSoftmax"),
            *("LayerNormalization", "Loop", "Mean", "Mish", "NhwcMaxPool", "Pow", "QLinearWhere"),
            *("Reciprocal", "ReduceL1", "ReduceL2", "ReduceProd", "ReduceSum", "ReduceSumSquare"),
            *("ScatterElements", "Selu", "Sin", "Softplus", "Softsign", "Split", "Sum"),
            *("ThresholdedRelu", "TopK", "Trilu"),
            *("Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Cosh", "Sinh", "Tan"),
            *("BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor", "Hardmax", "IsInf"),
            *("BitShift", "Col2Im", "CumProd", "DFT", "DeformConv", "Det", "EyeLike", "IsNaN"),
            *("GlobalLpPool", "LpNormalization", "LpPool", "ReduceLogSum", "ReduceLogSumExp"),
            *("DequantizeFloat8", "FusedConv", "MatMulBnb4", "QuantizeFloat8"),
            *("Compress", "NonMaxSuppression", "NonZero", "Unique"),
            *("Mod", "ReverseSequence", "RoiAlign", "STFT", "Scatter", "Xor"),
        ),
        _OWN_TEST,
    ),
    **dict.fromkeys(
        (
            *("ConvInteger", "DynamicQuantizeLSTM", "DynamicQuantizeLinear"),
            *("DynamicQuantizeMatMul", "MatMulInteger", "MatMulIntegerToFloat"),
        ),
        _DYNAMIC,
    ),
}
"""Operators of the importer that no step draws, and why."""

_LENGTHS = (1, 1, 2, 2, 3, 3, 4, 6)
_CHANNELS = (*range(1, 9), 16, 17, 31, 32, 33, 40, 64, 70)


def grow(graph: Graph) -> None:
    """Add one graph of one to six operators to a file."""
    graph.begin()
    value = _first(graph)
    length, before, tries = int(graph.choice(*_LENGTHS)), len(graph.values), 0
    while len(graph.values) - before < length and tries < 40:
        tries += 1
        # Not always from the newest tensor: some are read twice, and graphs have several ends.
        start = value if graph.chance(0.85) else graph.choice(*graph.values)
        if not start.shape:  # most steps need an axis
            start = graph.values[0]
        value = STEPS[int(graph.rng.integers(len(STEPS)))](graph, start) or value
    graph.end()


def _first(graph: Graph) -> Value:
    rng = graph.rng
    kind = rng.random()
    if kind < 0.75:
        height, width = (int(size) for size in rng.integers(1, 14, 2))
        shape = (graph.choice(1, 1, 1, 2, 3), graph.choice(*_CHANNELS), height, width)
        return graph.input(shape)
    if kind < 0.95:
        return graph.input((int(rng.integers(1, 5)), int(rng.integers(1, 130))))
    return graph.input(tuple(rng.integers(1, 9, 3)))
