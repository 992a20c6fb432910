from __future__ import annotations

from tvm_qnn import relay
from tvm_qnn.relay.frontend.common import infer_shape, infer_type


def test_types_and_shapes_of_expressions() -> None:
    x = relay.var("x", shape=(2, 3), dtype="int8")
    total = relay.sum(relay.cast(x, "int32"), axis=1)
    assert infer_type(total).checked_type == relay.TensorType((2,), "int32")
    assert infer_shape(total) == (2,)
