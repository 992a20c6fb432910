"""The rows of layers: convolutions, dense layers and products of matrices."""

from math import prod

from frontends.tflite.converters.layers import (
    convolution,
    float_layers,
    hybrid_layers,
    matmul,
    transpose_conv,
)
from frontends.tflite.operators import COMPUTED, OPERATORS, Row

# Weights are [O, KH, KW, I], of DEPTHWISE_CONV_2D [1, KH, KW, O], of FULLY_CONNECTED [O, I].
OPERATORS.update(
    {
        "BATCH_MATMUL": Row(
            quantized=matmul.convert_batch_matmul,
            int16=matmul.convert_int16_batch_matmul,
            floats=matmul.convert_float_batch_matmul,
            unscaled=matmul.convert_unscaled_batch_matmul,
            sums=matmul.convert_summed_batch_matmul,
            hybrid=hybrid_layers.convert_hybrid_batch_matmul,
            micro=COMPUTED,
            unpacks=(),
            fills=True,
        ),
        "CONV_2D": Row(
            scaled=convolution.convert_conv_2d,
            floats=float_layers.convert_float_conv_2d,
            hybrid=hybrid_layers.convert_hybrid_conv_2d,
            micro=COMPUTED,
            is_layer=True,
            products=lambda operands, result: prod(result) * prod(operands[1][1:]),
        ),
        "CONV_3D": Row(floats=float_layers.convert_conv_3d),
        "CONV_3D_TRANSPOSE": Row(floats=float_layers.convert_conv_3d_transpose),
        "DEPTHWISE_CONV_2D": Row(
            scaled=convolution.convert_conv_2d,
            floats=float_layers.convert_float_conv_2d,
            hybrid=hybrid_layers.convert_hybrid_depthwise_conv_2d,
            micro=COMPUTED,
            is_layer=True,
            products=lambda operands, result: prod(result) * prod(operands[1][1:3]),
        ),
        "FULLY_CONNECTED": Row(
            scaled=convolution.convert_fully_connected,
            floats=float_layers.convert_float_fully_connected,
            hybrid=hybrid_layers.convert_hybrid_fully_connected,
            by_block=hybrid_layers.convert_dense_by_block,
            micro=COMPUTED,
            unpacks=("constant int4", "constant int2"),
            has_computed_weights=True,
            is_layer=True,
            products=lambda operands, result: prod(result) * operands[1][-1],
        ),
        "TRANSPOSE_CONV": Row(
            scaled=transpose_conv.convert_transpose_conv,
            floats=float_layers.convert_float_transpose_conv,
            hybrid=hybrid_layers.convert_hybrid_transpose_conv,
            micro=COMPUTED,
            data_and_weights=(2, 1),
            products=lambda operands, _: prod(operands[2]) * prod(operands[1][:3]),
        ),
    }
)
