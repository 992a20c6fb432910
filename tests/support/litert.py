"""One operator on LiteRT's reference kernels: the oracle of the operators' arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from frontends.tflite.quantization import Quantization
from frontends.tflite.writer import ModelWriter
from tvm_qnn.oracle import litert_tensors

Array = np.ndarray[Any, Any]
Quantized = tuple[Array, Quantization | None]


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
    writer = ModelWriter()
    operands = [
        writer.tensor(f"x{index}", array.shape, array.dtype.name, quantization)
        for index, (array, quantization) in enumerate(inputs)
    ]
    variables = list(operands)
    for index, constant in enumerate(constants):
        if constant is None:
            operands.append(-1)
            continue
        array, quantization = constant
        name = array.dtype.name
        operands.append(writer.tensor(f"c{index}", array.shape, name, quantization, array))
    shape, dtype, quantization = output
    result = writer.tensor("y", shape, dtype, quantization)
    writer.operator(code, operands, [result], **options)
    return writer.finish(variables, [result])


def litert(
    code: str,
    inputs: Sequence[Quantized],
    output: tuple[Sequence[int], str, Quantization | None],
    constants: Sequence[Quantized | None] = (),
    **options: Any,
) -> Array:
    """Run one operator on LiteRT's reference kernel; arguments as ``single_op``."""
    model = single_op(code, inputs, output, constants, **options)
    (result,) = litert_tensors(model, [array for array, _ in inputs]).values()
    return result
