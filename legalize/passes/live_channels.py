"""Finds the channels of a network's tensors that some input can change, and that are read."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from tvm import relax

from legalize.qdq.group import operator_name
from qnn_ops import quantized_conv2d, quantized_dense, quantized_pool2d
from qnn_ops.arithmetic.accumulator_bounds import signed_sums
from qnn_ops.arithmetic.float_epilogue import ONEDNN
from qnn_ops.arithmetic.rounding import scale_result
from qnn_ops.arithmetic.sums import conv_factor, dense_factor
from qnn_ops.arrays import Array
from qnn_ops.dialect.attributes import QUANTIZED, bounds, dtype_range
from qnn_ops.dialect.layouts import permutation
from qnn_ops.dialect.registry import Attrs, attrs_of, constant_of, operator_of, spec_of
from qnn_ops.dialect.sizes import is_open

# The channels that kernels compute at a time. Leaving out fewer gains nothing.
_WHOLE = 4

Ends = tuple[Array, Array]
"""The least and the largest value of each channel, int64."""


@dataclass(frozen=True, eq=False)
class Layer:
    """A convolution or dense layer of constant weights.

    Attributes:
        attrs: the call's attributes.
        weights: [out_channels, taps, in_channels]; [out_channels, taps, 1] for a depthwise
            convolution.
        bias: int64 [out_channels].
        factor: how many steps of the result one step of the sums is: one number, or one for each
            output channel.
        is_depthwise: whether each output channel reads only the input channel of its number.
        pads: whether it reads padding.
    """

    attrs: Attrs
    weights: Array
    bias: Array
    factor: Array
    is_depthwise: bool
    pads: bool

    @property
    def rows(self) -> Array:
        """The centred weights, int16. They are not kept: a network's take twice its memory."""
        rows = self.weights.astype(np.int16)
        rows -= np.asarray(self.attrs.kernel_zero_point, np.int16).reshape(-1, 1, 1)
        return rows

    def ends(self, data: Ends) -> Ends | None:
        """Return the ends of the result's channels, given those of the data; None if sums wrap."""
        low, high = (end - self.attrs.input_zero_point for end in data)
        if self.pads:
            low, high = np.minimum(low, 0), np.maximum(high, 0)
        # If all channels of the data have the same ends, one sum for each output channel suffices.
        is_even = all((end == end[0]).all() for end in (low, high))
        if is_even:
            low, high = low[:1], high[:1]
        is_summed = is_even or self.is_depthwise
        above, below = signed_sums(self.rows, (1, 2) if is_summed else 1)

        def sums(positive: Array, negative: Array) -> Array:
            """Return the sums if weights above 0, and weights below, meet these values."""
            if is_summed:
                return above * positive + below * negative
            return above @ positive + below @ negative

        ends = np.stack([sums(*each) + self.bias for each in ((low, high), (high, low))])
        lowest, highest = dtype_range("int32")
        if ends.min() < lowest or ends.max() > highest:
            return None
        # Beyond one step a fixed-point product may wrap, too.
        if (self.factor >= 1).any():
            return None
        attrs, sums_of = self.attrs, ends.astype(np.int32)
        low, high = scale_result(attrs, sums_of, self.factor, attrs.rounding).astype(np.int64)
        return low, high

    def share(self, values: Array, is_dropped: Array) -> Array:
        """Return the contribution of channels with these constant values to each sum."""
        steps = (values - self.attrs.input_zero_point)[is_dropped]
        return np.asarray((self.rows[..., is_dropped] * steps).sum(axis=(1, 2), dtype=np.int64))


def layer_of(call: Any) -> Layer | None:
    """Describe a call as a layer; None if it is no layer that can have fewer channels."""
    operator = operator_of(call)
    if operator not in (quantized_conv2d, quantized_dense):
        return None
    attrs = attrs_of(call)
    operands = [constant_of(operand) for operand in call.args[1:]]
    if len(operands) > 2 or any(operand is None for operand in operands):
        return None
    if attrs.rounding == ONEDNN or not {attrs.out_dtype, spec_of(call.args[0]).dtype} <= {
        *QUANTIZED
    }:
        return None
    weights = operands[0]
    assert weights is not None
    if not weights.size:
        return None
    is_depthwise = pads = False
    if operator is quantized_conv2d:
        if (attrs.data_layout, attrs.out_layout) != ("NHWC", "NHWC"):
            return None
        factor = conv_factor(attrs, str(weights.dtype))
        weights = weights.transpose(permutation(attrs.kernel_layout, "OHWI"))
        channels = spec_of(call.args[0]).shape[3]
        is_depthwise = attrs.groups == channels == len(weights) and channels > 1
        if attrs.groups > 1 and not is_depthwise:
            return None
        pads = any(attrs.padding)
    else:
        factor = dense_factor(attrs, str(weights.dtype))
    weights = weights.reshape(len(weights), -1, weights.shape[-1])
    bias = operands[1] if len(operands) == 2 else None
    own = np.zeros(len(weights), np.int64) if bias is None else bias.astype(np.int64)
    return Layer(attrs, weights, own, np.asarray(factor), is_depthwise, pads)


