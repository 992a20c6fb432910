"""tvm-qnn with the one rounding of oneDNN's that its reference code does in another way.

Where a convolution adds another tensor, kernels for vectors multiply and add in one instruction,
which rounds once; the reference code rounds the product, too. Of a million results of a residual
network that changes about one. To hold such a network against the reference code, it is compiled
to round as that does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import tvm
from tvm import relax
from tvm.relax import op as R

import tvm_qnn as qnn
from frontends.mxnet.attributes import Attributes
from frontends.mxnet.symbol import read_symbol

Array = np.ndarray[Any, Any]

# Its compiler has no instruction that would fuse the two again.
_TARGET = "x86-sse4.1"


def has_sums(prefix: Path) -> bool:
    """Tell whether a model has convolutions that add another tensor."""
    graph = read_symbol(f"{prefix}-symbol.json")
    return any(Attributes(node.attrs).flag("with_sum", False) for node in graph.nodes)


def rounded_apart(
    mod: tvm.IRModule, params: Mapping[str, Any], inputs: Sequence[Array]
) -> list[Array]:
    """Compute the answers of a model that rounds products before it adds them to sums."""
    with patch("legalize.primitives.float_arithmetic.multiply_add", _apart):
        library = qnn.build(mod, _TARGET, params, num_threads=1)
    return [library.run(data) for data in inputs]


def _apart(
    _builder: relax.BlockBuilder, lhs: relax.Expr, rhs: relax.Expr, addend: relax.Expr
) -> relax.Expr:
    return R.add(R.multiply(lhs, rhs), addend)
