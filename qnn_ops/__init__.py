"""The dialect: the meaning of quantized operators.

Each operator is a Relax operator ``relax.qnn.<name>``: a call built by the function of that
name, with a type rule and a reference in numpy (``<operator>.evaluate``). TVM knows all of them, by
``R.qnn`` too, as soon as any is imported from here. ``import qnn_ops`` alone does not import TVM.
"""

from typing import TYPE_CHECKING

from qnn_ops.lazy import make_lazy
from qnn_ops.modules import modules_of

if TYPE_CHECKING:
    from qnn_ops.errors import QnnError as QnnError
    from qnn_ops.quantized.binary import quantized_add as quantized_add
    from qnn_ops.quantized.binary import quantized_multiply as quantized_multiply
    from qnn_ops.quantized.binary import quantized_prelu as quantized_prelu
    from qnn_ops.quantized.binary import (
        quantized_squared_difference as quantized_squared_difference,
    )
    from qnn_ops.quantized.binary import quantized_subtract as quantized_subtract
    from qnn_ops.quantized.blockwise_dense import blockwise_dense as blockwise_dense
    from qnn_ops.quantized.concat import quantized_concat as quantized_concat
    from qnn_ops.quantized.conv2d import quantized_conv2d as quantized_conv2d
    from qnn_ops.quantized.dense import quantized_dense as quantized_dense
    from qnn_ops.quantized.dense import quantized_fully_connected as quantized_fully_connected
    from qnn_ops.quantized.dynamic_quantization import dynamic_encoding as dynamic_encoding
    from qnn_ops.quantized.dynamic_quantization import dynamic_quantize as dynamic_quantize
    from qnn_ops.quantized.lookup import quantized_lookup as quantized_lookup
    from qnn_ops.quantized.lstm import quantized_lstm as quantized_lstm
    from qnn_ops.quantized.matmul import float_matmul as float_matmul
    from qnn_ops.quantized.matmul import quantized_matmul as quantized_matmul
    from qnn_ops.quantized.mean import quantized_mean as quantized_mean
    from qnn_ops.quantized.pad import quantized_pad as quantized_pad
    from qnn_ops.quantized.pool2d import quantized_pool2d as quantized_pool2d
    from qnn_ops.quantized.quantization import dequantize as dequantize
    from qnn_ops.quantized.quantization import quantize as quantize
    from qnn_ops.quantized.quantization import requantize as requantize
    from qnn_ops.quantized.relu import quantized_relu as quantized_relu
    from qnn_ops.quantized.resize2d import quantized_resize2d as quantized_resize2d
    from qnn_ops.quantized.softmax import quantized_softmax as quantized_softmax
    from qnn_ops.quantized.svdf import quantized_svdf as quantized_svdf
    from qnn_ops.quantized.svdf import quantized_svdf_state as quantized_svdf_state
    from qnn_ops.unquantized.boxes import decode_boxes as decode_boxes
    from qnn_ops.unquantized.boxes import select_boxes as select_boxes
    from qnn_ops.unquantized.float_arithmetic import fused_multiply_add as fused_multiply_add
    from qnn_ops.unquantized.float_arithmetic import natural_power as natural_power
    from qnn_ops.unquantized.float_arithmetic import reinterpret as reinterpret
    from qnn_ops.unquantized.float_conv2d import float_conv2d as float_conv2d
    from qnn_ops.unquantized.float_function import float_function as float_function
    from qnn_ops.unquantized.hash_signs import hash_signs as hash_signs
    from qnn_ops.unquantized.indices import counted_indices as counted_indices
    from qnn_ops.unquantized.indices import top_indices as top_indices
    from qnn_ops.unquantized.reduce_windows import reduce_windows as reduce_windows
    from qnn_ops.unquantized.row_moments import row_moments as row_moments
    from qnn_ops.unquantized.rows import average_rows as average_rows
    from qnn_ops.unquantized.rows import scatter_rows as scatter_rows
    from qnn_ops.unquantized.suppression import suppress_boxes as suppress_boxes
    from qnn_ops.unquantized.suppression import suppress_by_class as suppress_by_class

_MODULES = tuple(
    name for room in ("unquantized", "quantized") for name in modules_of(f"{__name__}.{room}")
)

# Any operator brings all of them to TVM.
make_lazy(__name__, lambda _name, home: _MODULES if home in _MODULES else ())
