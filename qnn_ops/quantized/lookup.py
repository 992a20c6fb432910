"""Any function of one quantized value, as a table."""

import numpy as np

from qnn_ops.arrays import Array
from qnn_ops.dialect import declared
from qnn_ops.dialect.attributes import dtype_range
from qnn_ops.dialect.expressions import take
from qnn_ops.dialect.registry import Attrs, TensorSpec, operator
from qnn_ops.dialect.traits import Channels, Traits, moving
from qnn_ops.errors import QnnError


@operator(
    traits=Traits(
        zero_points={"quantized_data": None},
        moved=moving(),
        keeps=None,
        clamps=False,
        channels=Channels.ANYWHERE_IN_FIRST,
    ),
    overflows=False,
)
def quantized_lookup(quantized_data: declared.Activations, table: declared.Activations) -> None:
    """Replace each value by its entry of a table: any function of one value, exactly.

    ``qnn_ops.tables.lookup`` makes the tables of LOGISTIC, TANH and others.

    Args:
        quantized_data: int8, uint8 or int16, any shape.
        table: int8, uint8 or int16, [256], for int16 data [65536]: the results for the data's
            lowest value, the next one, and so on.

    Returns:
        A call whose result has the data's shape and the table's dtype.
    """


@quantized_lookup.type_rule
def _type(_attrs: Attrs, data: TensorSpec, table: TensorSpec) -> TensorSpec:
    lowest, highest = dtype_range(data.dtype)
    shape = (highest - lowest + 1,)
    if table.shape != shape:
        raise QnnError(f"table must have shape {shape}, got {table.shape}")
    return TensorSpec(data.shape, table.dtype)


@quantized_lookup.reference
def _reference(_attrs: Attrs, data: Array, table: Array) -> Array:
    lowest, _ = dtype_range(str(data.dtype))
    return take(table, data.astype(np.int32) - lowest)
