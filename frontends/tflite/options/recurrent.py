"""Options: recurrent layers."""

from __future__ import annotations

from dataclasses import dataclass

from frontends.tflite.option_fields import Activation
from frontends.tflite.options.base import Options


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
