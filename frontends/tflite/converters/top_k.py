"""TOPK_V2."""

from __future__ import annotations

from math import prod

from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.tflite.converters.context import Context, reshaped
from frontends.tflite.converters.registry import data_converter
from qnn_ops import top_places
from qnn_ops.errors import QnnError
from qnn_ops.indices import INDEX_DTYPES


@data_converter("TOPK_V2")
def convert_top_k(ctx: Context) -> list[relax.Expr]:
    """Give the largest elements of each row and their places; of equal ones the first."""
    data, count = ctx.input(0), ctx.integer(1)
    dtype = data.tensor.dtype
    if not data.shape or not 0 <= count <= data.shape[-1]:
        raise QnnError(f"{count} elements of rows of shape {data.shape}")
    if ctx.output(1).dtype != "int32" or dtype not in INDEX_DTYPES:
        raise UnsupportedError(f"{ctx.output(1).dtype} places of {dtype} elements")
    *outer, size = data.shape
    if 0 in data.shape or count == 0:
        return [R.zeros([*outer, count], each) for each in (dtype, "int32")]
    rows = reshaped(data.expr, (prod(outer), size))
    places = ctx.builder.emit(top_places(rows, count))
    values = R.gather_elements(rows, places, axis=1)
    return [reshaped(result, (*outer, count)) for result in (values, places)]
