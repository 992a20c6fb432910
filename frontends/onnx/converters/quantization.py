"""QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.builder import ModuleBuilder
from frontends.errors import UnsupportedError
from frontends.onnx.converters.registry import Call, converter
from qnn_ops import dequantize, dynamic_encoding, dynamic_quantize, quantize
from qnn_ops.arithmetic.onnxruntime import ONNXRUNTIME
from qnn_ops.arithmetic.rounded import rounded
from qnn_ops.dialect.attributes import ACTIVATIONS
from qnn_ops.dialect.registry import constant_of, spec_of

_INTEGERS = (*ACTIVATIONS, "uint16")


@converter("QuantizeLinear")
def _quantize_linear(call: Call, data: relax.Expr, scale: relax.Expr, point: Any) -> Any:
    dtype = (call.dtype("output_dtype") or "uint8") if point is None else spec_of(point).dtype
    _check_dtypes([data, scale], _INTEGERS, dtype)
    encoding = Encoding(call, data, scale, point)
    # A node with the attribute "apart" belongs to no group: its data are sums of integers.
    if encoding.is_known and dtype in ACTIVATIONS and not call.integer("apart"):
        array = constant_of(data)
        if array is not None:  # a node makes these weights, but kernels read constants
            made = quantize.evaluate(
                array, *encoding.known(), dtype, encoding.axis, arithmetic=ONNXRUNTIME
            )
            return relax.const(made, dtype)
        return quantize(data, *encoding.known(), dtype, encoding.axis, arithmetic=ONNXRUNTIME)
    limits, origin = np.iinfo(dtype), encoding.points()
    known = constant_of(origin.expr)
    lowest, highest = (
        (end - origin).astype(np.float32) if known is None else np.asarray(end - known, np.float32)
        for end in (np.int32(limits.min), np.int32(limits.max))
    )
    steps = call.array(data) / encoding.scales()
    # ONNX Runtime quantizes NaN, which is not equal to itself, as the lowest value.
    number = np.where(steps == steps, steps, lowest)
    # The constant comes first: then the maximum does not test for NaN again.
    bounded = np.rint(np.minimum(highest, np.maximum(lowest, number)))
    return (bounded.astype(np.int32) + origin).astype(dtype)


@converter("DequantizeLinear")
def _dequantize_linear(call: Call, data: relax.Expr, scale: relax.Expr, point: Any) -> Any:
    dtype = spec_of(data).dtype
    _check_dtypes([scale], (*_INTEGERS, "int32"), dtype)
    encoding = Encoding(call, data, scale, point)
    if encoding.is_known and dtype != "uint16":
        scales, points = encoding.known()
        return dequantize(data, scales, points, axis=encoding.axis)
    steps = call.array(data).astype(np.int32)
    if point is not None and dtype != "int32":
        steps = steps - encoding.points()
    return rounded(steps.astype(np.float32) * encoding.scales())


class Encoding:
    """Scales and zero points beside the data that they belong to."""

    def __init__(
        self, call: Call, data: relax.Expr, scale: relax.Expr, point: relax.Expr | None = None
    ) -> None:
        self.call, self.scale, self.point = call, scale, point
        self.shape, self.sizes = spec_of(data).shape, spec_of(scale).shape
        self.block = call.integer("block_size")
        rank, axis = len(self.shape), call.integer("axis", 1)
        count = int(np.prod(self.sizes))
        self.axis = -1 if count == 1 and not self.block else axis % max(rank, 1)
        if not -rank <= axis < rank and self.axis >= 0:
            raise UnsupportedError(f"axis {axis} is outside a tensor of {rank} dimensions")
        points = self.sizes if point is None else spec_of(point).shape
        if points != self.sizes and (count > 1 or int(np.prod(points)) > 1):
            raise UnsupportedError("scale and zero point have different shapes")
        if self.block:
            fits = len(self.sizes) == rank and all(
                size == (-(-extent // self.block) if each == self.axis else extent)
                for each, (size, extent) in enumerate(zip(self.sizes, self.shape, strict=False))
            )
        else:
            fits = self.axis < 0 or self.sizes == (self.shape[self.axis],)
        if not fits:
            raise UnsupportedError(f"scales of shape {self.sizes} for data of {self.shape}")

    @property
    def is_known(self) -> bool:
        """Whether the dialect's operators can name it."""
        constants = [constant_of(each) for each in (self.scale, self.point) if each is not None]
        return not self.block and all(each is not None for each in constants)

    def known(self) -> tuple[Any, Any]:
        """Return scales and zero points as numbers or lists."""
        scales = constant_of(self.scale)
        points = constant_of(self.point)
        assert scales is not None
        flat = [0] if points is None else np.asarray(points, np.int64).reshape(-1).tolist()
        return scales.reshape(-1).tolist(), flat[0] if len(set(flat)) == 1 else flat

    def scales(self) -> Any:
        """Return the scales in a shape that broadcasts to the data's."""
        return self.call.array(self._laid_out(self.scale))

    def points(self) -> Any:
        """Return the zero points in a shape that broadcasts to the data's, as int32."""
        if self.point is None:
            return self.call.array(relax.const(np.zeros((1,) * len(self.shape), np.int32)))
        point = self._laid_out(self.point)
        if (known := constant_of(point)) is not None:
            point = relax.const(known.astype(np.int32))
        return self.call.array(point).astype(np.int32)

    def _laid_out(self, values: relax.Expr) -> relax.Expr:
        if self.block:
            repeated = R.repeat(values, self.block, self.axis)
            extent = self.shape[self.axis]
            return self.call.emit(R.strided_slice(repeated, [self.axis], [0], [extent]))
        shape = [-1 if each == self.axis else 1 for each in range(len(self.shape))]
        laid_out = shape if self.axis >= 0 else ()
        known = constant_of(values)
        if known is not None:
            return relax.const(known.reshape(laid_out))
        return self.call.emit(R.reshape(values, laid_out))


