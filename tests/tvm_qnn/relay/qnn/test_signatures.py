import inspect
from typing import Any, get_args

import pytest

import qnn_ops
from qnn_ops.dialect.registry import Operator
from tvm_qnn.relay.qnn import op

ALIKE: dict[str, Operator[Any]] = {
    "conv2d": qnn_ops.quantized_conv2d,
    "dense": qnn_ops.quantized_dense,
    "dequantize": qnn_ops.dequantize,
    "quantize": qnn_ops.quantize,
    "softmax": qnn_ops.quantized_softmax,
}
# Relay's are numbers, constants or expressions.
QUANTIZATION = {"input_scale", "input_zero_point", "kernel_scale", "kernel_zero_point"}
QUANTIZATION |= {"scale", "zero_point", "output_scale", "output_zero_point"}


@pytest.mark.parametrize("name", ALIKE)
def test_parameters_are_those_of_the_dialect_where_both_have_them(name: str) -> None:
    operator = ALIKE[name]
    theirs = inspect.signature(operator).parameters
    ours = inspect.signature(getattr(op, name), eval_str=True).parameters
    shared = set(ours) & set(operator.declaration.attributes) - QUANTIZATION
    assert shared
    for each in shared:
        assert get_args(ours[each].annotation)[1] == operator.declaration.attributes[each]
        required = inspect.Parameter.empty in (ours[each].default, theirs[each].default)
        assert required or ours[each].default == theirs[each].default
