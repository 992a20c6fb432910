"""The operators' options: one dataclass per options table of the TFLite schema.

Each class has the name of its table. A field has the name of the table's field, and its type says
how it is read, or else its annotation does. Fields that the importer has no use for (hints to other
runtimes) are left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import get_type_hints

import tflite

from frontends.errors import ModelFormatError
from frontends.tflite.flatbuffer import Table
from frontends.tflite.option_fields import (
    BY_TYPE,
    Activation,
    Boundaries,
    Container,
    Dilation,
    Dilation3,
    Dims,
    Filter,
    NewShape,
    NumSplits,
    Reader,
    SharedName,
    Stride,
    Stride3,
)
from frontends.tflite.schema import (
    LATER_OPTIONS_TABLES,
    OPTIONS_BY_OPERATOR,
    OPTIONS_TABLES,
    by_value,
)

_TABLE_NAMES = {"": by_value(OPTIONS_TABLES), "2": by_value(LATER_OPTIONS_TABLES)}
_CLASSES: dict[str, type[Options]] = {}


class Options:
    """Base of all option dataclasses."""

    def __init_subclass__(cls) -> None:
        _CLASSES[cls.__name__] = cls


def read_options(code: str, operator: Table) -> Options | None:
    """Read an operator's options.

    Args:
        code: the operator's name, for instance "CONV_2D".
        operator: the operator's table.

    Returns:
        The options; with the schema's default values if the file has none for this
        operator, None if the operator has no options that are read.

    Raises:
        ModelFormatError: the file has another operator's options, or values that make no sense.
    """
    cls = _CLASSES.get(OPTIONS_BY_OPERATOR.get(code, ""))
    if cls is None:
        return None
    where = f"{operator.where} options"
    accessor_type = getattr(tflite, cls.__name__)
    union = "2" if cls.__name__ in LATER_OPTIONS_TABLES else ""
    number = int(operator.scalar(f"BuiltinOptions{union}Type"))
    name = _TABLE_NAMES[union].get(number, f"number {number}")
    if name not in (cls.__name__, "NONE"):
        raise ModelFormatError(f"{where}: are {name}, needs {cls.__name__}")
    table = (
        None if name == "NONE" else operator.union(f"BuiltinOptions{union}", accessor_type, where)
    )
    table = table or Table.empty(accessor_type, where)
    return cls(**{field: read(table) for field, read in _readers(cls.__name__).items()})


@cache
def _readers(name: str) -> dict[str, Reader]:
    hints = get_type_hints(_CLASSES[name], include_extras=True)
    return {
        field: hint.__metadata__[0] if hasattr(hint, "__metadata__") else BY_TYPE[hint](field)
        for field, hint in hints.items()
    }


@dataclass(frozen=True)
class Conv2DOptions(Options):
    """Convolution; `stride` and `dilation` are (height, width).

    `quantized_bias_type` is that of the bias beside int16 data, "float32" where it is not stated.
    """

    padding: str
    stride: Stride
    dilation: Dilation
    activation: Activation
    quantized_bias_type: str


@dataclass(frozen=True)
class Conv3DOptions(Options):
    """Convolution of volumes; `stride` and `dilation` are (depth, height, width)."""

    padding: str
    stride: Stride3
    dilation: Dilation3
    activation: Activation


@dataclass(frozen=True)
class BucketizeOptions(Options):
    """Boundaries of ranges of numbers, float32."""

    boundaries: Boundaries


@dataclass(frozen=True)
class DepthwiseConv2DOptions(Options):
    """Depthwise convolution; `depth_multiplier` is what the file says, even if 0."""

    padding: str
    stride: Stride
    dilation: Dilation
    depth_multiplier: int
    activation: Activation


@dataclass(frozen=True)
class TransposeConvOptions(Options):
    """Transposed convolution; `stride` is (height, width).

    `quantized_bias_type` as of a convolution.
    """

    padding: str
    stride: Stride
    activation: Activation
    quantized_bias_type: str


@dataclass(frozen=True)
class Pool2DOptions(Options):
    """Pooling; `filter` and `stride` are (height, width)."""

    padding: str
    stride: Stride
    filter: Filter
    activation: Activation


@dataclass(frozen=True)
class FullyConnectedOptions(Options):
    """Fully connected layer; `weights_format` is "DEFAULT" or "SHUFFLED4x16INT8".

    `quantized_bias_type` is that of the bias beside int16 data, "float32" where it is not stated.
    """

    activation: Activation
    keep_num_dims: bool
    weights_format: str
    asymmetric_quantize_inputs: bool
    quantized_bias_type: str


@dataclass(frozen=True)
class BatchMatMulOptions(Options):
    """Products of matrices, of which one or both may be transposed before."""

    adj_x: bool
    adj_y: bool
    asymmetric_quantize_inputs: bool


@dataclass(frozen=True)
class SoftmaxOptions(Options):
    """Softmax; `beta` multiplies the logits."""

    beta: float


@dataclass(frozen=True)
class ConcatenationOptions(Options):
    """Concatenation; a negative `axis` counts from the end."""

    axis: int
    activation: Activation


@dataclass(frozen=True)
class _ActivationOptions(Options):
    activation: Activation


@dataclass(frozen=True)
class _SumOptions(_ActivationOptions):
    pot_scale_int16: bool


class AddOptions(_SumOptions):
    """Addition; `pot_scale_int16` asks for shifts where all scales are powers of two."""


class SubOptions(_SumOptions):
    """Subtraction; `pot_scale_int16` as of an addition."""


class MulOptions(_ActivationOptions):
    """Multiplication."""


class DivOptions(_ActivationOptions):
    """Division."""


@dataclass(frozen=True)
class ReducerOptions(Options):
    """Reductions; the axes are an input."""

    keep_dims: bool


@dataclass(frozen=True)
class ReshapeOptions(Options):
    """Reshape; `new_shape` may hold one -1, and is None if only an input states it."""

    new_shape: NewShape


@dataclass(frozen=True)
class SqueezeOptions(Options):
    """Squeeze; no `dims` means all dimensions that are 1, negative ones count from the end."""

    dims: Dims


@dataclass(frozen=True)
class _ResizeOptions(Options):
    align_corners: bool
    half_pixel_centers: bool


class ResizeBilinearOptions(_ResizeOptions):
    """Bilinear resize."""


class ResizeNearestNeighborOptions(_ResizeOptions):
    """Nearest neighbour resize."""


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


@dataclass(frozen=True)
class _NumSplitsOptions(Options):
    num_splits: NumSplits


class SplitOptions(_NumSplitsOptions):
    """Split into equal parts; the axis is an input."""


class SplitVOptions(_NumSplitsOptions):
    """Split into parts of given sizes; sizes and axis are inputs."""


@dataclass(frozen=True)
class _OutputTypeOptions(Options):
    output_type: str


class ArgMaxOptions(_OutputTypeOptions):
    """Index of the largest element; `output_type` is "int32" or "int64"."""


class ArgMinOptions(_OutputTypeOptions):
    """Index of the smallest element; `output_type` is "int32" or "int64"."""


@dataclass(frozen=True)
class LeakyReluOptions(Options):
    """Leaky ReLU; `alpha` is the slope below zero."""

    alpha: float


@dataclass(frozen=True)
class GeluOptions(Options):
    """GELU; `approximate` asks for the one by tanh."""

    approximate: bool


@dataclass(frozen=True)
class LocalResponseNormalizationOptions(Options):
    """Normalization by neighbouring channels."""

    radius: int
    bias: float
    alpha: float
    beta: float


@dataclass(frozen=True)
class MirrorPadOptions(Options):
    """Mirror padding; `mode` is "REFLECT" or "SYMMETRIC"."""

    mode: str


@dataclass(frozen=True)
class ReverseSequenceOptions(Options):
    """Reversal of the first elements along ``seq_dim``, in each of the batches."""

    seq_dim: int
    batch_dim: int


@dataclass(frozen=True)
class PackOptions(Options):
    """Stack; `axis` is the new one, a negative one counts from the end of the result's."""

    axis: int


