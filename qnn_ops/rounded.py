"""Float results that are to be rounded, however much faster one rounding less would be."""

from __future__ import annotations

import numpy as np
from tvm import relax
from tvm.relax import op as R

_LOWEST = np.finfo(np.float32).min


def rounded(result: relax.Expr) -> relax.Expr:
    """Return a float32 product or sum, rounded before anything is added to it.

    Compilers make one fused multiply-add, with one rounding, of a product and a sum where the
    processor has it, and simplify a + b - b to a. Between the two stands a choice here, which
    changes no number: what is below all numbers is itself twice. With a constant in its place TVM
    would load it, which is a gather in vector code, or LLVM add what follows to either choice.
    """
    infinite = R.multiply(result, relax.const(np.float32(2)))
    return R.where(R.less(result, relax.const(_LOWEST)), infinite, result)
