"""Models of one operator, for every operator of LiteRT and every type of its tensors."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from frontends.tflite.quantization import Quantization
from tests.operators.example import IMAGE, Example

Make = Callable[[Example, str], None]


def _of(operands: Callable[[Example], list[int]], *results: Any, **options: Any) -> Make:
    """Return a builder of an operator.

    Args:
        operands: adds them.
        *results: shapes of results of the type of the tensors, or shape, type and quantization.
        **options: of the operator.
    """

    def make(example: Example, code: str) -> None:
        indices = operands(example)
        described = [each if str in map(type, each) else example.result(each) for each in results]
        example.operator(code, indices, *described, **options)

    return make


def _data(*shapes: Sequence[int], result: Sequence[int] = IMAGE, **options: Any) -> Make:
    """Return a builder of a function of tensors of those shapes."""
    return _of(lambda e: [e.data(shape) for shape in shapes], result, **options)


def _one(shape: Sequence[int] = IMAGE, **options: Any) -> Make:
    """Return a builder of a function of one tensor, whose result has its shape."""
    return _data(shape, result=shape, **options)


def _with(values: Any, result: Any, *more: Any, **options: Any) -> Make:
    """Return a builder of a function of a tensor and constants: axes, indices, sizes."""
    return _of(lambda e: [e.data(), *map(e.constant, (values, *more))], result, **options)


def _numbers(*values: Any, result: Any) -> Make:
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


def _rfft(example: Example, code: str) -> None:
    operands = [example.data((1, 4, 4)), example.constant([4, 4])]
    made = example.inside(example.operator(code, operands, ((1, 4, 3), "complex64", None)))
    example.version = None
    example.operator("COMPLEX_ABS", [made], ((1, 4, 3), "float32", None))


_CHOSEN = ((4,), "int32", None)
_COUNT = ((), "int32", None)
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
    **{code: _one(**_OPTIONS.get(code, {})) for code in _ONE},
    **dict.fromkeys(_TWO, _data(IMAGE, IMAGE)),
    **dict.fromkeys(_COMPARISONS, _of(lambda e: [e.data(), e.data()], (IMAGE, "bool", None))),
    **dict.fromkeys(_REDUCTIONS, _with([3], (1, 4, 4))),
    **dict.fromkeys(_POOLS, _data(IMAGE, result=(1, 2, 2, 4), padding="VALID", **_POOL)),
    **dict.fromkeys(("SELECT", "SELECT_V2"), _of(_select, IMAGE)),
    **dict.fromkeys(_RESIZES, _with([8, 8], (1, 8, 8, 4))),
    **dict.fromkeys(
        _SEGMENTS, _of(lambda e: [e.data((4, 3)), e.indices([2, 0, 1, 2]), e.constant(4)], (4, 3))
    ),
    "ADD_N": _data(IMAGE, IMAGE, IMAGE),
    **dict.fromkeys(
        ("ARG_MAX", "ARG_MIN"), _with(3, ((1, 4, 4), "int32", None), output_type="int32")
    ),
    "BATCH_MATMUL": _data((2, 3, 4), (2, 4, 5), result=(2, 3, 5)),
    "BATCH_TO_SPACE_ND": _with([1, 1], IMAGE, _BLOCKS),
    "BROADCAST_ARGS": _numbers([2, 1], [1, 3], result=(2,)),
    "BROADCAST_TO": _with([2, 4, 4, 4], (2, 4, 4, 4)),
    "BUCKETIZE": _of(lambda e: [e.data()], (IMAGE, "int32", None), boundaries=_LIMITS),
    "CAST": _conversion("int32"),
    "COMPLEX_ABS": _conversion("float32"),
    "CONCATENATION": _data(IMAGE, IMAGE, result=(1, 4, 4, 8), axis=3),
    "CONV_3D": _data(
        (1, 3, 3, 3, 2), (2, 2, 2, 2, 3), result=(1, 2, 2, 2, 3), padding="VALID", **_STRIDES_3D
    ),
    "CUMSUM": _with(3, IMAGE),
    "DEPTH_TO_SPACE": _one(block_size=2),
    "DEQUANTIZE": _conversion("float32"),
    "DILATE": _of(lambda e: [e.data((3, 3)), e.constant([2, 2]), _filling(e, ())], (5, 5)),
    "DYNAMIC_UPDATE_SLICE": _of(
        lambda e: [e.data((4, 5)), e.data((2, 3)), e.indices([1, 1])], (4, 5)
    ),
    "EMBEDDING_LOOKUP": _of(lambda e: [e.indices([2, 0]), e.data((4, 5))], (2, 5)),
    "EMBEDDING_LOOKUP_SPARSE": _of(_embedding_lookup_sparse, (2, 5), combiner="SUM"),
    "EXPAND_DIMS": _with(1, (1, 1, 4, 4, 4)),
    "FILL": _of(lambda e: [e.constant([2, 3]), e.data(())], (2, 3)),
    "GATHER": _of(lambda e: [e.data(), e.indices([1, 2])], (1, 2, 4, 4), axis=1),
    "GATHER_ND": _of(lambda e: [e.data(), e.indices([[0, 1], [0, 2]])], (2, 4, 4)),
    "HASHTABLE_LOOKUP": _of(
        lambda e: [e.indices([1, 4]), e.indices([1, 2, 4]), e.data((3, 2))],
        (2, 2),
        ((2,), "uint8", None),
    ),
    "IMAG": _conversion("float32"),
    "L2_NORMALIZATION": _scaled((1 / 128, 0), 2.0**-15),
    "LOGISTIC": _scaled((1 / 256, -128), 2.0**-15),
    "LOG_SOFTMAX": _scaled((1 / 16, 127), 2.0**-11),
    "MATRIX_DIAG": _one((2, 3)),
    "MATRIX_SET_DIAG": _data((2, 3, 4), (2, 3), result=(2, 3, 4)),
    "MIRROR_PAD": _with([[0, 0], [1, 1], [0, 1], [0, 0]], (1, 6, 5, 4)),
    "NON_MAX_SUPPRESSION_V4": _of(_detection, _CHOSEN, _COUNT),
    "NON_MAX_SUPPRESSION_V5": _of(
        lambda e: [*_detection(e), e.constant(np.float32(0))],
        _CHOSEN,
        ((4,), "float32", None),
        _COUNT,
    ),
    "ONE_HOT": _of(
        lambda e: [e.indices([1, 0, 2]), e.constant(3), e.data(()), e.data(())], (3, 3), axis=-1
    ),
    "PACK": _data(IMAGE, IMAGE, result=(2, *IMAGE), axis=0, values_count=2),
    "PAD": _with(_WIDTHS, (1, 6, 6, 4)),
    "PADV2": _of(lambda e: [e.data(), e.constant(_WIDTHS), _filling(e, (1,))], (1, 6, 6, 4)),
    "PRELU": _of(lambda e: [e.data(), _filling(e, (4,))], IMAGE),
    "QUANTIZE": _conversion("int8"),
    "RANGE": _numbers(0, 6, 2, result=(3,)),
    "RANK": _of(lambda e: [e.data()], ((), "int32", None)),
    "REAL": _conversion("float32"),
    "RESHAPE": _with([4, 16], (4, 16)),
    "REVERSE_SEQUENCE": _of(lambda e: [e.data((2, 4, 3)), e.indices([2, 3])], (2, 4, 3), seq_dim=1),
    "REVERSE_V2": _with([3], IMAGE),
    "RFFT2D": _rfft,
    "SCATTER_ND": _of(
        lambda e: [e.indices([[3], [1]]), e.data((2, 4)), e.constant([5, 4])], (5, 4)
    ),
    "SEGMENT_SUM": _of(lambda e: [e.data((4, 3)), e.constant([0, 0, 1, 2])], (3, 3)),
    "SHAPE": _of(lambda e: [e.data()], ((4,), "int32", None), out_type="int32"),
    "SLICE": _with([0, 0, 1, 1], (1, 4, 2, 2), [1, 4, 2, 2]),
    "SOFTMAX": _scaled((1 / 256, -128), 2.0**-15, beta=1.0),
    "SPACE_TO_BATCH_ND": _with([2, 2], (4, 2, 2, 4), _BLOCKS),
    "SPACE_TO_DEPTH": _one(block_size=2),
    "SPARSE_TO_DENSE": _of(
        lambda e: [e.indices([[0, 1], [2, 3]]), e.constant([4, 5]), e.data((2,)), e.data(())],
        (4, 5),
    ),
    "SPLIT": _of(lambda e: [e.constant(3), e.data()], (1, 4, 4, 2), (1, 4, 4, 2), num_splits=2),
    "SPLIT_V": _of(
        lambda e: [e.data(), e.constant([2, 2]), e.constant(3)],
        (1, 4, 4, 2),
        (1, 4, 4, 2),
        num_splits=2,
    ),
    "SQUEEZE": _data(IMAGE, result=(4, 4, 4), squeeze_dims=[0]),
    "STRIDED_SLICE": _with([0, 0, 0, 0], (1, 2, 4, 4), [1, 4, 4, 4], [1, 2, 1, 1]),
    "TANH": _scaled((1 / 128, 0), 2.0**-15),
    "TILE": _with([1, 2, 1, 1], (1, 8, 4, 4)),
    "TOPK_V2": _of(lambda e: [e.data((2, 8)), e.constant(3)], (2, 3), ((2, 3), "int32", None)),
    "TRANSPOSE": _with([0, 2, 1, 3], IMAGE),
    "UNIQUE": _of(lambda e: [e.data((8,))], (8,), ((8,), "int32", None)),
    "UNPACK": _of(lambda e: [e.data()], *[(1, 4, 4)] * 4, num=4, axis=3),
    "WHERE": _numbers([1, 0, 0, 1], result=((2, 1), "int64", None)),
}


CODES = tuple(sorted(_MAKE))


def example(code: str, dtype: str, version: int | None = None) -> Example:
    """Return a model of one operator on tensors of a type, with its inputs."""
    made = Example(dtype, version)
    _MAKE[code](made, code)
    return made
