"""Let convolutions of float32 add a bias and a tensor that follow, and clamp their result."""

from collections.abc import Callable
from typing import Any

import numpy as np
import tvm
from tvm import relax
from tvm.relax.expr_functor import mutator

from legalize.passes.rewriter import CallRewriter, first_found, module_pass
from legalize.qdq.group import operator_name
from qnn_ops import float_conv2d
from qnn_ops.arrays import Array
from qnn_ops.dialect.registry import attrs_of, constant_of, operator_of, spec_of, with_attrs
from qnn_ops.unquantized.float_conv2d import ORDERS, bounds_of

_SUM = "relax.add"


def _with_bias(product: relax.Call, other: Array) -> relax.Call | None:
    """Add a number to each channel; another order of sums begins with the bias."""
    is_bias = 0 < other.ndim <= 4 and other.size == other.shape[-1] == spec_of(product).shape[-1]
    is_free = len(product.args) == 2 and bounds_of(attrs_of(product)) == (None, None)
    if not is_bias or not is_free or attrs_of(product).order == ORDERS[3]:
        return None
    return relax.Call(product.op, [*product.args, relax.const(other.reshape(-1))], product.attrs)


def _with_addend(product: relax.Call, other: relax.Expr) -> relax.Call | None:
    """Add a tensor. The operator has an addend only after a bias."""
    is_free = len(product.args) == 3 and bounds_of(attrs_of(product)) == (None, None)
    if not is_free or spec_of(product) != spec_of(other):
        return None
    return relax.Call(product.op, [*product.args, other], product.attrs)


def _with_low(product: relax.Call, index: int, other: Array) -> relax.Call | None:
    is_free = bounds_of(attrs_of(product)) == (None, None)
    return with_attrs(product, low=float(other)) if is_free and _is_end(index, other) else None


def _with_high(product: relax.Call, index: int, other: Array) -> relax.Call | None:
    is_free = bounds_of(attrs_of(product))[1] is None
    return with_attrs(product, high=float(other)) if is_free and _is_end(index, other) else None


def _is_end(index: int, other: Array) -> bool:
    """Tell whether a number bounds a result; a NaN is kept if the number is the first operand."""
    return index == 1 and other.shape == () and bool(np.isfinite(other))


_BOUNDS: dict[str, Callable[[relax.Call, int, Array], relax.Call | None]] = {
    "relax.maximum": _with_low,
    "relax.minimum": _with_high,
}
"""``rule(product, index, other)``: the product is the operand at ``index``, the other operand is a
constant."""


@mutator
class _FoldFloatEnds(CallRewriter):
    operators = (float_conv2d.op.name,)
    has_folded = False

    def rewrite_module(self, mod: tvm.IRModule) -> tvm.IRModule:
        """Rewrite each Relax function; without anything to fold the module stays as it is."""
        folded = super().rewrite_module(mod)
        # ``JoinInPlace`` does not see through a variable that is bound to another one.
        return relax.transform.CanonicalizeBindings()(folded) if self.has_folded else mod

    def visit_call_(self, call: relax.Call) -> relax.Expr:
        """Write a call."""
        rebuilt = self.builder_.normalize(self.visit_expr_post_order(call))
        if operator_name(rebuilt) not in (_SUM, *_BOUNDS):
            return rebuilt
        folded = first_found(self._folded(call, rebuilt, index) for index in range(2))
        self.has_folded |= folded is not None
        return rebuilt if folded is None else folded

    def _folded(self, call: relax.Call, rebuilt: relax.Call, index: int) -> relax.Expr | None:
        """Fold a call into the convolution that makes its operand at ``index``, if that can be."""
        product, variable = self._product(rebuilt.args[index])
        if product is None or self.facts.uses[call.args[index]] != 1:
            return None
        other = rebuilt.args[1 - index]
        constant, bound = constant_of(other), _BOUNDS.get(operator_name(rebuilt))
        if bound is not None:
            folded = None if constant is None else bound(product, index, constant)
        elif constant is not None:
            return _with_bias(product, constant)
        elif self._is_earlier(call.args[1 - index], call.args[index]):
            folded = _with_addend(product, other)
        else:
            return None
        # What follows a bias has the product's name, by which a profile identifies the kernel.
        return None if folded is None else self.builder_.emit(folded, variable.name)

    def _is_earlier(self, value: relax.Expr, than: relax.Expr) -> bool:
        """Tell whether a value is a parameter or is bound first.

        Otherwise the convolution moves down to it, and its data stays in memory until then.
        """
        return self.facts.places.get(value, -1) < self.facts.places.get(than, -1)

    def _product(self, value: relax.Expr) -> tuple[relax.Call | None, Any]:
        """Return the convolution that makes a value, and its variable."""
        variable = None
        while isinstance(value, relax.Var):
            variable, value = value, self.lookup_binding(value)
        is_product = value is not None and operator_of(value) is float_conv2d
        is_last = is_product and attrs_of(value).out_layout == "NHWC"
        return (value if is_last else None), variable


def FoldFloatEnds() -> tvm.transform.Pass:
    """Fold biases, sums and bounds into the ``float_conv2d`` before, if nothing else reads it.

    The operator adds its bias, then the other operand of a residual sum. It clamps as Relax's
    ``maximum`` and ``minimum`` do if the bound is their first operand. The later one of two
    convolutions takes their sum.
    """
    return module_pass(_FoldFloatEnds, "FoldFloatEnds")
