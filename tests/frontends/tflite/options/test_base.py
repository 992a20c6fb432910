import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tflite

import frontends.tflite
from frontends.errors import ModelFormatError
from frontends.tflite.options.base import TABLES
from frontends.tflite.reader import read_model
from frontends.tflite.schema import OPTIONS_BY_OPERATOR
from frontends.tflite.writer import ModelWriter
from tests.support.errors import failing, giving


def read_back(code: str, with_table: bool = True, **fields: Any) -> tuple[Any, ...]:
    """Return the options of an operator that the writer wrote with the given fields, in order."""
    writer = ModelWriter()
    x, y = writer.tensor("x", (1,), "float32"), writer.tensor("y", (1,), "float32")
    writer.operator(code, [x], [y], **fields)
    data = bytearray(writer.finish([x], [y]))
    if not with_table:
        operator = tflite.Model.GetRootAs(data, 0).Subgraphs(0).Operators(0)
        data[operator._tab.Pos + operator._tab.Offset(10)] = tflite.BuiltinOptions.NONE
    return tuple(vars(read_model(bytes(data)).operators[0].options).values())


WINDOW = {"padding": "VALID", "stride_h": 2, "stride_w": 3}
DILATED = {**WINDOW, "dilation_h_factor": 4, "dilation_w_factor": 5}
RELU6 = {"fused_activation_function": "RELU6"}


test_fields = giving(
    lambda code, fields: read_back(code, **fields),
    (
        "CONV_2D",
        {**DILATED, **RELU6, "quantized_bias_type": "int64"},
        ("VALID", (2, 3), (4, 5), "RELU6", "int64"),
    ),
    ("DEPTHWISE_CONV_2D", {**DILATED, "depth_multiplier": 6}, ("VALID", (2, 3), (4, 5), 6, "NONE")),
    ("TRANSPOSE_CONV", WINDOW, ("VALID", (2, 3), "NONE", "float32")),
    *(
        (code, {**WINDOW, "filter_height": 6, "filter_width": 7}, ("VALID", (2, 3), (6, 7), "NONE"))
        for code in ("AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D")
    ),
    (
        "FULLY_CONNECTED",
        {
            "keep_num_dims": True,
            "fused_activation_function": "RELU_N1_TO_1",
            "quantized_bias_type": "int32",
        },
        ("RELU_N1_TO_1", True, "DEFAULT", False, "int32"),
    ),
    (
        "FULLY_CONNECTED",
        {"weights_format": "SHUFFLED4x16INT8", "asymmetric_quantize_inputs": True},
        ("NONE", False, "SHUFFLED4x16INT8", True, "float32"),
    ),
    ("SOFTMAX", {"beta": 0.3}, (float(np.float32(0.3)),)),
    ("CONCATENATION", {"axis": -2, **RELU6}, (-2, "RELU6")),
    ("ADD", RELU6, ("RELU6", True)),
    ("SUB", {**RELU6, "pot_scale_int16": False}, ("RELU6", False)),
    ("MUL", RELU6, ("RELU6",)),
    ("DIV", RELU6, ("RELU6",)),
    ("MEAN", {"keep_dims": True}, (True,)),
    ("SUM", {"keep_dims": False}, (False,)),
    ("RESHAPE", {"new_shape": [2, -1]}, ((2, -1),)),
    ("RESHAPE", {"new_shape": []}, ((),)),
    ("RESHAPE", {}, (None,)),
    ("SQUEEZE", {"squeeze_dims": [1, -1]}, ((1, -1),)),
    ("SQUEEZE", {}, ((),)),
    ("RESIZE_BILINEAR", {"align_corners": True}, (True, False)),
    ("RESIZE_NEAREST_NEIGHBOR", {"half_pixel_centers": True}, (False, True)),
    (
        "STRIDED_SLICE",
        {
            "begin_mask": 1,
            "end_mask": 2,
            "ellipsis_mask": 4,
            "new_axis_mask": 8,
            "shrink_axis_mask": 16,
            "offset": True,
        },
        (1, 2, 4, 8, 16, True),
    ),
    ("SPLIT", {"num_splits": 3}, (3,)),
    ("SPLIT_V", {"num_splits": 3}, (3,)),
    ("ARG_MAX", {"output_type": "int64"}, ("int64",)),
    ("ARG_MIN", {"output_type": "int32"}, ("int32",)),
    ("LEAKY_RELU", {"alpha": 0.5}, (0.5,)),
    ("MIRROR_PAD", {"mode": "SYMMETRIC"}, ("SYMMETRIC",)),
    ("TRANSPOSE", {}, ()),
    ("RELU", {}, ()),
)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("ADD", ("NONE", True)),
        ("SOFTMAX", (0.0,)),
        ("CONCATENATION", (0, "NONE")),
        ("FULLY_CONNECTED", ("NONE", False, "DEFAULT", False, "float32")),
        ("RESHAPE", (None,)),
        ("SQUEEZE", ((),)),
        ("STRIDED_SLICE", (0, 0, 0, 0, 0, False)),
    ],
)
@pytest.mark.parametrize("with_table", [True, False])
def test_defaults_of_the_schema(code: str, expected: tuple[Any, ...], with_table: bool) -> None:
    assert read_back(code, with_table) == expected


test_defaults_that_cannot_be_used = failing(
    lambda code: read_back(code, with_table=False),
    ("CONV_2D", "operator 0 CONV_2D options: StrideH is 0, needs at least 1"),
    ("MAX_POOL_2D", "operator 0 MAX_POOL_2D options: StrideH is 0, needs at least 1"),
    ("SPLIT", "operator 0 SPLIT options: NumSplits is 0, needs at least 1"),
    error=ModelFormatError,
)


def test_floats_have_to_be_finite() -> None:
    with pytest.raises(ModelFormatError, match="SOFTMAX options: Beta is nan"):
        read_back("SOFTMAX", beta=float("nan"))


def test_every_row_is_a_table_of_an_operator() -> None:
    assert len(TABLES) > 20
    assert set(TABLES) <= set(OPTIONS_BY_OPERATOR.values())


def test_converters_use_options_that_are_read() -> None:
    """Type checkers do not know the fields."""
    sources = Path(frontends.tflite.__file__).parent.rglob("*.py")
    texts = [file.read_text("utf-8") for file in sources]
    used = {name for text in texts for name in re.findall(r"ctx\.options\.(\w+)", text)}
    assert len(used) > 20
    of_custom_operators = {"content", "count", "grows"}
    fields = {field for fields in TABLES.values() for field in fields.split()}
    assert used - fields == of_custom_operators
