from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tvm import relax

from frontends.tflite.quantization import Quantization
from qnn_ops import QnnError, quantized_concat
from qnn_ops.arrays import Array
from tests.differential.single import single
from tests.support.arrays import every_value
from tests.support.encodings import encodings
from tests.support.errors import failing, fails
from tests.support.litert import litert
from tests.support.operators import module_of
from tests.support.steps import referred

PLAIN = encodings(
    input_scales=[0.5, 0.25], input_zero_points=[10, 0], output=(0.5, 10), out_dtype="uint8"
)


def concat_on_litert(inputs: list[Array], shape: tuple[int, ...], attrs: dict[str, Any]) -> Array:
    quantizations = [
        Quantization.per_tensor(scale, zero_point)
        for scale, zero_point in zip(attrs["input_scales"], attrs["input_zero_points"], strict=True)
    ]
    output = Quantization.per_tensor(attrs["output_scale"], attrs["output_zero_point"])
    return litert(
        "CONCATENATION",
        list(zip(inputs, quantizations, strict=True)),
        (shape, attrs["out_dtype"], output),
        axis=attrs["axis"],
    )


test_equals_litert = referred(single("CONCATENATION"))


def test_float32_is_rounded_after_every_operation_as_in_litert() -> None:
    # Values that an FMA or an exact product would round to another integer.
    rng = np.random.default_rng(9)
    data, differing = every_value("uint8"), 0
    for _ in range(150):
        place, half = int(rng.integers(1, 256)), int(rng.integers(1, 120)) + 0.5
        scale = float(np.float32(rng.uniform(0.01, 1)))
        zero_point = int(rng.integers(0, place))
        output_scale = float(np.float32(scale * (place - zero_point) / half))
        attrs = encodings(
            input_scales=[scale],
            input_zero_points=[zero_point],
            output=(output_scale, 0),
            out_dtype="uint8",
            axis=0,
        )
        actual = quantized_concat.evaluate([data], **attrs)
        np.testing.assert_array_equal(actual, concat_on_litert([data], (256,), attrs))
        exact = (place - zero_point) * Fraction(scale) / Fraction(output_scale)
        differing += int(actual[place] != int(exact + Fraction(1, 2)))
    assert differing > 0


def test_a_variable_of_a_tuple_type_is_an_operand_too() -> None:
    tensors = [relax.TensorType((1, 2), "uint8"), relax.TensorType((1, 3), "uint8")]
    pair = relax.Var("pair", relax.TupleType(tensors))
    call = relax.BlockBuilder().normalize(quantized_concat(pair, **PLAIN))
    assert [int(size) for size in call.ty.shape] == [1, 5]


def test_int8_inputs_that_litert_rejects_are_named() -> None:
    inputs = [np.zeros((1, 2), np.int8), np.zeros((1, 3), np.int8)]
    attrs = {**PLAIN, "out_dtype": "int8", "axis": 1}
    fails("LiteRT rejects the model", concat_on_litert, inputs, (1, 5), attrs)
    message = (
        "quantized_concat: int8 inputs must have the output's scale 0.5 and zero point 10, "
        r"got 0.25 and 0 for quantized_inputs\[1\]"
    )
    fails(message, module_of, quantized_concat, [inputs], **attrs)


test_what_does_not_fit_is_named = failing(
    lambda change: module_of(
        quantized_concat,
        [[np.zeros((1, 2), np.uint8), np.zeros((1, 3), np.uint8)]],
        **{**PLAIN, **change},
    ),
    ({"input_scales": [0.5]}, "must be equally many, got 2, 1 and 2"),
    ({"input_zero_points": [1, 2, 3]}, "must be equally many, got 2, 2 and 3"),
    ({"input_scales": [0.5, 0.0]}, r"input_scales\[1\] must be positive and finite"),
    ({"input_zero_points": [0, 256]}, r"input_zero_points\[1\] must lie within uint8"),
    ({"output_zero_point": -1}, "output_zero_point must lie within uint8, got -1"),
    ({"out_dtype": "int8"}, r"quantized_inputs\[0\] must be int8, got uint8"),
    ({"out_dtype": "int32"}, "out_dtype must be int8 or uint8 or int16, got int32"),
    ({"input_scales": 0.5}, "input_scales must be a list, got 0.5"),
    ({"input_zero_points": None}, "input_zero_points must be a list, got None"),
    ({"axis": 2}, "axis 2 is outside a tensor of 2 dimensions"),
    ({"axis": 0}, r"inputs\[1\] must have shape \(1, 2\) except for axis 0, got \(1, 3\)"),
)


test_operands_that_do_not_fit_are_named = failing(
    lambda inputs: module_of(quantized_concat, [inputs], **PLAIN),
    ([], "quantized_inputs must be at least one tensor"),
    ([np.zeros((1, 2), np.uint8), np.zeros(2, np.uint8)], r"shape \(1, 2\) except for"),
    ([np.zeros((1, 2), np.uint8), np.zeros((1, 2), np.int8)], "must be uint8, got int8"),
)


def test_what_is_no_expression_is_named() -> None:
    tensor = relax.Var("x", relax.TensorType((1, 2), "uint8"))
    with pytest.raises(QnnError, match=r"quantized_inputs\[1\] must be a Relax expression, got No"):
        quantized_concat([tensor, None], **PLAIN)
    fails("quantized_inputs must be a list, got 3", quantized_concat, 3, **PLAIN)


def test_a_tensor_is_no_tuple() -> None:
    tensor = relax.Var("x", relax.TensorType((1, 2), "uint8"))
    with pytest.raises(QnnError, match="quantized_inputs must be at least one tensor, as a tuple"):
        relax.BlockBuilder().normalize(quantized_concat(tensor, **PLAIN))
