"""Elementwise operators: activations, powers, extremes, shifts of bits."""

from functools import reduce
from typing import Any

import numpy as np
from tvm import relax, te, tirx
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.onnx.converters.registry import Call, converter, formula
from qnn_ops import float_function
from qnn_ops.arithmetic.rounded import rounded
from qnn_ops.dialect.registry import as_const, constant_of, spec_of


@converter("Sign")
def _sign(_: Call, data: relax.Expr) -> relax.Expr:
    """Return −1, 0 or 1; min(x, 1) for unsigned integers, because TVM cannot compile their Sign."""
    dtype = str(data.ty.dtype)
    if not dtype.startswith("uint"):
        return R.sign(data)
    return R.minimum(data, relax.const(np.dtype(dtype).type(1)))


@formula("IsInf")
def _is_inf(call: Call, data: Any) -> Any:
    """Tell whether numbers are infinite, with both signs or with one of them."""
    wanted = {"positive": np.inf, "negative": -np.inf}
    found = [data == end for sign, end in wanted.items() if call.integer(f"detect_{sign}", 1)]
    if len(found) == 2:
        return found[0] | found[1]
    return found[0] if found else relax.const(np.zeros(data.shape, bool))


@converter("Max", "Min")
def _extreme(call: Call) -> relax.Expr:
    function = R.maximum if call.op == "Max" else R.minimum
    return reduce(lambda found, each: call.emit(function(found, each)), call.given)


@converter("BitCast")
def _bit_cast(call: Call, data: relax.Expr) -> relax.Expr:
    """Reinterpret the bits of each element as an element of another dtype."""
    if not (dtype := call.dtype("to")):
        raise UnsupportedError("its attribute 'to' names no dtype")
    if np.dtype(dtype).itemsize != np.dtype(spec_of(data).dtype).itemsize:
        raise UnsupportedError(f"elements of {spec_of(data).dtype} as {dtype}")
    if "bool" in (dtype, spec_of(data).dtype):  # TVM has bools of one bit in expressions
        return call.emit(R.astype(data, dtype))

    def compute(tensor: te.Tensor) -> te.Tensor:
        return te.compute(tensor.shape, lambda *index: tirx.reinterpret(dtype, tensor(*index)))

    return call.builder.call_te(compute, data, primfunc_name_hint="bit_cast")


@formula("BitShift")
def _bit_shift(call: Call, data: Any, distance: Any) -> Any:
    """Shift bits; a negative shift, or one beyond the width, shifts all of them out."""
    direction = call.text("direction")
    if "int" not in data.dtype.name or direction not in ("LEFT", "RIGHT"):
        raise UnsupportedError(f"{data.dtype} in direction {direction!r}")
    info = np.iinfo(data.dtype)
    last = data.to(relax.const(np.asarray(info.bits - 1, data.dtype), data.dtype.name))
    is_within = distance <= last
    if info.min:
        is_within = is_within & (distance >= 0)
    near = np.where(is_within, distance, last)
    if direction == "RIGHT" and info.min:  # the sign stays
        return data >> near
    shifted = data << near if direction == "LEFT" else data >> near
    return np.where(is_within, shifted, 0)


@converter("Pow")
def _pow(call: Call, base: relax.Expr, exponent: relax.Expr) -> relax.Expr:
    """Return powers; powers of integers are computed in float64 and truncated.

    If the exponent is the constant 2 or 3, this function multiplies, as ONNX Runtime does.
    """
    dtype = spec_of(base).dtype
    known = constant_of(exponent)
    if known is not None and known.size == 1 and known.item() in (2, 3):
        shape = np.broadcast_shapes(spec_of(base).shape, known.shape)
        base = call.emit(R.reshape(base, shape))
        square = call.emit(R.multiply(base, base))
        return square if known.item() == 2 else R.multiply(square, base)
    if not dtype.startswith("float"):
        wide = (call.emit(R.astype(each, "float64")) for each in (base, exponent))
        return R.astype(call.emit(R.power(*wide)), dtype)
    if known is not None:
        # A scalar would become a literal in the code. LLVM would then turn some powers into a root
        # or a quotient with other last bits, and TVM would warn of some powers.
        exponent = relax.const(np.atleast_1d(known).astype(dtype), dtype)
        result = call.emit(R.power(base, exponent))
        shape = np.broadcast_shapes(spec_of(base).shape, known.shape)
        return result if spec_of(result).shape == shape else R.reshape(result, shape)
    if spec_of(exponent).dtype != dtype:
        exponent = call.emit(R.astype(exponent, dtype))
    return R.power(base, exponent)


