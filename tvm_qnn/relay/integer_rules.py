"""Rules for operators between dequantize and quantize in integers, with Relay's arithmetic.

They come from fake_quantization_to_integer.py of TVM 0.19, with one difference: averages keep
fractions of a step until they are rescaled to the group's scale.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
from tvm import relax

from qnn_ops.arithmetic.fixed_point import round_half_away
from qnn_ops.dialect.registry import constant_of
from qnn_ops.errors import QnnError
from tvm_qnn.relay import op
from tvm_qnn.relay.expr import spec, typed
from tvm_qnn.relay.qnn import canonical
from tvm_qnn.relay.qnn import op as qnn
from tvm_qnn.relay.qnn.op.canonicalizations import create_integer_lookup_op
from tvm_qnn.relay.qnn.op.elementwise import erf_of

_BYTES = ("int8", "uint8")
_LARGEST = 1 << 22
"""Constants have fewer steps than this: their product with 9 bits of a byte fits into int32."""

_FRACTION = 6
"""The most fractional bits of an average: with the 9 bits of a step they fit into int16."""


class NoRuleError(QnnError):
    """An operator or operand cannot be computed in integers."""


@dataclass(frozen=True)
class Encoded:
    """Integers and their encoding; their real numbers are (data - point) · scale.

    Attributes:
        data: the integers.
        scale: float32, one or one per channel.
        point: the zero point, one or one per channel.
        axis: the axis of the channels; it does not matter if there is one scale and zero point.
    """

    data: relax.Expr
    scale: Any
    point: Any
    axis: int = -1

    @property
    def is_whole(self) -> bool:
        """Whether all channels have the same scale and zero point."""
        return np.size(self.scale) == np.size(self.point) == 1

    @property
    def dtype(self) -> str:
        """The dtype of the integers."""
        return str(spec("data", self.data).dtype)

    def centred(self) -> relax.Expr:
        """Return the integers without their zero point, as int32."""
        return canonical.centred(self.data, np.asarray(self.point).tolist(), self.axis)


@dataclass(frozen=True)
class Wanted:
    """The encoding of a group's quantize.

    Attributes:
        scale: the result's scale.
        point: the result's zero point.
        dtype: the result's dtype.
    """

    scale: Any
    point: Any
    dtype: str


Rule = Callable[[relax.Call, Sequence[Any], Wanted], Encoded]


def ended(encoded: Any, wanted: Wanted) -> relax.Expr:
    """Convert a group's integers to the encoding of its quantize."""
    if not isinstance(encoded, Encoded):
        raise NoRuleError("a constant")
    if _same(encoded.scale, wanted.scale) and np.array_equal(encoded.point, wanted.point):
        return canonical.narrowed(encoded.data, wanted.dtype)
    return _rescaled(encoded, wanted, wanted.dtype)


def _same(scale: Any, other: Any) -> bool:
    have, want = np.float32(scale), np.float32(other)
    return have.shape == want.shape and bool(np.allclose(have, want, rtol=1e-5))


def _rescaled(encoded: Encoded, wanted: Wanted, dtype: str = "int32") -> relax.Expr:
    """Return the integers at the scale of the group."""
    if np.size(wanted.scale) > 1 or np.size(wanted.point) > 1:
        raise NoRuleError("quantize with a scale per channel")
    quantization = (*_listed(encoded), *_listed(wanted))
    return canonical.rescaled(encoded.data, *quantization, dtype, encoded.axis)


def _listed(encoding: Encoded | Wanted) -> tuple[Any, Any]:
    """Return scale and zero point as Python's numbers, or lists of them."""
    return np.asarray(encoding.scale).tolist(), np.asarray(encoding.point).tolist()


def _only(parts: Sequence[Any]) -> Encoded:
    """Return the only operand that is not a constant.

    Raises:
        NoRuleError: if it has one scale per channel.
    """
    (encoded,) = (part for part in parts if isinstance(part, Encoded))
    if not encoded.is_whole:
        raise NoRuleError("an operator of data that has a scale per channel")
    return encoded


