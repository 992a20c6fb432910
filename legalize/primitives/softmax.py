"""Softmax: its reference, and loops for ONNX Runtime's rows of bytes whose length each run decides.

The table of exponentials depends on the length, so the run computes it, by the C library's
functions, as ONNX Runtime does.
"""

from math import prod
from typing import Any

import numpy as np
from tvm.relax import Expr
from tvm.relax import op as R
from tvm.script.ir_builder import tirx as T

from legalize.primitives.loops import call_loops, cell, put
from legalize.primitives.references import by_reference
from legalize.primitives.registry import Builder, primitive
from qnn_ops.arithmetic.onnxruntime import SOFTMAX_RESERVE, is_onnxruntime, softmax_factor
from qnn_ops.dialect.attributes import dtype_range
from qnn_ops.dialect.registry import Attrs, spec_of
from qnn_ops.dialect.sizes import as_extent, is_open
from qnn_ops.quantized.softmax import quantized_softmax

_DISTANCES = 256


@primitive(quantized_softmax)
def _softmax(builder: Builder, attrs: Attrs, data: Expr) -> Expr:
    shape = spec_of(data).shape
    is_last = attrs.axis % len(shape) == len(shape) - 1
    if is_last and is_open(shape[-1:]) and is_onnxruntime(attrs):
        return _open_softmax(builder, attrs, data)
    return by_reference(quantized_softmax, builder, attrs, data)


def _open_softmax(builder: Builder, attrs: Attrs, data: Expr) -> Expr:
    """Return the softmax along the last axis, whose size is open."""
    spec = spec_of(data)
    rows, columns = as_extent(prod(spec.shape[:-1])), as_extent(spec.shape[-1])
    scale = T.float64(float(np.float32(attrs.input_scale)))
    low, high = dtype_range(attrs.out_dtype)

    def write(data: Any, output: Any) -> None:
        table = T.alloc_buffer((_DISTANCES,), "float32", scope="global")
        most = T.float32(float(np.finfo(np.float32).max)) / T.Cast("float32", columns)
        logarithm = T.Cast("float32", T.log(T.Cast("float64", most)))
        free = T.Cast("float64", logarithm) - T.float64(SOFTMAX_RESERVE)
        shift = cell("float64", T.max(T.float64(0), free) / scale)
        with T.serial(_DISTANCES) as distance:
            exponent = (shift[0] - T.Cast("float64", distance)) * scale
            put(table, T.Cast("float32", T.exp(exponent)), distance)
        with T.serial(rows) as row:
            largest, total = cell("int32", T.int32(-_DISTANCES)), cell("float32", T.float32(0))
            with T.serial(columns) as column:
                put(largest, T.max(largest[0], T.Cast("int32", data[row, column])))

            def term(column: Any) -> Any:
                return table[largest[0] - T.Cast("int32", data[row, column])]

            with T.serial(columns) as column:
                put(total, total[0] + term(column))
            with T.serial(columns) as column:
                factor = T.float64(float(softmax_factor(attrs.output_scale)))
                quotient = T.Cast("float64", term(column)) * factor / T.Cast("float64", total[0])
                steps = T.Cast("int32", T.nearbyint(quotient)) + attrs.output_zero_point
                bounded = T.max(T.min(steps, high), low)
                T.buffer_store(output, T.Cast(attrs.out_dtype, bounded), [row, column])

    shape = (rows, columns)
    flat = builder.emit(R.reshape(data, shape))
    found = builder.emit(call_loops(builder, "softmax", [flat], shape, attrs.out_dtype, write))
    return R.reshape(found, list(map(as_extent, spec.shape)))
