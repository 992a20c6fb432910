"""A network of dense layers of uint8 that kernels for microcontrollers do not compute whole."""

import numpy as np

from frontends.tflite.quantization import Quantization
from tests.support.arrays import full_range
from tests.support.tflite import Sheet

_SIZE, _HUGE = 12, 2**30 + 2**21
# The zero point of the weights, whether each unit copies a value, the result's scale in that of
# the sums, and the bias of the first unit.
_LAYERS = (
    (7, False, 600.0, 300),  # weights that are no int8
    (7, True, 1 / 1.5, -4),  # a step of the sums is more than one of the result
    (128, True, 1 / 1.25, 0),  # those of a kernel's sums, too
    (128, False, 300.0, _HUGE),  # a bias that a kernel does not add
)


def dense_layers() -> bytes:
    """Return a model whose results vary."""
    sheet, scale = Sheet(1), 0.05
    x = sheet.random_input((1, _SIZE), "uint8", Quantization.per_tensor(scale, 128))
    for number, (point, copies, ratio, first) in enumerate(_LAYERS):
        drawn = full_range(sheet.rng, "uint8", (_SIZE, _SIZE))
        weights = (np.eye(_SIZE) + point).astype(np.uint8) if copies else drawn
        biases = np.array([first] + [0] * (_SIZE - 1), np.int32)
        scale *= 0.01
        operands = [
            x,
            sheet.constant(weights, Quantization.per_tensor(0.01, point)),
            sheet.constant(biases, Quantization.per_tensor(scale, 0)),
        ]
        scale *= ratio
        result = Quantization.per_tensor(scale, 128)
        x = sheet.operator("FULLY_CONNECTED", operands, ((1, _SIZE), "uint8", result))
        if number + 1 < len(_LAYERS):
            sheet.inside(x)
    return sheet.model()
