"""Models of one layer, to time single layers."""

from collections.abc import Callable

import numpy as np

from frontends.tflite.quantization import Quantization
from frontends.tflite.writer import ModelWriter
from qnn_ops.errors import QnnError


def _hybrid_dense(rows: int, inputs: int, units: int) -> bytes:
    """Return a FULLY_CONNECTED of float32 data and int8 weights from a seed."""
    rng, writer = np.random.default_rng(0), ModelWriter()
    kernel = rng.integers(-127, 128, (units, inputs)).astype(np.int8)
    bias = rng.normal(0, 1, units).astype(np.float32)
    operands = [
        writer.tensor("data", (rows, inputs), "float32"),
        writer.tensor("kernel", kernel.shape, "int8", Quantization.per_tensor(0.01, 0), kernel),
        writer.tensor("bias", bias.shape, "float32", None, bias),
    ]
    result = writer.tensor("sums", (rows, units), "float32")
    writer.operator("FULLY_CONNECTED", operands, [result], version=3)
    return writer.finish(operands[:1], [result])


_LAYERS: dict[str, Callable[[int, int, int], bytes]] = {"hybrid_dense": _hybrid_dense}
NAMES = tuple(_LAYERS)


def build(name: str, sizes: str) -> bytes:
    """Return a model of one layer.

    Args:
        name: one of ``NAMES``.
        sizes: rows, inputs and units, as "16x768x768".

    Raises:
        QnnError: the sizes are malformed.
    """
    numbers = [int(each) for each in sizes.split("x") if each.isdecimal()]
    if len(numbers) != 3 or sizes.count("x") != 2 or min(numbers) < 1:
        raise QnnError(f"{name}:{sizes}: needs rows, inputs and units, as {name}:16x768x768")
    return _LAYERS[name](*numbers)
