"""The operators' options: one dataclass per options table of the TFLite schema.

Each class has the name of its table and lists the operators that use it. Fields that the
importer has no use for (hints to other runtimes) are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import tflite

from frontends.errors import ModelFormatError
from frontends.tflite.flatbuffer import Table


def enum_names(enum: Any) -> dict[int, str]:
    """Value -> name of an enumeration of the `tflite` package."""
    return {value: name for name, value in vars(enum).items() if not name.startswith("_")}


_PADDINGS = enum_names(tflite.Padding)
_ACTIVATIONS = enum_names(tflite.ActivationFunctionType)
_WEIGHTS_FORMATS = enum_names(tflite.FullyConnectedOptionsWeightsFormat)
_MIRROR_PAD_MODES = enum_names(tflite.MirrorPadMode)
_TABLE_NAMES = enum_names(tflite.BuiltinOptions)

TENSOR_TYPES = {value: name.lower() for value, name in enum_names(tflite.TensorType).items()}


class Options:
    """Base of all option dataclasses."""

    @classmethod
    def _read(cls, table: Table) -> Options:
        raise NotImplementedError


_OPTIONS_OF_OPERATOR: dict[str, type[Options]] = {}

_O = TypeVar("_O", bound=type[Options])


def _options_of(*codes: str) -> Callable[[_O], _O]:
    def register(cls: _O) -> _O:
        _OPTIONS_OF_OPERATOR.update(dict.fromkeys(codes, cls))
        return cls

    return register


def read_options(code: str, operator: Table) -> Options | None:
    """Reads an operator's options.

    Args:
        code: the operator's name, for instance "CONV_2D".
        operator: the operator's table.

    Returns:
        The options; with the schema's default values if the file has none for this
        operator, None if the operator has no options that are read.

    Raises:
        ModelFormatError: the file has another operator's options, or values that make no sense.
    """
    cls = _OPTIONS_OF_OPERATOR.get(code)
    if cls is None:
        return None
    where = f"{operator.where} options"
    accessor_type = getattr(tflite, cls.__name__)
    number = int(operator.scalar("BuiltinOptionsType"))
    if number == tflite.BuiltinOptions.NONE:
        return cls._read(Table.empty(accessor_type, where))
    name = _TABLE_NAMES.get(number, f"number {number}")
    if name != cls.__name__:
        raise ModelFormatError(f"{where}: are {name}, needs {cls.__name__}")
    table = operator.union("BuiltinOptions", accessor_type, where)
    return cls._read(table or Table.empty(accessor_type, where))


def _pair(table: Table, height: str, width: str) -> tuple[int, int]:
    first, second = table.positive(height, width)
    return first, second


def _activation(table: Table) -> str:
    return table.enum("FusedActivationFunction", _ACTIVATIONS)


@_options_of("CONV_2D")
@dataclass(frozen=True)
class Conv2DOptions(Options):
    """Convolution; `stride` and `dilation` are (height, width)."""

    padding: str
    stride: tuple[int, int]
    dilation: tuple[int, int]
    activation: str

    @classmethod
    def _read(cls, table: Table) -> Conv2DOptions:
        return cls(
            padding=table.enum("Padding", _PADDINGS),
            stride=_pair(table, "StrideH", "StrideW"),
            dilation=_pair(table, "DilationHFactor", "DilationWFactor"),
            activation=_activation(table),
        )


@_options_of("DEPTHWISE_CONV_2D")
@dataclass(frozen=True)
class DepthwiseConv2DOptions(Options):
    """Depthwise convolution; `depth_multiplier` is what the file says, even if 0."""

    padding: str
    stride: tuple[int, int]
    dilation: tuple[int, int]
    depth_multiplier: int
    activation: str

    @classmethod
    def _read(cls, table: Table) -> DepthwiseConv2DOptions:
        return cls(
            padding=table.enum("Padding", _PADDINGS),
            stride=_pair(table, "StrideH", "StrideW"),
            dilation=_pair(table, "DilationHFactor", "DilationWFactor"),
            depth_multiplier=int(table.scalar("DepthMultiplier")),
            activation=_activation(table),
        )


@_options_of("TRANSPOSE_CONV")
@dataclass(frozen=True)
class TransposeConvOptions(Options):
    """Transposed convolution; `stride` is (height, width)."""

    padding: str
    stride: tuple[int, int]
    activation: str

    @classmethod
    def _read(cls, table: Table) -> TransposeConvOptions:
        return cls(
            padding=table.enum("Padding", _PADDINGS),
            stride=_pair(table, "StrideH", "StrideW"),
            activation=_activation(table),
        )


@_options_of("AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D")
@dataclass(frozen=True)
class Pool2DOptions(Options):
    """Pooling; `filter` and `stride` are (height, width)."""

    padding: str
    stride: tuple[int, int]
    filter: tuple[int, int]
    activation: str

    @classmethod
    def _read(cls, table: Table) -> Pool2DOptions:
        return cls(
            padding=table.enum("Padding", _PADDINGS),
            stride=_pair(table, "StrideH", "StrideW"),
            filter=_pair(table, "FilterHeight", "FilterWidth"),
            activation=_activation(table),
        )


@_options_of("FULLY_CONNECTED")
@dataclass(frozen=True)
class FullyConnectedOptions(Options):
    """Fully connected layer; `weights_format` is "DEFAULT" or "SHUFFLED4x16INT8"."""

    activation: str
    keep_num_dims: bool
    weights_format: str

    @classmethod
    def _read(cls, table: Table) -> FullyConnectedOptions:
        return cls(
            activation=_activation(table),
            keep_num_dims=table.scalar("KeepNumDims"),
            weights_format=table.enum("WeightsFormat", _WEIGHTS_FORMATS),
        )


@_options_of("SOFTMAX")
@dataclass(frozen=True)
class SoftmaxOptions(Options):
    """Softmax; `beta` multiplies the logits."""

    beta: float

    @classmethod
    def _read(cls, table: Table) -> SoftmaxOptions:
        return cls(table.finite("Beta"))


@_options_of("CONCATENATION")
@dataclass(frozen=True)
class ConcatenationOptions(Options):
    """Concatenation; a negative `axis` counts from the end."""

    axis: int
    activation: str

    @classmethod
    def _read(cls, table: Table) -> ConcatenationOptions:
        return cls(int(table.scalar("Axis")), _activation(table))


@dataclass(frozen=True)
class _ActivationOptions(Options):
    activation: str

    @classmethod
    def _read(cls, table: Table) -> _ActivationOptions:
        return cls(_activation(table))


@_options_of("ADD")
class AddOptions(_ActivationOptions):
    """Addition."""


@_options_of("SUB")
class SubOptions(_ActivationOptions):
    """Subtraction."""


@_options_of("MUL")
class MulOptions(_ActivationOptions):
    """Multiplication."""


@_options_of("DIV")
class DivOptions(_ActivationOptions):
    """Division."""


@_options_of("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD", "REDUCE_ANY", "REDUCE_ALL")
@dataclass(frozen=True)
class ReducerOptions(Options):
    """Reductions; the axes are an input."""

    keep_dims: bool

    @classmethod
    def _read(cls, table: Table) -> ReducerOptions:
        return cls(table.scalar("KeepDims"))


@_options_of("RESHAPE")
@dataclass(frozen=True)
class ReshapeOptions(Options):
    """Reshape; `new_shape` may hold one -1, and is None if only an input states it."""

    new_shape: tuple[int, ...] | None

    @classmethod
    def _read(cls, table: Table) -> ReshapeOptions:
        return cls(None if table.is_absent("NewShape") else table.integers("NewShape"))


@_options_of("SQUEEZE")
@dataclass(frozen=True)
class SqueezeOptions(Options):
    """Squeeze; no `dims` means all dimensions that are 1, negative ones count from the end."""

    dims: tuple[int, ...]

    @classmethod
    def _read(cls, table: Table) -> SqueezeOptions:
        return cls(table.integers("SqueezeDims"))


@dataclass(frozen=True)
class _ResizeOptions(Options):
    align_corners: bool
    half_pixel_centers: bool

    @classmethod
    def _read(cls, table: Table) -> _ResizeOptions:
        return cls(table.scalar("AlignCorners"), table.scalar("HalfPixelCenters"))


@_options_of("RESIZE_BILINEAR")
class ResizeBilinearOptions(_ResizeOptions):
    """Bilinear resize."""


@_options_of("RESIZE_NEAREST_NEIGHBOR")
class ResizeNearestNeighborOptions(_ResizeOptions):
    """Nearest neighbour resize."""


@_options_of("STRIDED_SLICE")
@dataclass(frozen=True)
class StridedSliceOptions(Options):
    """Strided slice; bit i of a mask speaks of entry i of begin, end and strides.

    `offset` says that end is counted from begin.
    """

    begin_mask: int
    end_mask: int
    ellipsis_mask: int
    new_axis_mask: int
    shrink_axis_mask: int
    offset: bool

    @classmethod
    def _read(cls, table: Table) -> StridedSliceOptions:
        return cls(
            begin_mask=table.scalar("BeginMask"),
            end_mask=table.scalar("EndMask"),
            ellipsis_mask=table.scalar("EllipsisMask"),
            new_axis_mask=table.scalar("NewAxisMask"),
            shrink_axis_mask=table.scalar("ShrinkAxisMask"),
            offset=table.scalar("Offset"),
        )


@dataclass(frozen=True)
class _NumSplitsOptions(Options):
    num_splits: int

    @classmethod
    def _read(cls, table: Table) -> _NumSplitsOptions:
        return cls(*table.positive("NumSplits"))


@_options_of("SPLIT")
class SplitOptions(_NumSplitsOptions):
    """Split into equal parts; the axis is an input."""


@_options_of("SPLIT_V")
class SplitVOptions(_NumSplitsOptions):
    """Split into parts of given sizes; sizes and axis are inputs."""


@dataclass(frozen=True)
class _OutputTypeOptions(Options):
    output_type: str

    @classmethod
    def _read(cls, table: Table) -> _OutputTypeOptions:
        return cls(table.enum("OutputType", TENSOR_TYPES))


@_options_of("ARG_MAX")
class ArgMaxOptions(_OutputTypeOptions):
    """Index of the largest element; `output_type` is "int32" or "int64"."""


@_options_of("ARG_MIN")
class ArgMinOptions(_OutputTypeOptions):
    """Index of the smallest element; `output_type` is "int32" or "int64"."""


@_options_of("LEAKY_RELU")
@dataclass(frozen=True)
class LeakyReluOptions(Options):
    """Leaky ReLU; `alpha` is the slope below zero."""

    alpha: float

    @classmethod
    def _read(cls, table: Table) -> LeakyReluOptions:
        return cls(table.finite("Alpha"))


@_options_of("MIRROR_PAD")
@dataclass(frozen=True)
class MirrorPadOptions(Options):
    """Mirror padding; `mode` is "REFLECT" or "SYMMETRIC"."""

    mode: str

    @classmethod
    def _read(cls, table: Table) -> MirrorPadOptions:
        return cls(table.enum("Mode", _MIRROR_PAD_MODES))
