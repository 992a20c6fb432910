"""Turn float operators between dequantize and quantize into integer ones."""

import warnings
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import tvm
from tvm import relax
from tvm.relax.expr_functor import PyExprMutator, mutator

import legalize.qdq  # noqa: F401 (registers the rules)
from legalize.passes.float_functions import own_functions
from legalize.passes.kept_nans import keep_nans
from legalize.passes.order_sums import order_sums
from legalize.passes.rewriter import CallRewriter, Facts
from legalize.passes.round_products import round_products
from legalize.passes.tabulate_floats import is_tabulated
from legalize.qdq.group import (
    MOVEMENTS,
    RUNTIMES,
    Group,
    LeftInFloatError,
    NoRuleError,
    operator_name,
)
from qnn_ops import dequantize, quantize
from qnn_ops.arithmetic.onnxruntime import ONNXRUNTIME
from qnn_ops.dialect.attributes import ACTIVATIONS
from qnn_ops.dialect.checks import check_choice
from qnn_ops.dialect.registry import attrs_of, constant_of, operator_of, spec_of
from qnn_ops.dialect.signature import ARITHMETIC, main_function
from qnn_ops.errors import LeftInFloatWarning, QnnError
from qnn_ops.serial import serial

LEFT = "left_in_float"
"""An attribute for ``FoldQdq``: other operators that an importer knows to run in float32."""


def FoldQdq(arithmetic: str | None = None) -> tvm.transform.Pass:
    """Turn groups of dequantize, a float operator and quantize into the dialect's operators.

    The conditions are those of the runtime: every operand comes from a dequantize, the operator's
    only reader is the quantize, and their dtypes agree. A tensor may have several readers. Relax's
    own ``quantize`` and ``dequantize`` with constant scales become the dialect's.

    Args:
        arithmetic: "onnxruntime" or "xnnpack": the framework whose integers the groups mean. None:
            the attribute ``arithmetic`` of ``main`` decides; a module without it stays as it is. An
            importer that sets the attribute promises the runtime's integers. Then a group that has
            integers there and no rule here is an error; without the attribute it is a warning. A
            group that the runtime leaves in float is always a warning. With the attribute, the
            remaining float operators are computed as in the runtime: products are rounded before
            something is added. For ONNX Runtime, functions are its polynomials, sums have its
            order, and NaN stays where it does there.
    """
    if arithmetic is not None:
        check_choice("arithmetic", arithmetic, tuple(RUNTIMES))

    def rewrite(mod: tvm.IRModule, _context: tvm.transform.PassContext) -> tvm.IRModule:
        meant = arithmetic or _mark_of(mod)
        if not meant:
            return mod
        folded = _fold(mod, meant, is_promised=arithmetic is None)
        if arithmetic is not None:
            return folded
        if meant == ONNXRUNTIME:
            folded = order_sums(own_functions(keep_nans(folded)))
        return round_products(folded)

    return tvm.transform.module_pass(rewrite, opt_level=0, name="FoldQdq")


@serial
def fold_qdq(mod: tvm.IRModule, arithmetic: str = ONNXRUNTIME) -> tvm.IRModule:
    """Turn float operators between dequantize and quantize into integer ones.

    This serves QDQ models from TVM's own importers, and a user's own modules. See ``FoldQdq`` and
    the documentation's pages on the numbers of ONNX models and of PyTorch's.

    Args:
        mod: its functions may have any operators.
        arithmetic: "onnxruntime" or "xnnpack": the framework whose integers the groups mean.

    Returns:
        A module in which each group that the runtime computes in integers is one operator of the
        dialect.

    Raises:
        QnnError: the arithmetic is another one, or ``mod`` is no module.
    """
    main_function(mod)
    return FoldQdq(arithmetic)(mod)


def _mark_of(mod: tvm.IRModule) -> str:
    for variable, function in mod.functions_items():
        if variable.name_hint == "main" and getattr(function, "attrs", None) is not None:
            return str(function.attrs[ARITHMETIC]) if ARITHMETIC in function.attrs else ""
    return ""


