"""Functions and arithmetic of floats that Relax lacks, as loops."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from tvm import relax, te, tirx
from tvm.script.ir_builder import tirx as T
from tvm.tirx import call_llvm_pure_intrin

from legalize.primitives.loops import call_loops
from legalize.primitives.registry import Builder, primitive
from qnn_ops.arithmetic import float_polynomials as polynomials
from qnn_ops.arithmetic.float_epilogue import fused_multiply_add_float32
from qnn_ops.dialect.expressions import Expression, implement, operand
from qnn_ops.dialect.registry import Attrs, spec_of
from qnn_ops.dialect.sizes import as_extent, broadcast, sizes_of
from qnn_ops.unquantized.float_arithmetic import (
    OTHER,
    natural_power,
    reinterpret,
)
from qnn_ops.unquantized.float_function import float_function


@implement(fused_multiply_add_float32)
def _multiply_add(*factors_and_addend: Any) -> Expression:
    first: Expression = factors_and_addend[0]
    builder = first.builder
    operands = [builder.normalize(operand(each, np.float32)) for each in factors_and_addend]
    shape = list(map(as_extent, broadcast(*(spec_of(each).shape for each in operands))))

    def compute(*tensors: te.Tensor) -> te.Tensor:
        def element(*indices: Any) -> Any:
            values = [_at(tensor, indices) for tensor in tensors]
            return call_llvm_pure_intrin("float32", "llvm.fma.f32", *values)

        return te.compute(shape, element, "fused_multiply_add")

    result = builder.emit_te(compute, *operands, primfunc_name_hint="fused_multiply_add")
    return first.to(result)


def _at(tensor: te.Tensor, indices: tuple[Any, ...]) -> Any:
    own = indices[len(indices) - len(tensor.shape) :]
    return tensor(
        *(0 if size == 1 else i for size, i in zip(sizes_of(tensor.shape), own, strict=True))
    )


_HIGHEST = 30  # the highest bit of a positive int32
_MOST = float(np.finfo(np.float32).max)


@primitive(natural_power)
def _natural_power(
    builder: Builder, _: Attrs, data: relax.Expr, exponent: relax.Expr
) -> relax.Expr:
    spec = spec_of(data)
    (size,), product = spec.shape, _wrapped if spec.dtype == "int32" else _clamped

    def write(data: Any, exponent: Any, output: Any) -> None:
        with T.serial(size) as place:
            T.buffer_store(output, data[place], [place])
        with T.serial(_HIGHEST) as turn:
            left = T.shift_right(T.max(exponent[0], 1), _HIGHEST - 1 - turn)
            with T.If(left > 1), T.Then():
                with T.serial(size) as place:
                    square = product(output[place], output[place])
                    T.buffer_store(output, square, [place])
                with T.If(T.bitwise_and(left, 1) == 1), T.Then(), T.serial(size) as place:
                    more = product(data[place], output[place])
                    T.buffer_store(output, more, [place])

    operands = [data, exponent]
    return call_loops(builder, "natural_power", operands, spec.shape, spec.dtype, write)


def _wrapped(lhs: tirx.Expr, rhs: tirx.Expr) -> tirx.Expr:
    # The product has 64 bits, as TVM lets LLVM assume that int32 does not overflow.
    return T.cast(T.cast(lhs, "int64") * T.cast(rhs, "int64"), "int32")


def _clamped(lhs: tirx.Expr, rhs: tirx.Expr) -> tirx.Expr:
    product, most, lowest = lhs * rhs, T.float32(_MOST), T.float32(-_MOST)
    # NaN stays NaN.
    return T.Select(product > most, most, T.Select(product < lowest, lowest, product))


@primitive(reinterpret)
def _reinterpret(builder: Builder, _: Attrs, data: relax.Expr) -> relax.Expr:
    spec = spec_of(data)
    (size,), dtype = spec.shape, OTHER[spec.dtype]

    def write(data: Any, output: Any) -> None:
        with T.serial(size) as place:
            T.buffer_store(output, T.reinterpret(dtype, data[place]), [place])

    return call_loops(builder, "reinterpret", [data], spec.shape, dtype, write)


Expr = Any
"""A scalar of TIR."""

MultiplyAdd = Callable[[Expr, Expr, Expr], Expr]

_WHOLES_BITS = int(np.float32(polynomials.WHOLES).view(np.int32))
_BIAS, _MANTISSA_BITS = 127, 23
_FAR = 1e30


@primitive(float_function)
def _float_function(builder: Builder, attrs: Attrs, data: relax.Expr) -> relax.Expr:
    function = function_of(attrs.function)

    def compute(tensor: te.Tensor) -> te.Tensor:
        return te.compute(tensor.shape, lambda *at: function(tensor(*at)), attrs.function)

    result: relax.Expr = builder.emit_te(compute, data, primfunc_name_hint=attrs.function)
    return result


def _const(value: float) -> Expr:
    return tirx.const(float(np.float32(value)), "float32")


def let(value: Expr, body: Callable[[Expr], Expr]) -> Expr:
    """Compute a value once."""
    variable = tirx.Var("x", value.ty.dtype)
    return tirx.Let(variable, value, body(variable))


def _fma(lhs: Expr, rhs: Expr, addend: Expr) -> Expr:
    return call_llvm_pure_intrin("float32", "llvm.fma.f32", lhs, rhs, addend)


def _unfused(lhs: Expr, rhs: Expr, addend: Expr) -> Expr:
    """Return a sum that LLVM rounds once if the processor has an instruction for that."""
    return lhs * rhs + addend


def horner(
    coefficients: Sequence[float],
    x: Expr,
    fma: MultiplyAdd = _fma,
    const: Callable[[float], Expr] = _const,
) -> Expr:
    """Compute a polynomial from its highest coefficient on."""
    result = const(coefficients[0])
    for coefficient in coefficients[1:]:
        result = fma(result, x, const(coefficient))
    return result


def _exp(
    x: Expr,
    coefficients: Sequence[float],
    fma: MultiplyAdd = _fma,
    lowest: float = polynomials.LOWEST_EXPONENT,
    spare: int = 0,
) -> Expr:
    high, low = polynomials.MINUS_LOG_2

    def bounded(x: Expr) -> Expr:
        return let(
            fma(x, _const(polynomials.LOG2_E), _const(polynomials.WHOLES)), lambda b: of(x, b)
        )

    def of(x: Expr, biased: Expr) -> Expr:
        # This is a difference of bits: TVM would simplify a difference of floats.
        power = tirx.reinterpret("int32", biased) - tirx.const(_WHOLES_BITS, "int32")
        whole = power.astype("float32")
        rest = fma(whole, _const(low), fma(whole, _const(high), x))
        biased = power + tirx.const(_BIAS + spare, "int32")
        factor = tirx.reinterpret("float32", biased << tirx.const(_MANTISSA_BITS, "int32"))
        result = let(rest, lambda rest: horner(coefficients, rest, fma) * factor)
        return result * _const(2.0**-spare) if spare else result

    return let(tirx.max(_const(lowest), x), bounded)


def _erf(x: Expr) -> Expr:
    def of(size: Expr) -> Expr:
        below = let(
            size * size, lambda square: _fma(horner(polynomials.ERF_BELOW, square), size, size)
        )
        exponent = _fma(horner(polynomials.ERF_ABOVE, size), size, size)
        above = _const(1) - _exp(_const(0) - exponent, polynomials.ERF_EXP)
        value = tirx.Select(size > _const(polynomials.ERF_SPLIT), above, below)
        return call_llvm_pure_intrin("float32", "llvm.copysign.f32", value, x)

    return let(tirx.min(_const(polynomials.ERF_END), tirx.abs(x)), of)


def _logistic(x: Expr) -> Expr:
    def of(power: Expr) -> Expr:
        share = _const(1) / (_const(1) + power)
        return let(share, lambda share: tirx.Select(x < _const(0), power * share, share))

    return let(_exp(_const(0) - tirx.abs(x), polynomials.EXP, _unfused), of)


def _tanh(x: Expr) -> Expr:
    def of(size: Expr, power: Expr) -> Expr:
        square = size * size
        slope = let(
            square, lambda square: horner(polynomials.TANH_BELOW, square, _unfused) * square
        )
        below = _unfused(slope, size, size)
        above = (_const(1) - power) / (_const(1) + power)
        value = tirx.Select(size < _const(polynomials.TANH_SPLIT), below, above)
        return call_llvm_pure_intrin("float32", "llvm.copysign.f32", value, x)

    def sized(size: Expr) -> Expr:
        power = _exp(_const(-2) * size, polynomials.EXP, _unfused)
        return let(power, lambda power: of(size, power))

    return let(tirx.abs(x), sized)


def _quotient(
    x: Expr,
    end: float,
    above: Sequence[float],
    under: Sequence[float],
    fma_of: Callable[[Expr], MultiplyAdd] = lambda _square: _fma,
) -> Expr:
    """Return a number times the quotient of two polynomials of its square."""

    def of(x: Expr, square: Expr) -> Expr:
        fma = fma_of(square)
        return horner(above, square, fma) * x / horner(under, square, fma)

    # min and max return their second operand if one is NaN: x stays NaN.
    bounded = tirx.min(_const(end), tirx.max(_const(-end), x))
    return let(bounded, lambda x: let(x * x, lambda square: of(x, square)))


def _onnxruntime_logistic(x: Expr) -> Expr:
    end, above, under = (
        polynomials.LOGISTIC_END,
        polynomials.LOGISTIC_ABOVE,
        polynomials.LOGISTIC_UNDER,
    )
    return tirx.max(_const(0), _quotient(x, end, above, under) + _const(0.5))


def _onnxruntime_tanh(x: Expr) -> Expr:
    return _quotient(x, polynomials.TANH_END, polynomials.TANH_ABOVE, polynomials.TANH_UNDER)


def _onnxruntime_gru_tanh(x: Expr) -> Expr:
    def fma_of(square: Expr) -> MultiplyAdd:
        # The bound is below all products, but LLVM does not know this. So it must round a product
        # to compare the two. LLVM would see through a constant.
        below = square * _const(-_FAR)
        return lambda lhs, rhs, addend: tirx.max(lhs * rhs, below) + addend

    end, above, under = polynomials.GRU_TANH_END, polynomials.TANH_ABOVE, polynomials.TANH_UNDER
    return _quotient(x, end, above, under, fma_of)


_RULES: dict[str, Callable[[Expr], Expr]] = {
    "erf": _erf,
    "exp": lambda x: _exp(
        x, polynomials.EXP, _fma, polynomials.LOWEST_EXPONENT_OF_ALL, polynomials.SPARE_EXPONENT
    ),
    "logistic": _logistic,
    "tanh": _tanh,
    "onnxruntime_gru_tanh": _onnxruntime_gru_tanh,
    "onnxruntime_logistic": _onnxruntime_logistic,
    "onnxruntime_tanh": _onnxruntime_tanh,
}


def function_of(name: str) -> Callable[[Expr], Expr]:
    """Return a writer of a function of a scalar, which is computed once."""
    return lambda x: let(x, _RULES[name])
