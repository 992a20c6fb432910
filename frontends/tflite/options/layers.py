"""Options of convolutions, pools, products of matrices and recurrent layers."""

from typing import ClassVar, TypeAlias

from frontends.tflite.options.base import Options
from frontends.tflite.options.fields import Activation, Dilation, Dilation3, Filter, Stride, Stride3


class Conv2DOptions(Options):
    """Convolution; `stride` and `dilation` are (height, width).

    `quantized_bias_type` is that of the bias beside int16 data, "float32" where it is not stated.
    """

    padding: str
    stride: Stride
    dilation: Dilation
    activation: Activation
    quantized_bias_type: str


class Conv3DOptions(Options):
    """Convolution of volumes; `stride` and `dilation` are (depth, height, width)."""

    padding: str
    stride: Stride3
    dilation: Dilation3
    activation: Activation


class DepthwiseConv2DOptions(Options):
    """Depthwise convolution; `depth_multiplier` is the file's, even if 0."""

    padding: str
    stride: Stride
    dilation: Dilation
    depth_multiplier: int
    activation: Activation


class TransposeConvOptions(Options):
    """Transposed convolution; `stride` and `quantized_bias_type` are those of a convolution."""

    padding: str
    stride: Stride
    activation: Activation
    quantized_bias_type: str


class Pool2DOptions(Options):
    """Pooling; `filter` and `stride` are (height, width)."""

    padding: str
    stride: Stride
    filter: Filter
    activation: Activation


class FullyConnectedOptions(Options):
    """Fully connected layer; `weights_format` is "DEFAULT" or "SHUFFLED4x16INT8".

    `quantized_bias_type` is that of the bias beside int16 data, "float32" where it is not stated.
    """

    activation: Activation
    keep_num_dims: bool
    weights_format: str
    asymmetric_quantize_inputs: bool
    quantized_bias_type: str


class BatchMatMulOptions(Options):
    """Products of matrices; one or both may be transposed first."""

    adj_x: bool
    adj_y: bool
    asymmetric_quantize_inputs: bool


class SVDFOptions(Options):
    """A filter over time; `rank` filters make one result."""

    rank: int
    activation: Activation
    asymmetric_quantize_inputs: bool


class UnidirectionalSequenceLSTMOptions(Options):
    """An LSTM; cells and projections are clipped if a number is not 0.

    `time_major` says that steps come before the batch.
    """

    activation: Activation
    cell_clip: float
    proj_clip: float
    time_major: bool
    asymmetric_quantize_inputs: bool


class LSTMOptions(Options):
    """A step of an LSTM; `kernel_type` is 0 for a tensor of weights for each gate."""

    activation: Activation
    cell_clip: float
    proj_clip: float
    kernel_type: int
    asymmetric_quantize_inputs: bool
    time_major: ClassVar[bool] = False


class RNNOptions(Options):
    """A step of a plain recurrent layer."""

    activation: Activation
    asymmetric_quantize_inputs: bool
    time_major: ClassVar[bool] = False


class SequenceRNNOptions(Options):
    """A plain recurrent layer; `time_major` says that steps come before the batch."""

    time_major: bool
    activation: Activation
    asymmetric_quantize_inputs: bool


class BidirectionalSequenceLSTMOptions(UnidirectionalSequenceLSTMOptions):
    """Two LSTMs; `merge_outputs` joins their results along the last axis."""

    merge_outputs: bool


class BidirectionalSequenceRNNOptions(SequenceRNNOptions):
    """Two plain recurrent layers; `merge_outputs` joins their results along the last axis."""

    merge_outputs: bool


AnyLSTM: TypeAlias = LSTMOptions | UnidirectionalSequenceLSTMOptions
AnyRNN: TypeAlias = RNNOptions | SequenceRNNOptions