@dataclass(frozen=True)
class UnpackOptions(Options):
    """Parts of size 1 along an axis, which they lack."""

    num: int
    axis: int


@dataclass(frozen=True)
class GatherOptions(Options):
    """Elements by their places along an axis; the first `batch_dims` axes are gone through."""

    axis: int
    batch_dims: int


@dataclass(frozen=True)
class OneHotOptions(Options):
    """One-hot; `axis` is the new one, -1 is the last."""

    axis: int


@dataclass(frozen=True)
class _BlockSizeOptions(Options):
    block_size: int


class DepthToSpaceOptions(_BlockSizeOptions):
    """Blocks from channels."""


class SpaceToDepthOptions(_BlockSizeOptions):
    """Channels from blocks."""


@dataclass(frozen=True)
class CumsumOptions(Options):
    """Running sums; without the element itself, or from the end."""

    exclusive: bool
    reverse: bool


@dataclass(frozen=True)
class ShapeOptions(Options):
    """Shape of a tensor; `out_type` is "int32" or "int64"."""

    out_type: str


@dataclass(frozen=True)
class VarHandleOptions(Options):
    """A variable that the subgraphs of a model share: its name."""

    container: Container
    shared_name: SharedName


@dataclass(frozen=True)
class CallOnceOptions(Options):
    """A subgraph that runs before the first run, by its number."""

    init_subgraph_index: int


