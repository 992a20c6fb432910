"""Reads the fields of operators' options, and lists the tables that hold them."""

from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
import tflite

from frontends.tflite.flatbuffer import Table
from frontends.tflite.schema import ENUM_FIELDS, by_value, pascal_case

Reader = Callable[[Table], Any]


def _scalar(name: str) -> Reader:
    return lambda table: table.scalar(pascal_case(name))


def _finite(name: str) -> Reader:
    return lambda table: table.finite(pascal_case(name))


def _enum(name: str) -> Reader:
    names = by_value(ENUM_FIELDS[name])
    return lambda table: table.enum(pascal_case(name), names)


def _integers(name: str) -> Reader:
    return lambda table: tuple(table.vector(pascal_case(name), "int64").tolist())


def _positive(*names: str) -> Reader:
    return lambda table: table.positive(*map(pascal_case, names))


BY_TYPE = {bool: _scalar, int: _scalar, float: _finite, str: _enum, tuple[int, ...]: _integers}

Activation = Annotated[str, _enum("fused_activation_function")]
Stride = Annotated[tuple[int, int], _positive("stride_h", "stride_w")]
Dilation = Annotated[tuple[int, int], _positive("dilation_h_factor", "dilation_w_factor")]
Stride3 = Annotated[tuple[int, int, int], _positive("stride_d", "stride_h", "stride_w")]
Dilation3 = Annotated[
    tuple[int, int, int], _positive("dilation_d_factor", "dilation_h_factor", "dilation_w_factor")
]
Filter = Annotated[tuple[int, int], _positive("filter_height", "filter_width")]
NumSplits = Annotated[int, lambda table: table.positive("NumSplits")[0]]
SharedName = Annotated[str, lambda table: table.string("SharedName")]
Boundaries = Annotated[np.ndarray[Any, Any], lambda table: table.vector("Boundaries", "float32")]
Container = Annotated[str, lambda table: table.string("Container")]
Branches = Annotated[tuple[int, ...], lambda table: table.integers("BranchSubgraphIndices")]
Dims = Annotated[tuple[int, ...], lambda table: table.integers("SqueezeDims")]
NewShape = Annotated[
    "tuple[int, ...] | None",
    lambda table: None if table.is_absent("NewShape") else table.integers("NewShape"),
]


class _StablehloCaseOptions(tflite.SqueezeOptions):
    """One vector of int32, in the slot of SqueezeOptions' vector."""

    BranchSubgraphIndicesAsNumpy = tflite.SqueezeOptions.SqueezeDimsAsNumpy
    BranchSubgraphIndicesLength = tflite.SqueezeOptions.SqueezeDimsLength


MEMBERS: dict[str, Any] = vars(tflite) | {
    "StablehloCaseOptions": _StablehloCaseOptions,
    "StablehloCaseOptionsStart": tflite.SqueezeOptionsStart,
    "StablehloCaseOptionsStartBranchSubgraphIndicesVector": (
        tflite.SqueezeOptionsStartSqueezeDimsVector
    ),
    "StablehloCaseOptionsAddBranchSubgraphIndices": tflite.SqueezeOptionsAddSqueezeDims,
    "StablehloCaseOptionsEnd": tflite.SqueezeOptionsEnd,
}
"""Classes that read tables, and functions that write them, by the names that the package gives."""
