"""Let float32 products be rounded before something is added to them."""

from typing import Any

import tvm
from tvm import relax

from legalize.passes.rewriter import CallRewriter, Facts, rewrite_calls
from legalize.qdq.group import MOVEMENTS, operator_name
from qnn_ops.arithmetic.rounded import rounded
from qnn_ops.dialect.registry import spec_of

_SUMS = {"relax.add", "relax.subtract"}
_PASSED = {*MOVEMENTS, "relax.astype", "relax.negative"}
"""The operators whose results a compiler still sees as products."""


def round_products(mod: tvm.IRModule) -> tvm.IRModule:
    """Keep compilers from fusing a product and a sum of two operators with one rounding.

    ONNX Runtime computes operator by operator.
    """
    return rewrite_calls(mod, {"relax.multiply": _rounded})


def _rounded(writer: CallRewriter, original: relax.Call, call: relax.Call) -> relax.Expr | None:
    if original not in writer.facts.of(_products) or spec_of(call).dtype != "float32":
        return None
    return rounded(writer.builder_.emit(call))


def _products(facts: Facts) -> set[Any]:
    """Return the products that are added to something, perhaps after being moved or negated."""
    added, products = set[Any](), set[Any]()
    for variable, value in reversed(facts.values.items()):
        name = operator_name(value)
        if name in _SUMS or (name in _PASSED and variable in added):
            added |= {each for each in value.args if isinstance(each, relax.Var)}
        elif name == "relax.multiply" and variable in added:
            products.add(value)
    return products
