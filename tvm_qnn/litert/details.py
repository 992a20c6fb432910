"""LiteRT's descriptions of tensors, as dicts."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import tflite

from frontends.tflite.flatbuffer import Table
from frontends.tflite.model import Tensor
from frontends.tflite.sparsity import Level, read_sparsity

_BY_BLOCK = 2
_OTHER_TYPES: dict[str, type] = {"string": np.bytes_, "resource": np.object_, "variant": np.object_}


@dataclass(frozen=True)
class Stored:
    """Facts of a tensor that a file states, and that the model read from it does not keep.

    Attributes:
        scales: float32, one for the tensor, or one for each index along an axis.
        zero_points: int32, as many as scales.
        axis: the axis that scales run along.
        sparsity: the order in which values are stored; empty for a dense tensor.
    """

    scales: np.ndarray
    zero_points: np.ndarray
    axis: int
    sparsity: dict[str, Any]


def read_stored(content: bytes, subgraph: int) -> list[Stored]:
    """Read these facts for every tensor of a subgraph.

    Args:
        content: the contents of a file that ``frontends.tflite.reader`` has read.
        subgraph: its index.

    Raises:
        ModelFormatError: the file is damaged.
    """
    root = Table.root(tflite.Model, memoryview(content), "model")
    tensors = root.tables("Subgraphs", "subgraph")[subgraph].tables("Tensors", "tensor")
    return [_stored(each) for each in tensors]


def _stored(tensor: Table) -> Stored:
    sparsity = tensor.table("Sparsity", tensor.where)
    order = {} if sparsity is None else _order(sparsity)
    known = tensor.table("Quantization", tensor.where)
    if known is None or int(known.scalar("DetailsType")) == _BY_BLOCK:
        return Stored(np.zeros(0, np.float32), np.zeros(0, np.int32), 0, order)
    scales = known.vector("Scale", "float32").astype(np.float32)
    points = known.vector("ZeroPoint", "int64").astype(np.int32)
    if not scales.size:
        return Stored(scales, points[:0], 0, order)
    return Stored(scales, points, int(known.scalar("QuantizedDimension")), order)


def _order(table: Table) -> dict[str, Any]:
    sparsity = read_sparsity(table)
    return {
        "traversal_order": np.array(sparsity.order, np.int32),
        "block_map": np.array(sparsity.blocks, np.int32),
        "dim_metadata": [_level(each) for each in sparsity.levels],
    }


def _level(level: Level) -> dict[str, Any]:
    if level.segments is None or level.indices is None:
        return {"format": 0, "dense_size": level.size}
    return {
        "format": 1,
        "array_segments": level.segments.astype(np.int32),
        "array_indices": level.indices.astype(np.int32),
    }


def details(tensor: Tensor, stored: Stored, shape: Sequence[int]) -> dict[str, Any]:
    """Return LiteRT's description of a tensor.

    Args:
        tensor: the tensor, as the reader returns it.
        stored: the facts that the reader does not keep.
        shape: its present shape.
    """
    one = len(stored.scales) == len(stored.zero_points) == 1
    legacy = (float(stored.scales[0]), int(stored.zero_points[0])) if one else (0.0, 0)
    return {
        "name": tensor.name,
        "index": tensor.index,
        "shape": np.array(shape, np.int32),
        "shape_signature": np.array(tensor.shape_signature or shape, np.int32),
        "dtype": numpy_type(tensor.dtype),
        "quantization": legacy,
        "quantization_parameters": {
            "scales": stored.scales.copy(),
            "zero_points": stored.zero_points.copy(),
            "quantized_dimension": stored.axis,
            "block_size": 0 if tensor.blocks is None else tensor.blocks.size,
        },
        "sparsity_parameters": stored.sparsity,
    }


def numpy_type(name: str) -> type:
    """Return numpy's class for a type of the schema, as LiteRT returns it."""
    if name == "bfloat16":
        kind: type = import_module("ml_dtypes").bfloat16
        return kind
    return _OTHER_TYPES.get(name) or np.dtype(name).type


def litert_name(dtype: np.dtype[Any]) -> str:
    """Return LiteRT's name of a numpy type, as its errors spell it."""
    return "STRING" if dtype.kind in "SUO" else dtype.name.upper()