def _check_dtypes(reals: Sequence[relax.Expr], integers: Sequence[str], dtype: str) -> None:
    """Refuse real numbers of other dtypes than float32, and integers of unknown dtypes."""
    if any(spec_of(each).dtype != "float32" for each in reals):
        raise UnsupportedError("real numbers and scales must be float32")
    if dtype not in integers:
        raise UnsupportedError(f"{dtype} is not imported")


_FORMS = {
    "float8_e4m3fn": (3, -6, 448.0),
    "float8_e4m3fnuz": (3, -7, 240.0),
    "float8_e5m2": (2, -14, 57344.0),
    "float8_e5m2fnuz": (2, -15, 57344.0),
}
"""The fraction's bits, the exponent of the least normal number, and the largest number."""


@converter("QuantizeFloat8")
def _quantize(call: Call, data: relax.Expr, scale: relax.Expr) -> Any:
    """Round x / scale to the nearest number, ties to even; saturate it, and keep NaN."""
    if spec_of(data).dtype != "float32":
        raise UnsupportedError("real numbers must be float32")
    kind = call.text("dtype")
    if kind not in _FORMS:
        raise UnsupportedError(f"{kind} is not imported")
    bits, least, most = _FORMS[kind]
    ratio = call.array(data) / Encoding(call, data, scale).scales()
    size, step = np.abs(ratio), ratio.to(relax.const(np.float32(2.0 ** (least - bits))))
    for exponent in range(least + 1, int(np.log2(most)) + 1):
        step = np.where(size >= 2.0**exponent, 2.0 ** (exponent - bits), step)
    bounded = np.minimum(np.maximum(np.rint(ratio / step) * step, -most), most)
    if kind.endswith("uz"):  # it has no -0
        bounded = np.where(bounded == 0, 0, bounded)
    return np.where(ratio == ratio, bounded, ratio)


@converter("DequantizeFloat8")
def _dequantize(call: Call, data: relax.Expr, scale: relax.Expr) -> Any:
    return call.array(data) * Encoding(call, data, scale).scales()


_LOWEST = -128  # the zero point that is 0 as uint8


@converter("DynamicQuantizeLinear")
def _dynamic_quantize_linear(call: Call, data: relax.Expr) -> relax.Expr:
    """Return the quantized bytes of a tensor, their scale and their zero point."""
    return relax.Tuple(quantized(call.builder, data))


def quantized(
    builder: relax.BlockBuilder | ModuleBuilder, data: relax.Expr
) -> tuple[relax.Expr, relax.Expr, relax.Expr]:
    """Quantize a tensor by its range: bytes, their scale and their zero point."""
    emit = builder.emit
    encoding = emit(dynamic_encoding(data, True, arithmetic=ONNXRUNTIME, whole=True))
    values = emit(dynamic_quantize(data, encoding, "uint8", arithmetic=ONNXRUNTIME))

    def field(number: int) -> relax.Expr:
        column = emit(R.strided_slice(encoding, [0], [number], [number + 1]))
        return emit(R.reshape(column, ()))

    steps = R.subtract(R.astype(field(2), "int32"), relax.const(_LOWEST, "int32"))
    point = emit(R.astype(steps, "uint8"))
    return values, field(0), point
