"""The dialect: what quantized operators mean.

Each operator is a Relax operator ``relax.qnn.<name>``: a call built by the function of that
name, with a type rule and a reference in numpy (``<operator>.evaluate``). TVM knows all of them,
by ``R.qnn`` too, as soon as any is imported from here; ``import qnn_ops`` alone leaves TVM out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from qnn_ops.lazy import make_lazy

if TYPE_CHECKING:
    from qnn_ops.average_rows import average_rows
    from qnn_ops.blockwise_dense import blockwise_dense
    from qnn_ops.counted_places import counted_places
    from qnn_ops.decode_boxes import decode_boxes
    from qnn_ops.dequantize import dequantize
    from qnn_ops.dynamic_encoding import dynamic_encoding
    from qnn_ops.dynamic_quantize import dynamic_quantize
    from qnn_ops.errors import QnnError
    from qnn_ops.float_conv2d import float_conv2d
    from qnn_ops.float_function import float_function
    from qnn_ops.float_matmul import float_matmul
    from qnn_ops.fused_multiply_add import fused_multiply_add
    from qnn_ops.hash_signs import hash_signs
    from qnn_ops.natural_power import natural_power
    from qnn_ops.quantize import quantize
    from qnn_ops.quantized_add import quantized_add
    from qnn_ops.quantized_concat import quantized_concat
    from qnn_ops.quantized_conv2d import quantized_conv2d
    from qnn_ops.quantized_dense import quantized_dense, quantized_fully_connected
    from qnn_ops.quantized_lookup import quantized_lookup
    from qnn_ops.quantized_lstm import quantized_lstm
    from qnn_ops.quantized_matmul import quantized_matmul
    from qnn_ops.quantized_mean import quantized_mean
    from qnn_ops.quantized_multiply import quantized_multiply
    from qnn_ops.quantized_pad import quantized_pad
    from qnn_ops.quantized_pool2d import quantized_pool2d
    from qnn_ops.quantized_prelu import quantized_prelu
    from qnn_ops.quantized_relu import quantized_relu
    from qnn_ops.quantized_resize2d import quantized_resize2d
    from qnn_ops.quantized_softmax import quantized_softmax
    from qnn_ops.quantized_squared_difference import quantized_squared_difference
    from qnn_ops.quantized_subtract import quantized_subtract
    from qnn_ops.quantized_svdf import quantized_svdf
    from qnn_ops.quantized_svdf_state import quantized_svdf_state
    from qnn_ops.reduce_windows import reduce_windows
    from qnn_ops.reinterpret import reinterpret
    from qnn_ops.requantize import requantize
    from qnn_ops.row_moments import row_moments
    from qnn_ops.scatter_rows import scatter_rows
    from qnn_ops.select_boxes import select_boxes
    from qnn_ops.suppress_boxes import suppress_boxes
    from qnn_ops.suppress_by_class import suppress_by_class
    from qnn_ops.top_places import top_places

__all__ = [
    "QnnError",
    "average_rows",
    "blockwise_dense",
    "counted_places",
    "decode_boxes",
    "dequantize",
    "dynamic_encoding",
    "dynamic_quantize",
    "float_conv2d",
    "float_function",
    "float_matmul",
    "fused_multiply_add",
    "hash_signs",
    "natural_power",
    "quantize",
    "quantized_add",
    "quantized_concat",
    "quantized_conv2d",
    "quantized_dense",
    "quantized_fully_connected",
    "quantized_lookup",
    "quantized_lstm",
    "quantized_matmul",
    "quantized_mean",
    "quantized_multiply",
    "quantized_pad",
    "quantized_pool2d",
    "quantized_prelu",
    "quantized_relu",
    "quantized_resize2d",
    "quantized_softmax",
    "quantized_squared_difference",
    "quantized_subtract",
    "quantized_svdf",
    "quantized_svdf_state",
    "reduce_windows",
    "reinterpret",
    "requantize",
    "row_moments",
    "scatter_rows",
    "select_boxes",
    "suppress_boxes",
    "suppress_by_class",
    "top_places",
]

_ALIASES = {"quantized_fully_connected": "quantized_dense"}
_OPERATORS = tuple(name for name in __all__ if name not in ("QnnError", *_ALIASES))
_MODULES = tuple(f"{__name__}.{name}" for name in _OPERATORS)

make_lazy(
    __name__,
    {
        # Not even its own import: it registers with TVM's FFI, which takes a quarter of a second.
        "QnnError": (f"{__name__}.errors",),
        **{name: (*_MODULES, f"{__name__}.{name}") for name in _OPERATORS},
        **{name: (*_MODULES, f"{__name__}.{home}") for name, home in _ALIASES.items()},
    },
)
