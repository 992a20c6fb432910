"""quantized_concat in Relax primitives."""

from __future__ import annotations

from tvm import relax
from tvm.relax import op as R

from legalize.primitives.fixed_point import const
from legalize.primitives.quantized_lookup import lookup
from legalize.primitives.registry import primitive
from qnn_ops.quantized_concat import conversion_table, quantized_concat
from qnn_ops.registry import Attrs


@primitive(quantized_concat)
def _quantized_concat(builder: relax.BlockBuilder, attrs: Attrs, inputs: relax.Expr) -> relax.Expr:
    def converted(index: int) -> relax.Expr:
        data = inputs.fields[index] if isinstance(inputs, relax.Tuple) else inputs[index]
        table = conversion_table(attrs, index)
        if table is None:
            return data
        # An 8-bit input has 256 values only: the float32 formula is evaluated here, and what
        # the target's compiler makes of float arithmetic does not matter.
        return lookup(builder.emit(data), const(table, attrs.out_dtype))

    parts = [converted(index) for index in range(len(attrs.input_scales))]
    return R.concat(parts, axis=attrs.axis)
