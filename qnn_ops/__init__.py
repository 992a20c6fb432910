"""The dialect: the meaning of quantized operators.

Each operator is a Relax operator ``relax.qnn.<name>``: a call built by the function of that
name, with a type rule and a reference in numpy (``<operator>.evaluate``). TVM knows all of them, by
``R.qnn`` too, as soon as any is imported from here. ``import qnn_ops`` alone does not import TVM.
"""

from typing import TYPE_CHECKING

from qnn_ops.lazy import make_lazy
from qnn_ops.modules import modules_of

if TYPE_CHECKING:
    from qnn_ops.errors import QnnError
    from qnn_ops.quantized.binary import (
        quantized_add,
        quantized_multiply,
        quantized_prelu,
        quantized_squared_difference,
        quantized_subtract,
    )
    from qnn_ops.quantized.blockwise_dense import blockwise_dense
    from qnn_ops.quantized.concat import quantized_concat
    from qnn_ops.quantized.conv2d import quantized_conv2d
    from qnn_ops.quantized.dense import quantized_dense, quantized_fully_connected
    from qnn_ops.quantized.dynamic_quantization import dynamic_encoding, dynamic_quantize
    from qnn_ops.quantized.lookup import quantized_lookup
    from qnn_ops.quantized.lstm import quantized_lstm
    from qnn_ops.quantized.matmul import float_matmul, quantized_matmul
    from qnn_ops.quantized.mean import quantized_mean
    from qnn_ops.quantized.pad import quantized_pad
    from qnn_ops.quantized.pool2d import quantized_pool2d
    from qnn_ops.quantized.quantization import dequantize, quantize, requantize
    from qnn_ops.quantized.relu import quantized_relu
    from qnn_ops.quantized.resize2d import quantized_resize2d
    from qnn_ops.quantized.softmax import quantized_softmax
    from qnn_ops.quantized.svdf import quantized_svdf, quantized_svdf_state
    from qnn_ops.unquantized.boxes import decode_boxes, select_boxes
    from qnn_ops.unquantized.float_arithmetic import fused_multiply_add, natural_power, reinterpret
    from qnn_ops.unquantized.float_conv2d import float_conv2d
    from qnn_ops.unquantized.float_function import float_function
    from qnn_ops.unquantized.hash_signs import hash_signs
    from qnn_ops.unquantized.indices import counted_indices, top_indices
    from qnn_ops.unquantized.reduce_windows import reduce_windows
    from qnn_ops.unquantized.row_moments import row_moments
    from qnn_ops.unquantized.rows import average_rows, scatter_rows
    from qnn_ops.unquantized.suppression import suppress_boxes, suppress_by_class

__all__ = [
    "QnnError",
    "average_rows",
    "blockwise_dense",
    "counted_indices",
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
    "top_indices",
]

_MODULES = tuple(
    name for room in ("unquantized", "quantized") for name in modules_of(f"{__name__}.{room}")
)

make_lazy(
    __name__,
    {
        **dict.fromkeys(__all__, _MODULES),
        # Not even its own import: it registers with TVM's FFI, which takes a quarter of a second.
        "QnnError": (f"{__name__}.errors",),
    },
)