def _moved(call: relax.Call, parts: Sequence[Any], _wanted: Wanted) -> Encoded:
    """Move, choose or compare values: with one encoding, integers behave like real numbers."""
    encoded = _only(parts)
    operands = [part.data if isinstance(part, Encoded) else part for part in parts]
    return replace(encoded, data=typed(relax.Call(call.op, operands, call.attrs, call.ty_args)))


def _reshaped(call: relax.Call, parts: Sequence[Any], wanted: Wanted) -> Encoded:
    """Reshape; a vector with one scale per value may only get axes of size 1."""
    encoded = parts[0]
    if encoded.is_whole:
        return _moved(call, parts, wanted)
    shape = spec("data", call).shape
    size = np.size(encoded.scale)
    if spec("data", encoded.data).shape != (size,) or shape.count(size) != 1:
        raise NoRuleError("reshape of data that has a scale per channel")
    return replace(encoded, data=op.reshape(encoded.data, shape), axis=shape.index(size))


def _transposed(call: relax.Call, parts: Sequence[Any], wanted: Wanted) -> Encoded:
    (encoded,) = parts
    if encoded.is_whole:
        return _moved(call, parts, wanted)
    rank = len(spec("data", encoded.data).shape)
    axes = list(range(rank))[::-1] if call.attrs.axes is None else [int(a) for a in call.attrs.axes]
    moved = typed(relax.Call(call.op, [encoded.data], call.attrs, call.ty_args))
    return replace(encoded, data=moved, axis=axes.index(encoded.axis % rank))


def _bound(encoded: Encoded, real: float) -> relax.Expr:
    """Return the integer of a bound for each channel."""
    shape = spec("data", encoded.data).shape
    return canonical.along(_steps(encoded, real), encoded.dtype, shape, encoded.axis)


def _steps(encoded: Encoded, real: float) -> Any:
    """Return the integer of a real number for each channel, clamped to the dtype."""
    steps = round_half_away(np.float32(real) / encoded.scale) + np.float32(encoded.point)
    info = np.iinfo(encoded.dtype)
    # float64 can represent the highest int32.
    return np.clip(steps.astype(np.float64), info.min, info.max).astype(encoded.dtype)


def _rectified(_call: relax.Call, parts: Sequence[Any], _wanted: Wanted) -> Encoded:
    (encoded,) = parts
    return replace(encoded, data=op.maximum(encoded.data, _bound(encoded, 0.0)))


def _clipped(call: relax.Call, parts: Sequence[Any], _wanted: Wanted) -> Encoded:
    encoded = parts[0]
    low, high = (float(end.value) for end in call.args[1:])
    data = op.minimum(op.maximum(encoded.data, _bound(encoded, low)), _bound(encoded, high))
    return replace(encoded, data=data)


def _absolute(_call: relax.Call, parts: Sequence[Any], _wanted: Wanted) -> Encoded:
    encoded = _only(parts)
    return Encoded(op.abs(encoded.centred()), encoded.scale, np.asarray(0))


def _leaky(call: relax.Call, parts: Sequence[Any], wanted: Wanted) -> Encoded:
    encoded = _only(parts)
    have = _listed(encoded)
    data = canonical.leaky_relu(encoded.data, float(call.attrs.alpha), *have, *have)
    return replace(encoded, data=data)


