"""Float results that must be rounded, even if omitting the rounding would be faster."""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from qnn_ops.dialect.expressions import Expression

_MOST = np.finfo(np.float32).max


def rounded(result: Any) -> Any:
    """Return a float32 product or sum, rounded before anything is added to it.

    Compilers make one fused multiply-add, with one rounding, of a product and a sum where the
    processor has it, and simplify a + b - b to a. Between the two stands a choice here, which
    changes no number: what is beyond all numbers is itself twice. With a constant in its place TVM
    would load it, which is a gather in vector code, or LLVM add what follows to either choice. Both
    ends are asked for: LLVM knows the sign of some products, and that these pass one end never.

    Args:
        result: a Relax expression, as it is or as ``qnn_ops.dialect.expressions`` has it; or an
            array, which is rounded.
    """
    if isinstance(result, Expression):
        return result.to(rounded(result.expr))
    if not isinstance(result, relax.Expr):
        return result
    infinite = R.multiply(result, relax.const(np.float32(2)))
    is_infinite = R.greater(R.abs(result), relax.const(_MOST))
    return R.where(is_infinite, infinite, result)
