"""One operator on LiteRT's reference kernels: the oracle of the operators' arithmetic."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from frontends.tflite.quantization import Quantization
from tests.support.tflite import Operand, fixed, given, one
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