@formula("Mod")
def _mod(call: Call, lhs: Any, rhs: Any) -> Any:
    """Return remainders; they have the divisor's sign, or with ``fmod`` the dividend's."""
    if lhs.dtype.kind != "f" and not call.integer("fmod"):
        return lhs % rhs
    rest = lhs.to(R.mod(lhs.expr, rhs.expr))
    if call.integer("fmod"):
        return rest
    is_other = ((rest < 0) & (rhs > 0)) | ((rest > 0) & (rhs < 0))
    size = np.abs(np.where(is_other, rest + rhs, rest))
    return np.where(rhs < 0, -size, size)  # a zero has the sign, too


@formula("Celu")
def _celu(call: Call, data: Any) -> Any:
    """Return max(0, x) + min(0, alpha (exp(x / alpha) - 1))."""
    alpha = np.float32(call.attributes.get("alpha", 1.0))
    if not np.isfinite(alpha) or alpha == 0:
        raise UnsupportedError(f"alpha must be a number that is not 0, got {alpha}")
    low = (np.exp(data / alpha) - 1) * alpha
    return np.maximum(data, 0) + np.minimum(low, 0)


_LINEAR = 0.7978845608028654
"""The square root of 2 / π."""


@formula("Gelu")
def _gelu(call: Call, data: Any) -> Any:
    """Return half of the data, times 1 plus the error function of the data times √½.

    The approximate form replaces the error function by the hyperbolic tangent of a cubic function
    of the data, with ONNX Runtime's factors.
    """
    approximation = call.text("approximate", "none")
    if approximation not in ("none", "tanh"):
        raise UnsupportedError(f"the approximation {approximation!r} is not known")
    if approximation == "none":
        shape = data.to(R.erf((data * 0.5**0.5).expr))
    else:
        inner = data * (0.035677408136300125 * data * data + _LINEAR)
        shape = data.to(float_function(inner.expr, "onnxruntime_tanh"))
    return 0.5 * data * (shape + 1)


@formula("HardSigmoid", "HardSwish", dtype="float32")
def _hard_sigmoid(call: Call, data: Any) -> Any:
    """Return a line between 0 and 1; HardSwish multiplies the data by it, as ONNX Runtime does."""
    is_swish = call.op == "HardSwish"
    alpha = call.attributes.get("alpha", 1 / 6 if is_swish else 0.2)
    line = rounded(data * alpha) + call.attributes.get("beta", 0.5)
    bounded = np.minimum(np.maximum(line, 0), 1)
    return data * bounded if is_swish else bounded


@converter("Clip")
def _clip(call: Call, data: relax.Expr, low: Any, high: Any) -> relax.Expr:
    """Clip the data; the dtype's bound replaces a missing one, so infinities become finite."""
    dtype = str(spec_of(data).dtype)
    for end, name, bound in ((low, "min", R.maximum), (high, "max", R.minimum)):
        if end is None and name in call.attributes:
            end = relax.const(np.float32(call.attributes[name]))
        if end is None and dtype.startswith("float"):
            end = relax.const(getattr(np.finfo(dtype), name), dtype)
        if end is None:
            continue
        known = constant_of(end)
        if known is None or known.size != 1 or known != known:
            raise UnsupportedError("its ends must be constant numbers")
        data = bound(data, as_const(known.reshape(())))
    return data


@formula("PRelu", dtype="float32")
def _prelu(_: Call, data: Any, slope: Any) -> Any:
    return np.where(data < 0, data * slope, data)


@formula("ThresholdedRelu", dtype="float32")
def _thresholded_relu(call: Call, data: Any) -> Any:
    """Return the elements above a threshold; 0 replaces the other elements and NaN."""
    return np.where(data > call.attributes.get("alpha", 1.0), data, 0)
