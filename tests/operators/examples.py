"""Models of one operator, for every operator of LiteRT and every type of its tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from frontends.tflite.quantization import Quantization
from tests.operators.example import IMAGE, Example

Make = Callable[[Example], None]


def _one(code: str, shape: Sequence[int] = IMAGE, **options: Any) -> Make:
    """Return a builder of a function of one tensor."""

    def make(example: Example) -> None:
        example.operator(code, [example.data(shape)], example.result(shape), **options)

    return make


def _scaled(code: str, int8: tuple[float, int], int16: float, **options: Any) -> Make:
    """Return a builder of a function whose result has its own scale and zero point."""

    def make(example: Example) -> None:
        scale, point = (int16, 0) if example.dtype == "int16" else int8
        result = example.result((2, 8), example.encoding(scale, point))
        example.operator(code, [example.data((2, 8))], result, **options)

    return make


def _two(code: str, dtype: str = "", **options: Any) -> Make:
    """Return a builder of a function of two tensors, with a result of another type or the same."""

    def make(example: Example) -> None:
        operands = [example.data(), example.data()]
        result = (IMAGE, dtype, None) if dtype else example.result()
        example.operator(code, operands, result, **options)

    return make


def _with(code: str, values: Any, shape: Sequence[int], *more: Any, **options: Any) -> Make:
    """Return a builder of a function of a tensor and constants: axes, indices, sizes."""

    def make(example: Example) -> None:
        operands = [example.data(), *map(example.constant, (values, *more))]
        example.operator(code, operands, example.result(shape), **options)

    return make


def _parts(code: str, count: int, *, first: bool = False, values: Sequence[Any] = ()) -> Make:
    def make(example: Example) -> None:
        operands = [example.data(), *map(example.constant, values)]
        results = [example.result((1, 4, 4, 4 // count))] * count
        example.operator(code, operands[::-1] if first else operands, *results, num_splits=count)

    return make


def _places(code: str, output_type: str) -> Make:
    def make(example: Example) -> None:
        operands = [example.data(), example.constant(3)]
        example.operator(code, operands, ((1, 4, 4), output_type, None), output_type=output_type)

    return make


def _conversion(code: str, dtype: str, **options: Any) -> Make:
    def make(example: Example) -> None:
        quantization = Quantization.per_tensor(0.05, 3) if dtype == "int8" else None
        data, result = example.data(), dtype
        if code == "CAST" and example.dtype == "int4":
            result = "float32"
        if code == "QUANTIZE" and example.dtype == "int32":
            data = example.input(example.numbers(IMAGE, "int32"), Quantization.per_tensor(0.1, 0))
        example.operator(code, [data], (IMAGE, result, quantization), **options)

    return make


def _gather(code: str) -> Make:
    def make(example: Example) -> None:
        options = {"axis": 1} if code == "GATHER" else {}
        places = [1, 2] if code == "GATHER" else [[0, 1], [0, 2]]
        shape = (1, 2, 4, 4) if code == "GATHER" else (2, 4, 4)
        operands = [example.data(), example.indices(places)]
        example.operator(code, operands, example.result(shape), **options)

    return make


def _select(code: str) -> Make:
    def make(example: Example) -> None:
        condition = example.input(np.arange(64).reshape(IMAGE) % 2 == 0)
        operands = [condition, example.data(), example.data()]
        example.operator(code, operands, example.result())

    return make


def _several(code: str, count: int, shape: Sequence[int], **options: Any) -> Make:
    def make(example: Example) -> None:
        operands = [example.data() for _ in range(count)]
        example.operator(code, operands, example.result(shape), **options)

    return make


def _unpack(example: Example) -> None:
    results = [example.result((1, 4, 4))] * 4
    example.operator("UNPACK", [example.data()], *results, num=4, axis=3)


def _fill(example: Example) -> None:
    example.operator("FILL", [example.constant([2, 3]), example.data(())], example.result((2, 3)))


def _one_hot(example: Example) -> None:
    ends = [example.data(()) for _ in range(2)]
    operands = [example.indices([1, 0, 2]), example.constant(3), *ends]
    example.operator("ONE_HOT", operands, example.result((3, 3)), axis=-1)


def _top_k(example: Example) -> None:
    operands = [example.data((2, 8)), example.constant(3)]
    example.operator("TOPK_V2", operands, example.result((2, 3)), ((2, 3), "int32", None))


def _embedding_lookup(example: Example) -> None:
    operands = [example.indices([2, 0]), example.data((4, 5))]
    example.operator("EMBEDDING_LOOKUP", operands, example.result((2, 5)))


def _embedding_lookup_sparse(example: Example) -> None:
    places = [example.indices([1, 3]), example.indices([[0, 0], [1, 0]]), example.constant([2, 1])]
    weights = example.input(np.ones(2, np.float32))
    operands = [*places, weights, example.data((4, 5))]
    example.operator("EMBEDDING_LOOKUP_SPARSE", operands, example.result((2, 5)), combiner="SUM")


def _hashtable_lookup(example: Example) -> None:
    operands = [example.indices([1, 4]), example.indices([1, 2, 4]), example.data((3, 2))]
    hits = ((2,), "uint8", None)
    example.operator("HASHTABLE_LOOKUP", operands, example.result((2, 2)), hits)


def _padded(example: Example) -> None:
    widths = example.constant([[0, 0], [1, 1], [0, 2], [0, 0]])
    filling = example.bias(example.numbers((1,), example.dtype), example.encoding())
    example.operator("PADV2", [example.data(), widths, filling], example.result((1, 6, 6, 4)))


def _prelu(example: Example) -> None:
    slopes = example.bias(example.numbers((4,), example.dtype), example.encoding())
    example.operator("PRELU", [example.data(), slopes], example.result())


def _batch_matmul(example: Example) -> None:
    operands = [example.data((2, 3, 4)), example.data((2, 4, 5))]
    example.operator("BATCH_MATMUL", operands, example.result((2, 3, 5)))


def _range(example: Example) -> None:
    ends = [example.bias(np.asarray(value, example.dtype)) for value in (0, 6, 2)]
    example.operator("RANGE", ends, example.result((3,)))


def _shape(code: str, shape: Sequence[int], **options: Any) -> Make:
    def make(example: Example) -> None:
        example.operator(code, [example.data()], (tuple(shape), "int32", None), **options)

    return make


def _broadcast_args(example: Example) -> None:
    ends = [example.bias(np.asarray(value, example.dtype)) for value in ([2, 1], [1, 3])]
    example.operator("BROADCAST_ARGS", ends, example.result((2,)))


def _unique(example: Example) -> None:
    places = ((8,), "int32", None)
    example.operator("UNIQUE", [example.data((8,))], example.result((8,)), places)


def _where(example: Example) -> None:
    values = example.bias(np.asarray([1, 0, 0, 1], example.dtype))
    example.operator("WHERE", [values], ((2, 1), "int64", None))


def _reverse_sequence(example: Example) -> None:
    operands = [example.data((2, 4, 3)), example.indices([2, 3])]
    example.operator("REVERSE_SEQUENCE", operands, example.result((2, 4, 3)), seq_dim=1)


def _scatter_nd(example: Example) -> None:
    operands = [example.indices([[3], [1]]), example.data((2, 4)), example.constant([5, 4])]
    example.operator("SCATTER_ND", operands, example.result((5, 4)))


def _sparse_to_dense(example: Example) -> None:
    places = example.indices([[0, 1], [2, 3]])
    operands = [places, example.constant([4, 5]), example.data((2,)), example.data(())]
    example.operator("SPARSE_TO_DENSE", operands, example.result((4, 5)))


def _segment_sum(example: Example) -> None:
    operands = [example.data((4, 3)), example.constant([0, 0, 1, 2])]
    example.operator("SEGMENT_SUM", operands, example.result((3, 3)))


def _unsorted_segment(code: str) -> Make:
    def make(example: Example) -> None:
        operands = [example.data((4, 3)), example.indices([2, 0, 1, 2]), example.constant(4)]
        example.operator(code, operands, example.result((4, 3)))

    return make


def _matrix_set_diag(example: Example) -> None:
    operands = [example.data((2, 3, 4)), example.data((2, 3))]
    example.operator("MATRIX_SET_DIAG", operands, example.result((2, 3, 4)))


def _dynamic_update_slice(example: Example) -> None:
    operands = [example.data((4, 5)), example.data((2, 3)), example.indices([1, 1])]
    example.operator("DYNAMIC_UPDATE_SLICE", operands, example.result((4, 5)))


def _bucketize(example: Example) -> None:
    limits = np.array([0.5, 10, 100], np.float32)
    example.operator("BUCKETIZE", [example.data()], (IMAGE, "int32", None), boundaries=limits)


def _rfft(example: Example) -> None:
    operands = [example.data((1, 4, 4)), example.constant([4, 4])]
    made = example.inside(example.operator("RFFT2D", operands, ((1, 4, 3), "complex64", None)))
    example.version = None
    example.operator("COMPLEX_ABS", [made], ((1, 4, 3), "float32", None))


def _conv_3d(example: Example) -> None:
    operands = [example.data((1, 3, 3, 3, 2)), example.data((2, 2, 2, 2, 3))]
    strides = dict.fromkeys(("stride_d", "stride_h", "stride_w"), 1)
    result = example.result((1, 2, 2, 2, 3))
    example.operator("CONV_3D", operands, result, padding="VALID", **strides)


def _dilate(example: Example) -> None:
    filling = example.bias(example.numbers((), example.dtype), example.encoding())
    operands = [example.data((3, 3)), example.constant([2, 2]), filling]
    example.operator("DILATE", operands, example.result((5, 5)))


def _detection(code: str) -> Make:
    def make(example: Example) -> None:
        boxes = example.input(np.random.default_rng(0).random((6, 4)).astype(np.float32))
        numbers = [example.constant(np.float32(each)) for each in (0.5, 0.4)]
        operands = [boxes, example.data((6,)), example.constant(4), *numbers]
        results = [((4,), "int32", None), ((), "int32", None)]
        if code.endswith("5"):
            operands.append(example.constant(np.float32(0)))
            results.insert(1, ((4,), "float32", None))
        example.operator(code, operands, *results)

    return make


_WINDOW = {
    "padding": "VALID",
    "stride_h": 2,
    "stride_w": 2,
    "filter_height": 2,
    "filter_width": 2,
}


def _pool(code: str) -> Make:
    def make(example: Example) -> None:
        example.operator(code, [example.data()], example.result((1, 2, 2, 4)), **_WINDOW)

    return make


_RESULTS: dict[str, Make] = {
    **{code: _scaled(code, (1 / 256, -128), 2.0**-15) for code in ("LOGISTIC",)},
    "SOFTMAX": _scaled("SOFTMAX", (1 / 256, -128), 2.0**-15, beta=1.0),
    "LOG_SOFTMAX": _scaled("LOG_SOFTMAX", (1 / 16, 127), 2.0**-11),
    "TANH": _scaled("TANH", (1 / 128, 0), 2.0**-15),
    "L2_NORMALIZATION": _scaled("L2_NORMALIZATION", (1 / 128, 0), 2.0**-15),
}
_OPTIONS: dict[str, dict[str, Any]] = {
    "LEAKY_RELU": {"alpha": 0.1},
    "LOCAL_RESPONSE_NORMALIZATION": {"radius": 1, "bias": 1.0, "alpha": 1.0, "beta": 0.5},
}
_ONE = (
    *("ABS", "CEIL", "COS", "ELU", "EXP", "FLOOR", "GELU", "HARD_SWISH"),
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
_BLOCKS = [[0, 0], [0, 0]]

_MAKE: dict[str, Make] = {
    **_RESULTS,
    **{code: _one(code, **_OPTIONS.get(code, {})) for code in _ONE},
    **{code: _two(code) for code in _TWO},
    **{code: _two(code, "bool") for code in _COMPARISONS},
    **{code: _with(code, [3], (1, 4, 4)) for code in _REDUCTIONS},
    **{code: _pool(code) for code in ("AVERAGE_POOL_2D", "L2_POOL_2D", "MAX_POOL_2D")},
    **{code: _gather(code) for code in ("GATHER", "GATHER_ND")},
    **{code: _select(code) for code in ("SELECT", "SELECT_V2")},
    **{
        code: _with(code, [8, 8], (1, 8, 8, 4))
        for code in ("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR")
    },
    **{
        f"UNSORTED_SEGMENT_{name}": _unsorted_segment(f"UNSORTED_SEGMENT_{name}")
        for name in ("MAX", "MIN", "PROD", "SUM")
    },
    **{f"NON_MAX_SUPPRESSION_V{n}": _detection(f"NON_MAX_SUPPRESSION_V{n}") for n in (4, 5)},
    "ADD_N": _several("ADD_N", 3, IMAGE),
    "ARG_MAX": _places("ARG_MAX", "int32"),
    "ARG_MIN": _places("ARG_MIN", "int32"),
    "BATCH_MATMUL": _batch_matmul,
    "BATCH_TO_SPACE_ND": _with("BATCH_TO_SPACE_ND", [1, 1], IMAGE, _BLOCKS),
    "BITCAST": _one("BITCAST"),
    "BROADCAST_ARGS": _broadcast_args,
    "BROADCAST_TO": _with("BROADCAST_TO", [2, 4, 4, 4], (2, 4, 4, 4)),
    "BUCKETIZE": _bucketize,
    "CAST": _conversion("CAST", "int32"),
    "COMPLEX_ABS": _conversion("COMPLEX_ABS", "float32"),
    "CONCATENATION": _several("CONCATENATION", 2, (1, 4, 4, 8), axis=3),
    "CONV_3D": _conv_3d,
    "CUMSUM": _with("CUMSUM", 3, IMAGE),
    "DEPTH_TO_SPACE": _one("DEPTH_TO_SPACE", block_size=2),
    "DEQUANTIZE": _conversion("DEQUANTIZE", "float32"),
    "DILATE": _dilate,
    "DYNAMIC_UPDATE_SLICE": _dynamic_update_slice,
    "EMBEDDING_LOOKUP": _embedding_lookup,
    "EMBEDDING_LOOKUP_SPARSE": _embedding_lookup_sparse,
    "EXPAND_DIMS": _with("EXPAND_DIMS", 1, (1, 1, 4, 4, 4)),
    "FILL": _fill,
    "HASHTABLE_LOOKUP": _hashtable_lookup,
    "IMAG": _conversion("IMAG", "float32"),
    "MATRIX_DIAG": _one("MATRIX_DIAG", (2, 3)),
    "MATRIX_SET_DIAG": _matrix_set_diag,
    "MIRROR_PAD": _with("MIRROR_PAD", [[0, 0], [1, 1], [0, 1], [0, 0]], (1, 6, 5, 4)),
    "ONE_HOT": _one_hot,
    "PACK": _several("PACK", 2, (2, *IMAGE), axis=0, values_count=2),
    "PAD": _with("PAD", [[0, 0], [1, 1], [0, 2], [0, 0]], (1, 6, 6, 4)),
    "PADV2": _padded,
    "PRELU": _prelu,
    "QUANTIZE": _conversion("QUANTIZE", "int8"),
    "RANGE": _range,
    "RANK": _shape("RANK", ()),
    "REAL": _conversion("REAL", "float32"),
    "RESHAPE": _with("RESHAPE", [4, 16], (4, 16)),
    "REVERSE_SEQUENCE": _reverse_sequence,
    "REVERSE_V2": _with("REVERSE_V2", [3], IMAGE),
    "RFFT2D": _rfft,
    "SCATTER_ND": _scatter_nd,
    "SEGMENT_SUM": _segment_sum,
    "SHAPE": _shape("SHAPE", (4,), out_type="int32"),
    "SLICE": _with("SLICE", [0, 0, 1, 1], (1, 4, 2, 2), [1, 4, 2, 2]),
    "SPACE_TO_BATCH_ND": _with("SPACE_TO_BATCH_ND", [2, 2], (4, 2, 2, 4), _BLOCKS),
    "SPACE_TO_DEPTH": _one("SPACE_TO_DEPTH", block_size=2),
    "SPARSE_TO_DENSE": _sparse_to_dense,
    "SPLIT": _parts("SPLIT", 2, first=True, values=[3]),
    "SPLIT_V": _parts("SPLIT_V", 2, values=[[2, 2], 3]),
    "SQUEEZE": _one("SQUEEZE"),
    "STRIDED_SLICE": _with("STRIDED_SLICE", [0, 0, 0, 0], (1, 2, 4, 4), [1, 4, 4, 4], [1, 2, 1, 1]),
    "TILE": _with("TILE", [1, 2, 1, 1], (1, 8, 4, 4)),
    "TOPK_V2": _top_k,
    "TRANSPOSE": _with("TRANSPOSE", [0, 2, 1, 3], IMAGE),
    "UNIQUE": _unique,
    "UNPACK": _unpack,
    "WHERE": _where,
}


CODES = tuple(sorted(_MAKE))


def example(code: str, dtype: str, version: int | None = None) -> Example:
    """Return a model of one operator on tensors of a type, with its inputs."""
    made = Example(dtype, version)
    _MAKE[code](made)
    return made
