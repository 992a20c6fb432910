"""Make one table of all float32 operators between a dequantize and a quantize."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tvm
from tvm import relax

from legalize.passes.legalize_qnn import LegalizeQnn
from legalize.passes.rewriter import CallRewriter, call_pass
from qnn_ops import dequantize, quantize, quantized_lookup
from qnn_ops.dialect.attributes import dtype_range
from qnn_ops.dialect.checks import QUANTIZED
from qnn_ops.dialect.registry import as_const, attrs_of, constant_of, operator_of, spec_of

Array = np.ndarray[Any, Any]

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


def _table(writer: CallRewriter, _original: relax.Call, call: relax.Call) -> relax.Expr | None:
    found = _chain_of(call, writer.lookup_binding)
    if found is None:
        return None
    chain, result = found
    table = chain.table(relax.Call(call.op, [result], call.attrs))
    return quantized_lookup(chain.source, as_const(table))


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
        self.parameter: relax.Var | None = None
        self.builder = relax.BlockBuilder()
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
            return relax.Call(value.op, [self._parameter(value.args[0])], value.attrs)
        if not isinstance(value.op, tvm.ir.Op) or value.op.name not in _ELEMENTWISE:
            raise _OtherError
        operands = [self.copied(operand) for operand in value.args]
        return relax.Call(value.op, operands, value.attrs, value.ty_args)

    def _parameter(self, source: relax.Expr) -> relax.Var:
        dtype = spec_of(source).dtype
        if self.parameter is None and dtype in QUANTIZED:
            self.source = source
            self.parameter = relax.Var("values", relax.TensorType((256,), dtype))
        if self.parameter is None or not source.same_as(self.source):
            raise _OtherError
        return self.parameter

    def table(self, result: relax.Call) -> Array:
        """Return the results of a copied call, starting with that of the lowest value."""
        with self.builder.function("main", [self.parameter]):
            with self.builder.dataflow():
                output = self.builder.emit_output(self.builder.normalize(result))
            self.builder.emit_func_output(output)
        mod = LegalizeQnn()(self.builder.get())
        target = tvm.target.Target("llvm")
        # One function without checks of its arguments compiles in a quarter of the time of one for
        # each operator. Each operator keeps its own loop, and rounds as by itself.
        with tvm.transform.PassContext(config={"tirx.disable_assert": True}):
            pipeline = relax.get_default_pipeline(target)
            library = tvm.compile(mod, target=target, relax_pipeline=pipeline)
        low, high = dtype_range(spec_of(self.source).dtype)
        values = np.arange(low, high + 1).astype(spec_of(self.source).dtype)
        machine = relax.VirtualMachine(library, tvm.cpu())
        return np.asarray(machine["main"](tvm.runtime.tensor(values)).numpy())


def _has_one_scale(call: relax.Call) -> bool:
    attrs = attrs_of(call)
    return not isinstance(attrs.scale, tuple) and not isinstance(attrs.zero_point, tuple)
