"""Models of one operator, for every operator of LiteRT and every type of its tensors."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from frontends.tflite.quantization import Quantization
from tests.operators.example import IMAGE, Example
from tests.support.tflite import ANY

Make = Callable[[Example, str], None]


def _of(operands: Callable[[Example], list[int]], *results: str, **options: Any) -> Make:
    """Return a builder of an operator.

    Args:
        operands: adds them.
        *results: types of results, "" for that of the tensors; LiteRT works out their shapes.
        **options: of the operator.
    """

    def make(example: Example, code: str) -> None:
        indices = operands(example)
        made = [(ANY, each, None) if each else example.result(ANY) for each in results or ("",)]
        example.operator(code, indices, *made, **options)

    return make


def _data(*shapes: Sequence[int], **options: Any) -> Make:
    """Return a builder of a function of tensors of those shapes."""
    return _of(lambda e: [e.data(shape) for shape in shapes], **options)


def _with(*values: Any, result: str = "", **options: Any) -> Make:
    """Return a builder of a function of a tensor and constants: axes, indices, sizes."""
    return _of(lambda e: [e.data(), *map(e.constant, values)], result, **options)


def _numbers(*values: Any, result: str = "") -> Make:
    """Return a builder of a function of constants of the type of the tensors."""
    return _of(lambda e: [e.bias(np.asarray(each, e.dtype)) for each in values], result)


def _scaled(int8: tuple[float, int], int16: float, **options: Any) -> Make:
    """Return a builder of a function whose result has its own scale and zero point."""

    def make(example: Example, code: str) -> None:
        scale, point = (int16, 0) if example.dtype == "int16" else int8
        result = example.result((2, 8), example.encoding(scale, point))
        example.operator(code, [example.data((2, 8))], result, **options)

    return make


def _conversion(dtype: str) -> Make:
    """Return a builder of a function of one tensor to another type."""

    def make(example: Example, code: str) -> None:
        quantization = Quantization.per_tensor(0.05, 3) if dtype == "int8" else None
        data, result = example.data(), dtype
        if code == "CAST" and example.dtype == "int4":
            result = "float32"
        if code == "QUANTIZE" and example.dtype == "int32":
            data = example.input(example.numbers(IMAGE, "int32"), Quantization.per_tensor(0.1, 0))
        example.operator(code, [data], (IMAGE, result, quantization))

    return make


def _filling(example: Example, shape: Sequence[int]) -> int:
    return example.bias(example.numbers(shape, example.dtype), example.encoding())


def _select(example: Example) -> list[int]:
    condition = example.input(np.arange(64).reshape(IMAGE) % 2 == 0)
    return [condition, example.data(), example.data()]


def _embedding_lookup_sparse(example: Example) -> list[int]:
    places = [example.indices([1, 3]), example.indices([[0, 0], [1, 0]]), example.constant([2, 1])]
    return [*places, example.input(np.ones(2, np.float32)), example.data((4, 5))]


def _detection(example: Example) -> list[int]:
    boxes = example.input(np.random.default_rng(0).random((6, 4)).astype(np.float32))
    numbers = [example.constant(np.float32(each)) for each in (0.5, 0.4)]
    return [boxes, example.data((6,)), example.constant(4), *numbers]


def _slice(example: Example, code: str) -> None:
    operands = [example.data(), example.constant([0, 0, 1, 1]), example.constant([1, 4, 2, 2])]
    example.operator(code, operands, example.result((1, 4, 2, 2)))  # which LiteRT checks


def _rfft(example: Example, code: str) -> None:
    operands = [example.data((1, 4, 4)), example.constant([4, 4])]
    made = example.inside(example.operator(code, operands, ((1, 4, 3), "complex64", None)))
    example.version = None
    example.operator("COMPLEX_ABS", [made], ((1, 4, 3), "float32", None))


_OPTIONS: dict[str, dict[str, Any]] = {
    "LEAKY_RELU": {"alpha": 0.1},
    "LOCAL_RESPONSE_NORMALIZATION": {"radius": 1, "bias": 1.0, "alpha": 1.0, "beta": 0.5},
}
_ONE = (
    *("ABS", "BITCAST", "CEIL", "COS", "ELU", "EXP", "FLOOR", "GELU", "HARD_SWISH"),
    *("LEAKY_RELU", "LOCAL_RESPONSE_NORMALIZATION", "LOG", "LOGICAL_NOT", "NEG", "RELU", "RELU6"),
    *("RELU_0_TO_1", "RELU_N1_TO_1", "ROUND", "RSQRT", "SIGN", "SIN", "SQRT", "SQUARE"),
    "ZEROS_LIKE",
)
_TWO = (
    *("ADD", "ATAN2", "BITWISE_XOR", "DIV", "FLOOR_DIV", "FLOOR_MOD", "LOGICAL_AND", "LOGICAL_OR"),
    *("MAXIMUM", "MINIMUM", "MUL", "POW", "RIGHT_SHIFT", "SQUARED_DIFFERENCE", "SUB"),
    *(
        f"STABLEHLO_{name}"
        for name in ("ADD", "AND", "MAXIMUM", "MINIMUM", "MULTIPLY", "SHIFT_LEFT")
    ),
)
_COMPARISONS = ("EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL", "NOT_EQUAL")
_REDUCTIONS = (
    *("MEAN", "REDUCE_ALL", "REDUCE_ANY", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD", "SUM"),
)
_POOLS = ("AVERAGE_POOL_2D", "L2_POOL_2D", "MAX_POOL_2D")
_RESIZES = ("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR")
_SEGMENTS = tuple(f"UNSORTED_SEGMENT_{name}" for name in ("MAX", "MIN", "PROD", "SUM"))
_POOL = dict.fromkeys(("stride_h", "stride_w", "filter_height", "filter_width"), 2)
_STRIDES_3D = dict.fromkeys(("stride_d", "stride_h", "stride_w"), 1)
_LIMITS = np.array([0.5, 10, 100], np.float32)
_BLOCKS = [[0, 0], [0, 0]]
_WIDTHS = [[0, 0], [1, 1], [0, 2], [0, 0]]

_MAKE: dict[str, Make] = {
    **{code: _data(IMAGE, **_OPTIONS.get(code, {})) for code in _ONE},
    **dict.fromkeys(_TWO, _data(IMAGE, IMAGE)),
    **dict.fromkeys(_COMPARISONS, _of(lambda e: [e.data(), e.data()], "bool")),
    **dict.fromkeys(_REDUCTIONS, _with([3])),
    **dict.fromkeys(_POOLS, _data(IMAGE, padding="VALID", **_POOL)),
    **dict.fromkeys(("SELECT", "SELECT_V2"), _of(_select)),
    **dict.fromkeys(_RESIZES, _with([8, 8])),
    **dict.fromkeys(
        _SEGMENTS, _of(lambda e: [e.data((4, 3)), e.indices([2, 0, 1, 2]), e.constant(4)])
    ),
    "ADD_N": _data(IMAGE, IMAGE, IMAGE),
    **dict.fromkeys(("ARG_MAX", "ARG_MIN"), _with(3, result="int32", output_type="int32")),
    "BATCH_MATMUL": _data((2, 3, 4), (2, 4, 5)),
    "BATCH_TO_SPACE_ND": _with([1, 1], _BLOCKS),
    "BROADCAST_ARGS": _numbers([2, 1], [1, 3]),
    "BROADCAST_TO": _with([2, 4, 4, 4]),
    "BUCKETIZE": _with(result="int32", boundaries=_LIMITS),
    "CAST": _conversion("int32"),
    "COMPLEX_ABS": _conversion("float32"),
    "CONCATENATION": _data(IMAGE, IMAGE, axis=3),
    "CONV_3D": _data((1, 3, 3, 3, 2), (2, 2, 2, 2, 3), padding="VALID", **_STRIDES_3D),
    "CUMSUM": _with(3),
    "DEPTH_TO_SPACE": _data(IMAGE, block_size=2),
    "DEQUANTIZE": _conversion("float32"),
    "DILATE": _of(lambda e: [e.data((3, 3)), e.constant([2, 2]), _filling(e, ())]),
    "DYNAMIC_UPDATE_SLICE": _of(lambda e: [e.data((4, 5)), e.data((2, 3)), e.indices([1, 1])]),
    "EMBEDDING_LOOKUP": _of(lambda e: [e.indices([2, 0]), e.data((4, 5))]),
    "EMBEDDING_LOOKUP_SPARSE": _of(_embedding_lookup_sparse, combiner="SUM"),
    "EXPAND_DIMS": _with(1),
    "FILL": _of(lambda e: [e.constant([2, 3]), e.data(())]),
    "GATHER": _of(lambda e: [e.data(), e.indices([1, 2])], axis=1),
    "GATHER_ND": _of(lambda e: [e.data(), e.indices([[0, 1], [0, 2]])]),
    "HASHTABLE_LOOKUP": _of(
        lambda e: [e.indices([1, 4]), e.indices([1, 2, 4]), e.data((3, 2))], "", "uint8"
    ),
    "IMAG": _conversion("float32"),
    "L2_NORMALIZATION": _scaled((1 / 128, 0), 2.0**-15),
    "LOGISTIC": _scaled((1 / 256, -128), 2.0**-15),
    "LOG_SOFTMAX": _scaled((1 / 16, 127), 2.0**-11),
    "MATRIX_DIAG": _data((2, 3)),
    "MATRIX_SET_DIAG": _data((2, 3, 4), (2, 3)),
    "MIRROR_PAD": _with([[0, 0], [1, 1], [0, 1], [0, 0]]),
    "NON_MAX_SUPPRESSION_V4": _of(_detection, "int32", "int32"),
    "NON_MAX_SUPPRESSION_V5": _of(
        lambda e: [*_detection(e), e.constant(np.float32(0))], "int32", "float32", "int32"
    ),
    "ONE_HOT": _of(
        lambda e: [e.indices([1, 0, 2]), e.constant(3), e.data(()), e.data(())], axis=-1
    ),
    "PACK": _data(IMAGE, IMAGE, axis=0, values_count=2),
    "PAD": _with(_WIDTHS),
    "PADV2": _of(lambda e: [e.data(), e.constant(_WIDTHS), _filling(e, (1,))]),
    "PRELU": _of(lambda e: [e.data(), _filling(e, (4,))]),
    "QUANTIZE": _conversion("int8"),
    "RANGE": _numbers(0, 6, 2),
    "RANK": _with(result="int32"),
    "REAL": _conversion("float32"),
    "RESHAPE": _with([4, 16]),
    "REVERSE_SEQUENCE": _of(lambda e: [e.data((2, 4, 3)), e.indices([2, 3])], seq_dim=1),
    "REVERSE_V2": _with([3]),
    "RFFT2D": _rfft,
    "SCATTER_ND": _of(lambda e: [e.indices([[3], [1]]), e.data((2, 4)), e.constant([5, 4])]),
    "SEGMENT_SUM": _of(lambda e: [e.data((4, 3)), e.constant([0, 0, 1, 2])]),
    "SHAPE": _with(result="int32", out_type="int32"),
    "SLICE": _slice,
    "SOFTMAX": _scaled((1 / 256, -128), 2.0**-15, beta=1.0),
    "SPACE_TO_BATCH_ND": _with([2, 2], _BLOCKS),
    "SPACE_TO_DEPTH": _data(IMAGE, block_size=2),
    "SPARSE_TO_DENSE": _of(
        lambda e: [e.indices([[0, 1], [2, 3]]), e.constant([4, 5]), e.data((2,)), e.data(())]
    ),
    "SPLIT": _of(lambda e: [e.constant(3), e.data()], "", "", num_splits=2),
    "SPLIT_V": _of(lambda e: [e.data(), e.constant([2, 2]), e.constant(3)], "", "", num_splits=2),
    "SQUEEZE": _data(IMAGE, squeeze_dims=[0]),
    "STRIDED_SLICE": _with([0, 0, 0, 0], [1, 4, 4, 4], [1, 2, 1, 1]),
    "TANH": _scaled((1 / 128, 0), 2.0**-15),
    "TILE": _with([1, 2, 1, 1]),
    "TOPK_V2": _of(lambda e: [e.data((2, 8)), e.constant(3)], "", "int32"),
    "TRANSPOSE": _with([0, 2, 1, 3]),
    "UNIQUE": _of(lambda e: [e.data((8,))], "", "int32"),
    "UNPACK": _of(lambda e: [e.data()], *[""] * 4, num=4, axis=3),
    "WHERE": _numbers([1, 0, 0, 1], result="int64"),
}


CODES = tuple(sorted(_MAKE))


def example(code: str, dtype: str, version: int | None = None) -> Example:
    """Return a model of one operator on tensors of a type, with its inputs."""
    made = Example(dtype, version)
    _MAKE[code](made, code)
    return made
