"""One operator on LiteRT's reference kernels: the oracle of the operators' arithmetic."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from frontends.tflite.quantization import Quantization
from tests.support.arrays import full_range
from tests.support.encodings import encodings
from tests.support.tflite import ANY, Operand, fixed, given, one
from tvm_qnn.oracle import litert_tensors

Quantized = tuple[np.ndarray, Quantization | None]


def single_op(
    code: str,
    inputs: Sequence[Quantized],
    output: tuple[Sequence[int], str, Quantization | None],
    constants: Sequence[Quantized | None] = (),
    **options: Any,
) -> bytes:
    """Return a model of one operator: its operands are ``inputs``, then ``constants``.

    ``output`` is (shape, dtype, quantization); a constant that is None is absent.
    """
    operands: list[Operand | None] = [given(each, each.dtype.name, known) for each, known in inputs]
    for constant in constants:
        operands.append(constant and fixed(constant[0], constant[0].dtype.name, constant[1]))
    return one(code, *operands, gives=output, **options).model()


def litert(
    code: str,
    inputs: Sequence[Quantized],
    output: tuple[Sequence[int], str, Quantization | None],
    constants: Sequence[Quantized | None] = (),
    **options: Any,
) -> np.ndarray:
    """Run one operator on LiteRT's reference kernel; arguments as ``single_op``."""
    model = single_op(code, inputs, output, constants, **options)
    (result,) = litert_tensors(model, [array for array, _ in inputs]).values()
    return result


def weighted(
    code: str,
    data: np.ndarray,
    weights: np.ndarray,
    bias: np.ndarray,
    attrs: Mapping[str, Any],
    axis: int = 0,
    **options: Any,
) -> np.ndarray:
    """Run a layer with a bias on LiteRT's reference kernel.

    Args:
        code: its operator.
        data: int8 or uint8.
        weights: of data's dtype, as TFLite stores them.
        bias: int32, [channels].
        attrs: attributes of the dialect's operator, with all encodings.
        axis: of the weights; their scales lie along it.
        options: of the layer.
    """
    scales = np.atleast_1d(np.asarray(attrs["kernel_scale"], np.float32))
    zeros = np.zeros(scales.size, np.int64)
    known = Quantization(scales, zeros + attrs["kernel_zero_point"], axis)
    sums = Quantization(attrs["input_scale"] * scales, zeros)
    ends = [
        Quantization.per_tensor(attrs[f"{name}_scale"], attrs[f"{name}_zero_point"])
        for name in ("input", "output")
    ]
    result = (ANY, attrs["out_dtype"], ends[1])
    return litert(code, [(data, ends[0])], result, [(weights, known), (bias, sums)], **options)


Ends = tuple[float, int, float, int]
"""Scale and zero point of the data, and of the result."""


def random_ends(
    rng: np.random.Generator,
    dtype: str,
    out_dtype: str,
    span: tuple[float, float] = (-9, 4),
    out_span: tuple[float, float] | None = None,
) -> Ends:
    """Draw the encodings of a function's data and result; the spans are exponents of two.

    A third of the pairs of scales are powers of two, and a third have small whole quotients: both
    make ties frequent.
    """
    kind = rng.integers(3)
    exponents = np.array([rng.uniform(*span), rng.uniform(*(out_span or span))])
    scales = np.exp2(np.round(exponents) if kind == 0 else exponents)
    if kind == 1 and out_span is None:
        scales[1] = scales[0] * rng.integers(1, 20) / rng.integers(1, 20)
    first, second = map(float, scales.astype(np.float32))
    points = [full_range(rng, each, ()).item() for each in (dtype, out_dtype)]
    return first, points[0], second, points[1]


def check_function(
    actual: np.ndarray,
    code: str,
    data: np.ndarray,
    given: Quantization | None,
    made: Quantization | None,
    **options: Any,
) -> None:
    """Compare a result with LiteRT's, given the encodings of the data and of the result."""
    expected = litert(code, [(data, given)], (data.shape, str(actual.dtype), made), **options)
    np.testing.assert_array_equal(actual, expected)


def encoded(ends: Ends) -> tuple[Quantization, Quantization]:
    """Return the encodings of the data and of the result."""
    return Quantization.per_tensor(*ends[:2]), Quantization.per_tensor(*ends[2:])


def sharp_layers(
    dtype: str, count: int, span: tuple[float, float]
) -> Iterator[tuple[dict[str, Any], np.ndarray]]:
    """Yield layers of one weight a channel, of value 1, whose sums are within steps of a tie.

    The sums are about 1e8: fixed-point multipliers, products of scales rounded to float32, and one
    rounding or two give other results for some of them.

    Args:
        dtype: of data, weights and result; the zero points of data and result are its middle.
        count: of the scales: 1, or the number of channels.
        span: exponents of two of the scales.

    Yields:
        Attributes with all encodings, and the bias of 200 channels.
    """
    rng, channels = np.random.default_rng(2), 200
    point = 128 if dtype == "uint8" else 0
    for _ in range(10):
        exponents = rng.uniform(*span, 1 + count)
        # Powers of two make ties frequent.
        scales = np.exp2(np.round(exponents) if rng.integers(2) else exponents).astype(np.float32)
        data_scale, scales = float(scales[0]), scales[1:]
        out_scale = float(np.float32(1e6 * data_scale * scales.mean()))
        ties = rng.integers(-120, 120, channels) + 0.5
        bias = np.round(ties * out_scale / data_scale / scales.astype(float))
        kernel = scales.tolist() if count > 1 else float(scales[0])
        ends = {"input": (data_scale, point), "output": (out_scale, point)}
        attrs = encodings(**ends, kernel=(kernel, 0), out_dtype=dtype)
        yield attrs, (bias + rng.integers(-6, 7, channels)).astype(np.int32)