def _fold(mod: tvm.IRModule, arithmetic: str, *, is_promised: bool) -> tvm.IRModule:
    adopter = _Adopter(mod, arithmetic)
    noted: list[str] = []
    for variable, function in mod.functions_items():
        if isinstance(function, relax.Function):
            if function.attrs is not None and LEFT in function.attrs:
                noted += map(str, function.attrs[LEFT])
            function = function.without_attr(ARITHMETIC).without_attr(LEFT)
            adopter.builder_.update_func(variable, adopter.visit_expr(function))
    folder = _FoldQdq(adopter.builder_.finalize(), arithmetic)
    result = folder.rewrite_module(folder.mod_)
    if folder.missing and is_promised:
        raise QnnError(
            f"{RUNTIMES[arithmetic].name} computes these in integers, for which there is no rule: "
            + _listed(folder.missing)
        )
    left = [*folder.missing, *folder.left, *noted]
    if left:
        warnings.warn(f"computed in float32: {_listed(left)}", LeftInFloatWarning, stacklevel=2)
    return result


def _doubled(facts: Facts) -> set[Any]:
    """Return the quantizes that a call reads as both of its operands."""
    found = (_doubled_by(each, facts) for each in facts.values.values())
    return {each for each in found if each is not None}


def _doubled_by(reader: Any, facts: Facts) -> Any:
    """Return the quantize that a call reads as both of its operands, as in a square.

    None if there is no such quantize, or if it has other readers.
    """
    match list(reader.args) if isinstance(reader, relax.Call) else []:
        case [first, second] if first.same_as(second):
            value = facts.values.get(first)
        case _:
            return None
    if value is None or operator_of(value) is not dequantize:
        return None
    (data,) = value.args
    return facts.values.get(data) if facts.uses[data] == 1 else None


def _listed(reasons: list[str]) -> str:
    counts = Counter(reasons).items()
    return "; ".join(text + (f" ({count} times)" if count > 1 else "") for text, count in counts)


@mutator
class _Adopter(PyExprMutator):
    """Writes Relax's quantize and dequantize as the dialect's."""

    def __init__(self, mod: tvm.IRModule, arithmetic: str) -> None:
        super().__init__(mod)
        self.arithmetic = arithmetic

    def visit_call_(self, call: relax.Call) -> relax.Expr:
        rebuilt = self.builder_.normalize(self.visit_expr_post_order(call))
        name = operator_name(rebuilt)
        if name not in ("relax.quantize", "relax.dequantize"):
            return rebuilt
        data, *encoding = rebuilt.args
        scale, zero_point = (constant_of(expr) for expr in encoding)
        if scale is None or zero_point is None or scale.dtype != np.float32:
            return rebuilt
        axis = -1 if scale.size == 1 else int(rebuilt.attrs.axis)
        scales = scale.reshape(-1).tolist()
        points = zero_point.reshape(-1).tolist()
        point = points[0] if len(set(points)) == 1 else points
        dtype = str(rebuilt.attrs.out_dtype)
        if name == "relax.dequantize":
            return dequantize(data, scales, point, axis=axis)
        if dtype not in ACTIVATIONS or spec_of(data).dtype != "float32":
            return rebuilt
        return quantize(data, scales, point, dtype, axis, arithmetic=self.arithmetic)


@mutator
class _FoldQdq(CallRewriter):
    # The class holds the rule. An object with a rule about itself waits for the garbage collector.
    rules: Mapping[str, Any] = {quantize.op.name: lambda writer, *calls: writer.folded(*calls)}

    def __init__(self, mod: tvm.IRModule, arithmetic: str) -> None:
        super().__init__(mod)
        self.mod_ = mod
        self.arithmetic = arithmetic
        self.left: list[str] = []
        self.missing: list[str] = []

    def folded(self, original: relax.Call, call: relax.Call) -> relax.Expr | None:
        """Return the operator of the dialect for a group, which ends with a quantize."""
        attrs, facts = attrs_of(call), self.facts
        value = facts.values.get(original.args[0])
        name = "relax.split" if isinstance(value, relax.TupleGetItem) else operator_name(value)
        is_other = getattr(attrs, "arithmetic", "") != self.arithmetic
        if not name or is_other or operator_of(value) is dequantize:
            return None
        if isinstance(attrs.scale, tuple) or isinstance(attrs.zero_point, tuple):
            self.left.append(f"{name}: its result has several scales")
            return None
        may_merge = name not in MOVEMENTS and original not in facts.of(_doubled)
        group = Group(
            attrs, self.builder_, facts.values, facts.uses, self.visit_expr, may_merge=may_merge
        )
        try:
            return group.folded(original.args[0])
        except LeftInFloatError as error:
            if not is_tabulated(call, self.lookup_binding):
                self.left.append(f"{name}: {error}")
        except NoRuleError as error:
            self.missing.append(f"{name}: {error}")
        return None
