"""Lower Relax's operators, some of them to arithmetic that becomes vector code."""

from collections.abc import Callable
from math import factorial

import tvm
from tvm import relax, te, tirx
from tvm.tirx import call_llvm_pure_intrin

from legalize.kernels.isa.targets import has_feature
from legalize.primitives.float_arithmetic import Expr, horner, let
from qnn_ops.dialect.registry import spec_of

_Rule = Callable[[relax.BlockBuilder, relax.Call], relax.Expr]

_WIDE = "float64"
_LOG2_E = float.fromhex("0x1.71547652b82fep+0")
_PARTS_BITS = 5
"""glibc cuts a power of two into 32 parts."""
_CUBIC = tuple(
    float.fromhex(number)
    for number in ("0x1.c6af84b912394p-20", "0x1.ebfce50fac4f3p-13", "0x1.62e42ff0c52d6p-6", "1")
)
"""2^(x / 32) from the highest power on, as in glibc."""
POWERS_OF_TWO = tuple(
    float.fromhex(number)
    for number in (
        *("0x1.56a5a3393bc63p-31", "0x1.c3c53b064a26ap-28", "0x1.b83f147c37621p-24"),
        *("0x1.62916b37a15fcp-20", "0x1.ffcf98aca6b74p-17", "0x1.4308fb389e581p-13"),
        *("0x1.5d87ff45dc50dp-10", "0x1.3b2ab6f742955p-7", "0x1.c6b08d70664c4p-5"),
        *("0x1.ebfbdff82bfb5p-3", "0x1.62e42fefa39f7p-1", "1"),
    )
)
"""2^x from the highest power on.

glibc reads 2^(i / 32) in a table. The last digits here are chosen so that fused multiply-adds give
the table's numbers, which are the nearest ones, for each i from 0 to 31.
"""
_EXP_ENDS = (-104.0, 89.0)
"""Below the first number exp is 0 in float32, above the second one infinite."""
_TANH_END = 20.0
"""From this number on tanh is 1."""
_MINUS_LOG_2 = (float.fromhex("-0x1.62e42fefa0000p-1"), float.fromhex("-0x1.cf79abc9e3b3ap-40"))
_TERMS = tuple(1 / factorial(power) for power in range(13, 1, -1))
"""(exp(x) - 1 - x) / x^2 from the highest power on, for at most half of a factor of two."""
_WHOLES = 1.5 * 2**52
"""A sum with this number is a whole number; its lowest bits are those of the integer."""
_MANTISSA_BITS, _BIAS = 52, 1023


def LegalizeOps(target: tvm.target.Target) -> tvm.transform.Pass:
    """Lower Relax's operators as TVM does, except for exp of float32 and tanh of float64.

    TVM calls the C library for each element. tanh takes exponentials there, and so loses the digits
    of small results.

    Args:
        target: exp has new code if the processor has fused multiply-adds: it then has the bits of
            expf of glibc, which LiteRT calls. In plain C nothing changes.
    """
    rules: dict[str, _Rule] = {}
    if not has_feature(target, "c99"):
        rules["relax.tanh"] = _rule(_WIDE, _tanh)
        if has_feature(target, "fma"):
            rules["relax.exp"] = _rule("float32", _exp)
    return relax.transform.LegalizeOps(rules)


def _rule(dtype: str, function: Callable[[Expr], Expr]) -> _Rule:
    """Return the rule for a function of one dtype; TVM's rule lowers the others."""

    def lower(builder: relax.BlockBuilder, call: relax.Call) -> relax.Expr:
        if spec_of(call).dtype != dtype:
            return call.op.get_attr("FLegalize")(builder, call)

        def compute(data: te.Tensor) -> te.Tensor:
            return te.compute(data.shape, lambda *at: function(data(*at)))

        name = function.__name__.strip("_")
        return builder.call_te(compute, call.args[0], primfunc_name_hint=name)

    return lower


def _const(value: float) -> Expr:
    return tirx.const(value, _WIDE)


def _int(value: int) -> Expr:
    return tirx.const(value, "int64")


def _bits(x: Expr) -> Expr:
    return tirx.reinterpret("int64", x)


def _fma(lhs: Expr, rhs: Expr, addend: Expr) -> Expr:
    return call_llvm_pure_intrin(_WIDE, "llvm.fma.f64", lhs, rhs, addend)


def _multiply_add(lhs: Expr, rhs: Expr, addend: Expr) -> Expr:
    """Return a sum that is rounded once if the processor has an instruction for that."""
    return call_llvm_pure_intrin(_WIDE, "llvm.fmuladd.f64", lhs, rhs, addend)


def _exp(x: Expr) -> Expr:
    """Return exp of float32.

    Source: expf of glibc's sysdeps/ieee754/flt-32/e_expf.c, on processors with fused multiply-adds.
    """
    low, high = (tirx.const(end, "float32") for end in _EXP_ENDS)
    factor = _const(_LOG2_E * 2**_PARTS_BITS)

    def bounded(x: Expr) -> Expr:
        return let(_fma(x, factor, _const(_WHOLES)), lambda biased: of(x, biased))

    def of(x: Expr, biased: Expr) -> Expr:
        rest = _fma(x, factor, _const(_WHOLES) - biased)
        return let(_bits(biased), lambda bits: let(rest, lambda rest: product(rest, bits)))

    def product(rest: Expr, bits: Expr) -> Expr:
        third, second, first, one = map(_const, _CUBIC)
        near = _fma(_fma(third, rest, second), rest * rest, _fma(first, rest, one))
        part = bits & _int(2**_PARTS_BITS - 1)
        return let(part, lambda part: (near * power(bits - part, part)).astype("float32"))

    def power(wholes: Expr, part: Expr) -> Expr:
        shift = _int(_MANTISSA_BITS - _PARTS_BITS)
        above_one = tirx.reinterpret(_WIDE, (part << shift) + _int(_BIAS << _MANTISSA_BITS))
        share = let(above_one - _const(1), lambda x: horner(POWERS_OF_TWO, x, _fma, _const))
        return tirx.reinterpret(_WIDE, _bits(share) + (wholes << shift))

    # min and max return their second operand if one is NaN: x stays NaN.
    return let(tirx.min(high, tirx.max(low, x)).astype(_WIDE), bounded)


def _tanh(x: Expr) -> Expr:
    """Return tanh of float64: (exp(2 |x|) - 1) / (exp(2 |x|) + 1) with the sign of x."""

    def doubled(size: Expr) -> Expr:
        biased = _multiply_add(size, _const(_LOG2_E), _const(_WHOLES))
        return let(biased, lambda biased: of(size, biased))

    def of(size: Expr, biased: Expr) -> Expr:
        high, low = map(_const, _MINUS_LOG_2)
        whole = biased - _const(_WHOLES)
        rest = _multiply_add(whole, low, _multiply_add(whole, high, size))
        exponent = (_bits(biased) + _int(_BIAS)) << _int(_MANTISSA_BITS)
        power = tirx.reinterpret(_WIDE, exponent)
        return let(rest, lambda rest: let(power, lambda power: quotient(rest, power)))

    def quotient(rest: Expr, power: Expr) -> Expr:
        near = horner(_TERMS, rest, _multiply_add, _const)
        less = _multiply_add(near, rest * rest, rest)  # exp(rest) - 1
        less = _multiply_add(power, less, power - _const(1))
        return let(less, lambda less: less / (less + _const(2)))

    size = tirx.min(_const(2 * _TANH_END), tirx.abs(x) * _const(2))
    return call_llvm_pure_intrin(_WIDE, "llvm.copysign.f64", let(size, doubled), x)
