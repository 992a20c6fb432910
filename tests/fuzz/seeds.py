"""Models to damage that random graphs do not draw often, as writers that were finished once."""

import numpy as np

from frontends.tflite.quantization import Blocks, Quantization
from frontends.tflite.sparsity import Level, Sparsity
from frontends.tflite.writer import ModelWriter

_ENCODING = Quantization.per_tensor(0.5, 0)


def sparse() -> ModelWriter:
    """Return a dense layer of weights in blocks, and one of weights that DENSIFY unpacks."""
    writer = ModelWriter()
    data = writer.tensor("x", (2, 32), "int8", _ENCODING)
    segments, places = np.array([0, 1, 1, 3]), np.array([1, 0, 1])
    levels = (Level(3), Level(0, segments, places), Level(16))
    order = Sparsity((0, 1, 2), (1,), levels)
    values = np.arange(48, dtype=np.int8)
    results = []
    for is_unpacked in (False, True):
        weights = writer.tensor("w", (3, 32), "int8", _ENCODING, values, order)
        if is_unpacked:
            whole = writer.tensor("d", (3, 32), "int8", _ENCODING)
            writer.operator("DENSIFY", [weights], [whole], version=1)
            weights = whole
        results.append(writer.tensor("y", (2, 3), "int8", _ENCODING))
        writer.operator("FULLY_CONNECTED", [data, weights], results[-1:], version=8)
    writer.end([data], results)
    return writer


def four_bits() -> ModelWriter:
    """Return a dense layer of int4 weights."""
    writer = ModelWriter()
    data = writer.tensor("x", (2, 7), "int8", _ENCODING)
    numbers = np.arange(-8, 6, dtype=np.int8)[:14].reshape(2, 7)
    weights = writer.tensor("w", (2, 7), "int4", _ENCODING, numbers)
    result = writer.tensor("y", (2, 2), "int8", _ENCODING)
    writer.operator("FULLY_CONNECTED", [data, weights], [result])
    writer.end([data], [result])
    return writer


def by_block() -> ModelWriter:
    """Return a dense layer and a table, both of int4 rows with a scale for each block."""
    writer = ModelWriter()
    data = writer.tensor("x", (2, 32), "float32")
    places = writer.tensor("n", (3,), "int32")
    scales = writer.tensor("s", (4, 2), "float16", None, np.full((4, 2), 0.5, np.float16))
    numbers = (np.arange(128) % 16 - 8).astype(np.int8).reshape(4, 32)
    weights = writer.tensor("w", (4, 32), "int4", Blocks(scales, 16), numbers)
    results = [writer.tensor("y", (2, 4), "float32"), writer.tensor("z", (3, 32), "float32")]
    writer.operator("FULLY_CONNECTED", [data, weights], results[:1], version=9)
    writer.operator("EMBEDDING_LOOKUP", [places, weights], results[1:], version=4)
    writer.end([data, places], results)
    return writer
