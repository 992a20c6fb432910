"""Make one table of all float32 operators between a dequantize and a quantize."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tvm
from tvm import relax

from legalize.passes.legalize_qnn import LegalizeQnn
from legalize.passes.rewriter import CallRewriter, Facts, call_pass
from legalize.qdq.group import operator_name
from qnn_ops import dequantize, quantize, quantized_lookup
from qnn_ops.arrays import Array
from qnn_ops.dialect.attributes import QUANTIZED, dtype_range
from qnn_ops.dialect.registry import as_const, attrs_of, constant_of, operator_of, spec_of

_FUNCTIONS = (
    *("abs", "acos", "acosh", "asin", "asinh", "astype", "atan", "atanh", "ceil", "clip", "cos"),
    *("cosh", "erf", "exp", "floor", "log", "isnan", "negative", "round", "rsqrt", "sigmoid"),
    *("sign", "sin", "sinh", "sqrt", "square", "tan", "tanh", "trunc"),
    *("nn.gelu", "nn.gelu_tanh", "nn.leakyrelu", "nn.relu", "nn.silu"),
    *("add", "divide", "maximum", "minimum", "multiply", "power", "subtract", "where"),
    *("equal", "greater", "greater_equal", "less", "less_equal", "not_equal"),
)
_OWN = ("qnn.float_function", "qnn.fused_multiply_add")
_ELEMENTWISE = {f"relax.{name}" for name in (*_FUNCTIONS, *_OWN)}


class _OtherError(Exception):
    """The error of a result that depends on several tensors of bytes, or not element by element."""


def _table(writer: CallRewriter, original: relax.Call, _call: relax.Call) -> relax.Expr | None:
    if (found := writer.facts.of(_tables).get(original)) is None:
        return None
    source, table = found
    return quantized_lookup(writer.visit_expr(source), as_const(table))


def _tables(facts: Facts) -> dict[relax.Expr, tuple[relax.Expr, Array]]:
    """Return what becomes a lookup: by the quantize, the tensor of bytes and the table."""
    calls = [value for value in facts.values.values() if operator_of(value) is quantize]
    found = {call: each for call in calls if (each := _chain_of(call, facts.values.get))}
    results = _computed(list(found.values()))
    return {
        call: (chain.source, quantize.apply(attrs_of(call), result))
        for (call, (chain, _)), result in zip(found.items(), results, strict=True)
    }


def TabulateFloats() -> tvm.transform.Pass:
    """Make one ``quantized_lookup`` of float32 operators between a dequantize and a quantize.

    A function of one 8-bit value has 256 results. They are computed here, by the same Relax
    operators on the compiling machine, so that every target gets the same.
    """
    return call_pass({quantize.op.name: _table}, "TabulateFloats")


def is_tabulated(call: relax.Call, binding_of: Callable[[relax.Var], Any]) -> bool:
    """Tell whether the operand of a quantize becomes a table.

    Args:
        call: the quantize.
        binding_of: returns a variable's value.
    """
    return _chain_of(call, binding_of) is not None


def _chain_of(
    call: relax.Call, binding_of: Callable[[relax.Var], Any]
) -> tuple[_Chain, relax.Expr] | None:
    """Return a copy of the quantized expression, if it is computed from one tensor of bytes."""
    if not _has_one_scale(call) or attrs_of(call).out_dtype not in QUANTIZED:
        return None
    chain = _Chain(binding_of, spec_of(call).shape)
    try:
        result = chain.copied(call.args[0])
    except _OtherError:
        return None
    return None if chain.source is None else (chain, result)


class _Chain:
    """A copy of the operators that compute a value, for all values of one tensor of bytes."""

    def __init__(self, binding_of: Callable[[relax.Var], Any], shape: tuple[int, ...]) -> None:
        self.binding_of = binding_of
        self.shape = shape
        self.source: relax.Expr | None = None
        self.inputs: dict[relax.Var, Array] = {}
        self.copies: dict[relax.Expr, relax.Expr] = {}

    def copied(self, expr: relax.Expr) -> relax.Expr:
        """Return the expression that computes ``expr``, of 256 values."""
        if isinstance(expr, (tvm.tirx.FloatImm, tvm.tirx.IntImm)):
            return expr
        value = self.binding_of(expr) if isinstance(expr, relax.Var) else expr
        if value not in self.copies:
            self.copies[value] = self._copied(value)
        return self.copies[value]

    def _copied(self, value: Any) -> relax.Expr:
        constant = constant_of(value)
        if constant is not None and constant.size == 1:
            # A scalar would not do: compilers get other bits for some functions of known numbers.
            return as_const(constant.reshape(1))
        if not isinstance(value, relax.Call) or spec_of(value).shape != self.shape:
            raise _OtherError
        if operator_of(value) is dequantize and _has_one_scale(value):
            return self._parameter(value)
        if operator_name(value) not in _ELEMENTWISE:
            raise _OtherError
        operands = [self.copied(operand) for operand in value.args]
        return relax.Call(value.op, operands, value.attrs, value.ty_args)

    def _parameter(self, call: relax.Call) -> relax.Var:
        """Return a parameter for the real numbers that all values of the source stand for."""
        (source,) = call.args
        dtype = spec_of(source).dtype
        if dtype not in QUANTIZED or self.source not in (None, source):
            raise _OtherError
        self.source = source
        low, high = dtype_range(dtype)
        values = np.arange(low, high + 1).astype(dtype)
        parameter = relax.Var("values", relax.TensorType(values.shape, "float32"))
        self.inputs[parameter] = dequantize.apply(attrs_of(call), values)
        return parameter


def _computed(found: Sequence[tuple[_Chain, relax.Expr]]) -> list[Array]:
    """Compute copied expressions of all values, starting with the lowest."""
    if not found:
        return []
    inputs = {name: array for chain, _ in found for name, array in chain.inputs.items()}
    builder = relax.BlockBuilder()
    # All tables are compiled at a time, which takes less time than one after the other.
    with builder.function("main", list(inputs)):
        with builder.dataflow():
            outputs = [builder.emit_output(builder.normalize(result)) for _, result in found]
        builder.emit_func_output(relax.Tuple(outputs))
    mod = LegalizeQnn()(builder.get())
    target = tvm.target.Target("llvm")
    # One function without checks of its arguments compiles in a quarter of the time of one for
    # each operator. Each operator keeps its own loop, and rounds as by itself.
    with tvm.transform.PassContext(config={"tirx.disable_assert": True}):
        pipeline = relax.get_default_pipeline(target)
        library = tvm.compile(mod, target=target, relax_pipeline=pipeline)
    machine = relax.VirtualMachine(library, tvm.cpu())
    results = machine["main"](*map(tvm.runtime.tensor, inputs.values()))
    return [result.numpy() for result in results]


def _has_one_scale(call: relax.Call) -> bool:
    attrs = attrs_of(call)
    return not isinstance(attrs.scale, tuple) and not isinstance(attrs.zero_point, tuple)
