"""``relay.transform``: Relay's passes that scripts run before they build.

The build does the work of most of them. These return the module unchanged.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import tvm
from tvm import relax
from tvm.ir.transform import PassContext as PassContext  # scripts find it here, too

import qnn_ops
from qnn_ops.dialect.registry import attrs_of, constant_of, operator_of
from qnn_ops.errors import QnnError
from tvm_qnn.relay import op, qnn
from tvm_qnn.relay.expr import Function, computed, const, nested_values, rebuilt
from tvm_qnn.relay.integer_rules import OPTIONAL, RULES, Encoded, NoRuleError, Wanted, ended
from tvm_qnn.relay.qnn.transform import unchanged

_DONE_BY_BUILD = (
    *("AlterOpLayout", "BackwardFoldScaleAxis", "CanonicalizeCast", "CanonicalizeOps"),
    *("CombineParallelBatchMatmul", "CombineParallelConv2D", "CombineParallelDense"),
    *("ConvertLayout", "DeadCodeElimination", "DefuseOps", "DynamicToStatic"),
    *("EliminateCommonSubexpr", "EtaExpand", "FastMath", "FlattenAtrousConv", "FoldScaleAxis"),
    *("ForwardFoldScaleAxis", "FuseOps", "InferType", "Inline", "Legalize"),
    *("RemoveUnusedFunctions", "SimplifyExpr", "SimplifyInference", "ToANormalForm"),
    *("ToBasicBlockNormalForm", "ToGraphNormalForm"),
    "ToMixedPrecision",  # float32 results are closer to the model's
)

_OF_VENDORS = ("AnnotateTarget", "MergeCompilerRegions", "PartitionGraph")


def FoldConstant(fold_qnn: bool = False) -> tvm.transform.Pass:
    """Compute everything that depends only on constants."""
    del fold_qnn
    passes = [relax.transform.FoldConstant(), relax.transform.DeadCodeElimination()]
    return tvm.transform.Sequential(passes)


def FakeQuantizationToInteger(
    hard_fail: bool = False, use_qat: bool = False, optional_qnn_ops: Sequence[str] | None = None
) -> tvm.transform.Pass:
    """Compute operators between ``dequantize`` and ``quantize`` in integers.

    A group ends with a quantize, and has the operators before it, up to dequantizes and constants.
    It is computed in integers if all of its operators have a rule (``integer_rules``).

    Args:
        hard_fail: whether an operator without a rule is an error; otherwise its group stays float.
        use_qat: whether operators without a quantize at their end become integers, too, followed by
            a dequantize, if their rules need no encoding of the result.
        optional_qnn_ops: operators that stay float unless they are named: "nn.softmax".

    Raises:
        QnnError: if an operator has no rule and ``hard_fail`` is set.
    """
    optional = optional_qnn_ops or ()

    def rewrite(mod: tvm.IRModule, _context: PassContext) -> tvm.IRModule:
        main = mod["main"]
        for folder in (_Folder(hard_fail, optional), *([_OpenFolder(False, optional)] * use_qat)):
            # In the order of bindings, without recursion: networks exceed Python's stack.
            *_, result = map(folder.rewritten, nested_values(main.body))
            main = Function(main.params, result)
        return tvm.IRModule.from_expr(main)

    name = "FakeQuantizationToInteger"
    return tvm.transform.module_pass(rewrite, opt_level=0, name=name)


fake_quantization_to_integer = SimpleNamespace(FakeQuantizationToInteger=FakeQuantizationToInteger)


def __getattr__(name: str) -> Any:
    if name in _DONE_BY_BUILD:
        return unchanged(name)
    if name in _OF_VENDORS:
        raise QnnError(
            f"relay.transform.{name}: kernels of vendors are not called; build the module"
        )
    raise AttributeError(f"relay.transform has no {name}: it has no meaning for today's modules")


class _Folder:
    """Rewrites an expression, each part once."""

    left_in_float: tuple[str, ...] = ()
    """Operators that stay float although they have a rule."""

    def __init__(self, hard_fail: bool, optional: Sequence[str]) -> None:
        self.hard_fail = hard_fail
        self.optional = optional
        self.done: dict[relax.Expr, relax.Expr] = {}

    def rewritten(self, expr: relax.Expr) -> relax.Expr:
        """Return an expression with its groups in integers."""
        if expr not in self.done:
            group = self._group(expr)
            self.done[expr] = rebuilt(expr, self.rewritten) if group is None else group
        return self.done[expr]

    def _group(self, expr: relax.Expr) -> relax.Expr | None:
        if operator_of(expr) is not qnn_ops.quantize:
            return None
        attrs = attrs_of(expr)
        wanted = Wanted(attrs.scale, attrs.zero_point, attrs.out_dtype)
        if not isinstance(expr.args[0], (relax.Call, relax.TupleGetItem)):
            return None  # it quantizes an input or a constant
        try:
            return ended(self._integers(expr.args[0], wanted), wanted)
        except QnnError as error:  # from a rule, or from an operator that needs other integers
            if not self.hard_fail:
                return None
            if isinstance(error, NoRuleError):
                raise QnnError(f"FakeQuantizationToInteger: no rule for {error}") from None
            raise

    def _integers(self, expr: relax.Expr, wanted: Any) -> Any:
        """Return the result of ``_encoded``; each part of an expression is computed once."""
        known: dict[relax.Expr, Any] = {}

        def encoded(part: relax.Expr) -> Any:
            if part not in known:
                known[part] = self._encoded(part, wanted, encoded)
            return known[part]

        return encoded(expr)

    def _encoded(
        self, expr: relax.Expr, wanted: Wanted, encoded: Callable[[relax.Expr], Any]
    ) -> Any:
        """Return the integers of a real tensor; a constant is returned unchanged.

        Args:
            expr: the tensor.
            wanted: the encoding of the group's quantize.
            encoded: returns the result for an operand.

        Raises:
            NoRuleError: if the tensor's operator has no rule.
        """
        if isinstance(expr, relax.TupleGetItem):
            whole = encoded(expr.tuple_value)
            return replace(whole, data=op.field_of(whole.data, expr.index))
        if isinstance(expr, relax.Tuple) and isinstance(expr.ty.fields[0], relax.TensorType):
            return [encoded(field) for field in expr.fields]
        is_call = isinstance(expr, relax.Call)
        if constant_of(expr) is not None or not (is_call or isinstance(expr.ty, relax.TensorType)):
            return expr
        if operator_of(expr) is qnn_ops.dequantize:
            attrs = attrs_of(expr)
            data = self.rewritten(expr.args[0])
            return Encoded(data, np.float32(attrs.scale), np.asarray(attrs.zero_point), attrs.axis)
        name = str(expr.op.name) if isinstance(expr, relax.Call) else "an input of floats"
        rule = None if name in self.left_in_float else RULES.get(name)
        if name in OPTIONAL and OPTIONAL[name] not in self.optional:
            rule = None
        if rule is None:
            raise NoRuleError(name.removeprefix("relax."))
        parts = [encoded(arg) for arg in expr.args]
        if not any(isinstance(part, (Encoded, list)) for part in parts):
            return computed(expr)  # all operands are float constants
        return rule(expr, parts, wanted)


class _OpenFolder(_Folder):
    """Rewrites groups without a quantize."""

    # A constant may be less than half a step of the other operand, and would be lost.
    left_in_float = ("relax.add", "relax.subtract", "relax.multiply")

    def _group(self, expr: relax.Expr) -> relax.Expr | None:
        is_end = operator_of(expr) in (qnn_ops.quantize, qnn_ops.dequantize)
        if is_end or not isinstance(expr, relax.Call):
            return None
        try:
            found = self._integers(expr, _Nothing())
        except QnnError:
            return None
        if not isinstance(found, Encoded):
            return None
        return qnn.dequantize(found.data, const(found.scale), const(found.point), found.axis)


class _Nothing:
    """The encoding of a group without a quantize: it has none."""

    def __getattr__(self, name: str) -> Any:
        raise NoRuleError(f"a group whose result has no {name}")