@dataclass(frozen=True)
class SVDFOptions(Options):
    """A filter over time; `rank` filters make one result."""

    rank: int
    activation: Activation
    asymmetric_quantize_inputs: bool


@dataclass(frozen=True)
class UnidirectionalSequenceLSTMOptions(Options):
    """An LSTM; cells and projections are clipped where a number is not 0.

    `time_major` says that steps come before the batch.
    """

    activation: Activation
    cell_clip: float
    proj_clip: float
    time_major: bool
    asymmetric_quantize_inputs: bool


@dataclass(frozen=True)
class LSTMOptions(Options):
    """A step of an LSTM; `kernel_type` is 0 for a tensor of weights for each gate."""

    activation: Activation
    cell_clip: float
    proj_clip: float
    kernel_type: int
    asymmetric_quantize_inputs: bool


@dataclass(frozen=True)
class RNNOptions(Options):
    """A step of a plain recurrent layer."""

    activation: Activation
    asymmetric_quantize_inputs: bool


@dataclass(frozen=True)
class SequenceRNNOptions(Options):
    """A plain recurrent layer; `time_major` says that steps come before the batch."""

    time_major: bool
    activation: Activation
    asymmetric_quantize_inputs: bool


@dataclass(frozen=True)
class BidirectionalSequenceLSTMOptions(Options):
    """Two LSTMs; `merge_outputs` joins their results along the last axis."""

    activation: Activation
    cell_clip: float
    proj_clip: float
    merge_outputs: bool
    time_major: bool
    asymmetric_quantize_inputs: bool


@dataclass(frozen=True)
class BidirectionalSequenceRNNOptions(Options):
    """Two plain recurrent layers; `merge_outputs` joins their results along the last axis."""

    time_major: bool
    activation: Activation
    merge_outputs: bool
    asymmetric_quantize_inputs: bool


@dataclass(frozen=True)
class WhileOptions(Options):
    """A loop: the numbers of the subgraphs that say whether it goes on, and that it repeats."""

    cond_subgraph_index: int
    body_subgraph_index: int


@dataclass(frozen=True)
class IfOptions(Options):
    """A choice between two subgraphs: their numbers."""

    then_subgraph_index: int
    else_subgraph_index: int


@dataclass(frozen=True)
class StableHLOCompositeOptions(Options):
    """What several operators make up: the number of the subgraph that has them."""

    decomposition_subgraph_index: int