def _averaged(call: relax.Call, parts: Sequence[Any], _wanted: Wanted) -> Encoded:
    """Average integers, with some more bits than a step has."""
    encoded = _only(parts)
    if encoded.dtype not in _BYTES:
        raise NoRuleError("an average of sums or averages")
    values = encoded.centred()
    results = prod(spec("an average", call).shape)
    count = max(1, -(-prod(spec("data", values).shape) // results))
    if str(call.op.name) == "relax.nn.avg_pool2d":
        count = prod(int(size) for size in call.attrs.pool_size)
    bits = max(0, min(_FRACTION, 30 - int(np.ceil(np.log2(256 * count)))))
    values = op.multiply(values, op.full(relax.const(1 << bits, "int32"), (1,), "int32"))
    averages = typed(relax.Call(call.op, [values, *call.args[1:]], call.attrs, call.ty_args))
    return Encoded(
        op.cast(averages, "int16"), np.float32(encoded.scale / (1 << bits)), np.asarray(0)
    )


def _resized(call: relax.Call, parts: Sequence[Any], wanted: Wanted) -> Encoded:
    """Choose pixels, or average them."""
    is_choice = str(call.attrs.method) == "nearest_neighbor"
    return (_moved if is_choice else _averaged)(call, parts, wanted)


def _products(call: relax.Call, parts: Sequence[Any], _wanted: Wanted) -> Encoded:
    """Multiply matrices, or convolve; the second operand may have one scale per channel."""
    data, weights = parts
    if not all(isinstance(part, Encoded) for part in parts) or not data.is_whole:
        raise NoRuleError("a product with a constant of floats")
    if any(part.dtype not in _BYTES for part in parts):
        raise NoRuleError("a product of sums or averages")
    scales, points = zip(_listed(data), _listed(weights), strict=True)
    attrs = call.attrs
    if str(call.op.name) == "relax.matmul":
        rank = len(spec("weights", weights.data).shape)
        if not weights.is_whole and weights.axis % rank != rank - 1:
            raise NoRuleError("a matrix product whose rows have a scale each")
        sums = typed(relax.op.matmul(data.centred(), weights.centred(), "int32"))
        return Encoded(sums, data.scale * weights.scale, np.asarray(0), -1)
    operands = (data.data, weights.data, *points, *scales)
    window: dict[str, Any] = {
        name: [int(each) for each in getattr(attrs, name)]
        for name in ("strides", "padding", "dilation", "output_padding")
        if hasattr(attrs, name)
    }
    if str(call.op.name) == "relax.nn.conv2d":
        made = qnn.conv2d(*operands, None, None, **window, groups=int(attrs.groups))
    else:
        made = qnn.conv2d_transpose(*operands, **window, groups=int(attrs.groups))
    return Encoded(made, data.scale * weights.scale, np.asarray(0), 1)


def _operands(parts: Sequence[Any]) -> list[Encoded]:
    """Return both operands; a constant gets the other operand's scale."""
    encoded = next((part for part in parts if isinstance(part, Encoded)), None)
    if encoded is None:
        raise NoRuleError("constants alone")
    found = []
    for part in parts:
        if isinstance(part, Encoded):
            found.append(part)
            continue
        values = constant_of(part)
        shape = spec("data", encoded.data).shape
        sizes = [1] * len(shape)
        if np.size(encoded.scale) > 1:
            sizes[encoded.axis] = -1
        scale = np.reshape(encoded.scale, sizes)
        steps = round_half_away(np.asarray(values, np.float32) / scale)
        if not np.all(np.abs(steps) < _LARGEST):
            raise NoRuleError("a constant that is large beside the scale")
        steps = steps.astype(np.int32)
        found.append(
            Encoded(relax.const(steps, "int32"), encoded.scale, np.asarray(0), encoded.axis)
        )
    return found


def _summed(combine: Callable[..., relax.Expr]) -> Rule:
    def rule(_call: relax.Call, parts: Sequence[Any], wanted: Wanted) -> Encoded:
        first, second = _operands(parts)
        same = _same(first.scale, second.scale)
        if (same and first.axis == second.axis) or (same and first.is_whole and second.is_whole):
            sums = combine(first.centred(), second.centred())
            return Encoded(sums, first.scale, np.asarray(0), first.axis)
        point = relax.const(np.int32(wanted.point), "int32")
        values = [op.subtract(_rescaled(each, wanted), point) for each in (first, second)]
        return Encoded(combine(*values), np.float32(wanted.scale), np.asarray(0))

    return rule


def _multiplied(_call: relax.Call, parts: Sequence[Any], _wanted: Wanted) -> Encoded:
    first, second = _operands(parts)
    if not first.is_whole and not second.is_whole and first.axis != second.axis:
        raise NoRuleError("a product of scales along two axes")
    if any(isinstance(part, Encoded) and part.dtype not in _BYTES for part in parts):
        raise NoRuleError("a product of sums or averages")
    product = op.multiply(first.centred(), second.centred())
    axis = second.axis if first.is_whole else first.axis
    return Encoded(product, first.scale * second.scale, np.asarray(0), axis)


def _joined(call: relax.Call, parts: Sequence[Any], wanted: Wanted) -> Encoded:
    (fields,) = parts
    if not all(isinstance(field, Encoded) for field in fields):
        raise NoRuleError("a concatenation with a constant of floats")
    values = [_rescaled(field, wanted, wanted.dtype) for field in fields]
    return _at(wanted, op.concatenate(values, int(call.attrs.axis)))


def _at(wanted: Wanted, data: relax.Expr) -> Encoded:
    return Encoded(data, np.float32(wanted.scale), np.asarray(wanted.point))


def _padded(call: relax.Call, parts: Sequence[Any], _wanted: Wanted) -> Encoded:
    encoded = _only(parts)
    attrs = call.attrs
    value = float(_steps(encoded, attrs.pad_value))
    width = [int(each) for each in attrs.pad_width]
    padded = relax.op.nn.pad(encoded.data, width, str(attrs.pad_mode), value)
    return replace(encoded, data=typed(padded))


def _by_table(function: Callable[[Any], Any]) -> Rule:
    def rule(_call: relax.Call, parts: Sequence[Any], wanted: Wanted) -> Encoded:
        encoded = _only(parts)
        dtype = encoded.dtype
        if dtype not in _BYTES or wanted.dtype not in _BYTES:
            raise NoRuleError("a table of more than 8 bits")
        data = create_integer_lookup_op(
            *(encoded.data, function, *_listed(encoded), *_listed(wanted)),
            in_dtype=dtype,
            out_dtype=wanted.dtype,
        )
        return _at(wanted, data)

    return rule


def _softmax(call: relax.Call, parts: Sequence[Any], wanted: Wanted) -> Encoded:
    encoded = _only(parts)
    quantization = (*_listed(encoded), *_listed(wanted))
    return _at(wanted, qnn.softmax(encoded.data, *quantization, int(call.attrs.axis)))


OPTIONAL = {"relax.nn.softmax": "nn.softmax"}
"""Operators that stay float unless their Relay name is listed."""

RULES: dict[str, Rule] = {
    **dict.fromkeys(
        (
            *("relax.squeeze", "relax.expand_dims", "relax.strided_slice"),
            *("relax.broadcast_to", "relax.split", "relax.take", "relax.topk", "relax.tile"),
            *("relax.max", "relax.min", "relax.nn.max_pool2d", "relax.nn.batch_flatten"),
        ),
        _moved,
    ),
    "relax.reshape": _reshaped,
    "relax.permute_dims": _transposed,
    "relax.nn.relu": _rectified,
    "relax.clip": _clipped,
    "relax.abs": _absolute,
    "relax.nn.leakyrelu": _leaky,
    **dict.fromkeys(
        (
            *("relax.mean", "relax.nn.avg_pool2d", "relax.nn.adaptive_avg_pool1d"),
            "relax.nn.adaptive_avg_pool2d",
        ),
        _averaged,
    ),
    "relax.image.resize2d": _resized,
    **dict.fromkeys(("relax.matmul", "relax.nn.conv2d", "relax.nn.conv2d_transpose"), _products),
    "relax.add": _summed(op.add),
    "relax.subtract": _summed(op.subtract),
    "relax.minimum": _summed(op.minimum),
    "relax.maximum": _summed(op.maximum),
    "relax.multiply": _multiplied,
    "relax.concat": _joined,
    "relax.nn.pad": _padded,
    "relax.sqrt": _by_table(np.sqrt),
    "relax.rsqrt": _by_table(lambda x: 1 / np.sqrt(x)),
    "relax.exp": _by_table(np.exp),
    "relax.erf": _by_table(erf_of),
    "relax.sigmoid": _by_table(lambda x: 1 / (1 + np.exp(-x))),
    "relax.tanh": _by_table(np.tanh),
    "relax.log": _by_table(np.log),
    "relax.nn.softmax": _softmax,
}
"""The integer rules by operator."""
