"""One operator on LiteRT's reference kernels: the oracle of the operators' arithmetic."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from frontends.tflite.quantization import Quantization
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