def keeps_channels(call: Any) -> bool:
    """Tell whether each channel of a call's result depends only on its first operand's channel."""
    if operator_of(call) is quantized_pool2d:
        attrs = attrs_of(call)
        return attrs.layout == "NHWC" and not attrs.count_include_pad
    if operator_name(call) != "relax.reshape":
        return False
    source, result = spec_of(call.args[0]).shape, spec_of(call).shape
    is_known = bool(source) and bool(result) and not is_open(result[-1:])
    return is_known and source[-1] == result[-1] > 1


def _is_plain(binding: relax.Binding) -> bool:
    """Tell whether a variable has the type of its value."""
    return isinstance(binding, relax.VarBinding)


class LiveChannels:
    """The known channels of a function's tensors.

    Attributes:
        kept: by variable, the needed channels, and others that fill them up to a multiple of four;
            without variables that keep all channels.
        values: by variable, the least value of each channel, which is a constant channel's number.
        layers: by variable, the layer that makes it; None if no layer does.
    """

    def __init__(self, function: relax.Function) -> None:
        """Follow the ends of values down the function, and the channels that are read up."""
        self._bindings = [binding for block in function.body.blocks for binding in block.bindings]
        self.layers = {
            binding.var: layer_of(binding.value) if _is_plain(binding) else None
            for binding in self._bindings
        }
        self._ends: dict[Any, Ends] = {}
        for binding in self._bindings:
            if (ends := self._made(binding)) is not None:
                self._ends[binding.var] = ends
        self.values = {var: low for var, (low, _) in self._ends.items()}
        self.kept: dict[Any, Array] = {}
        if not any((low == high).any() for low, high in self._ends.values()):
            return
        self._needed = {var: np.zeros(len(low), bool) for var, (low, _) in self._ends.items()}
        for var in relax.analysis.free_vars(function.body.body):
            self._need_all(var)
        self._settle()
        for needed in self._needed.values():
            missing = -max(int(needed.sum()), 1) % _WHOLE + (not needed.any())
            needed[np.flatnonzero(~needed)[:missing]] = True
        self._settle()
        self.kept = {var: needed for var, needed in self._needed.items() if not needed.all()}

    def _made(self, binding: relax.VarBinding) -> Ends | None:
        """Return the ends of a binding's channels; None if all of them stay."""
        call, layer = binding.value, self.layers[binding.var]
        if layer is not None:
            return layer.ends(self._of(call.args[0])) or self._full(binding.var)
        if not _is_plain(binding) or not keeps_channels(call):
            return None
        if call.args[0] not in self._ends:
            return None
        low, high = self._ends[call.args[0]]
        if operator_name(call) == "relax.reshape":
            return low, high
        ends = bounds(attrs_of(call), spec_of(call).dtype)
        return np.clip(low, *ends), np.clip(high, *ends)

    def _of(self, var: Any) -> Ends:
        return self._ends.get(var) or self._full(var)

    def _full(self, var: Any) -> Ends:
        spec = spec_of(var)
        low, high = (np.full(spec.shape[-1], end, np.int64) for end in dtype_range(spec.dtype))
        return low, high

    def _need_all(self, var: Any) -> None:
        if var in self._needed:
            self._needed[var][:] = True

    def _settle(self) -> None:
        """Mark the channels that are read, until nothing changes."""
        before = -1
        while (now := sum(int(needed.sum()) for needed in self._needed.values())) != before:
            before = now
            for binding in reversed(self._bindings):
                for data, needed in self._reads(binding):
                    if data in self._needed:
                        self._needed[data] |= needed

    def _reads(self, binding: relax.VarBinding) -> Iterator[tuple[Any, Array | bool]]:
        call, layer = binding.value, self.layers[binding.var]
        if layer is None and not (keeps_channels(call) and binding.var in self._needed):
            for var in relax.analysis.free_vars(call):
                yield var, True
            return
        data = call.args[0]
        if layer is not None and not layer.is_depthwise:
            low, high = self._of(data)
            # A constant channel with padding of another value is not constant to a window.
            is_number = low == high
            if layer.pads:
                is_number = is_number & (low == layer.attrs.input_zero_point)
            yield data, ~is_number
            return
        # Both operands keep the same channels.
        yield data, self._needed[binding.var]
        yield binding.var, self._needed.get(data, True)
