"""Forces the rounding of float results, which compilers may omit."""

from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from qnn_ops.dialect.expressions import Expression

_MOST = np.finfo(np.float32).max


def rounded(result: Any) -> Any:
    """Return a float32 product or sum, rounded before anything is added to it.

    Compilers turn a product and a sum into one fused multiply-add, with one rounding, if the
    processor has it. They also simplify a + b - b to a. A choice between the two prevents this. It
    changes no number: twice an infinite number is that number. If that were a constant, TVM would
    load it, which is a gather in vector code, or LLVM would move the addition into the choice. The
    choice tests both ends, because LLVM knows the sign of some products, which never pass one end.

    Args:
        result: a Relax expression, itself or as an ``Expression``; or an array, which is rounded
            already.
    """
    if isinstance(result, Expression):
        return result.to(rounded(result.expr))
    if not isinstance(result, relax.Expr):
        return result
    infinite = R.multiply(result, relax.const(np.float32(2)))
    is_infinite = R.greater(R.abs(result), relax.const(_MOST))
    return R.where(is_infinite, infinite, result)
