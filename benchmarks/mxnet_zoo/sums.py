"""tvm-qnn with the one rounding in which oneDNN's reference code differs from its kernels.

If a convolution adds another tensor, oneDNN's vector kernels multiply and add in one instruction,
which rounds once. The reference code also rounds the product. This changes about one in a million
results of a residual network. For a comparison with the reference code, tvm-qnn compiles such a
network with the reference code's rounding.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import tvm

import tvm_qnn as qnn
from frontends.mxnet.attributes import Attributes
from frontends.mxnet.symbol import read_symbol
from qnn_ops.arithmetic.float_epilogue import fused_multiply_add_float32

Array = np.ndarray[Any, Any]

# This target has no instruction that would fuse product and sum again.
_TARGET = "x86-sse4.1"


def has_sums(prefix: Path) -> bool:
    """Tell whether a model has convolutions that add another tensor."""
    graph = read_symbol(f"{prefix}-symbol.json")
    return any(Attributes(node.attrs).flag("with_sum", False) for node in graph.nodes)


def rounded_apart(
    mod: tvm.IRModule, params: Mapping[str, Any], inputs: Sequence[Array]
) -> list[Array]:
    """Compute the answers of a model, with products rounded before they are added to sums."""
    functions = "qnn_ops.dialect.expressions._FUNCTIONS"
    with patch.dict(functions, {fused_multiply_add_float32: _apart}):
        library = qnn.build(mod, _TARGET, params, num_threads=1)
    return [library.run(data) for data in inputs]


def _apart(lhs: Any, rhs: Any, addend: Any) -> Any:
    return lhs * rhs + addend
