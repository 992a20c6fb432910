"""A small TFLite model in which single fields are overwritten."""

import struct
from typing import Any

import tflite

from tests.frontends.tflite.example_models import small_model

SMALL = small_model()

# Numbers of fields in their tables, as the schema counts them.
MODEL_CODES, MODEL_SUBGRAPHS, MODEL_BUFFERS = 1, 2, 4
SUBGRAPH_TENSORS, SUBGRAPH_INPUTS, SUBGRAPH_OUTPUTS = 0, 1, 2
TENSOR_SHAPE, TENSOR_TYPE, TENSOR_BUFFER, TENSOR_NAME = 0, 1, 2, 3
OPERATOR_CODE, OPERATOR_INPUTS, OPERATOR_OUTPUTS, OPERATOR_OPTIONS_TYPE = 0, 1, 2, 3
CONV_PADDING, CONV_STRIDE_W, CONV_ACTIVATION = 0, 1, 3


class Patch:
    """A copy of a model, the small one, in which single fields are overwritten."""

    def __init__(self, content: bytes = SMALL) -> None:
        self.data = bytearray(content)
        self.model = tflite.Model.GetRootAs(self.data, 0)
        self.subgraph = self.model.Subgraphs(0)
        self.conv = self.subgraph.Operators(0)

    def options(self) -> Any:
        table = self.conv.BuiltinOptions()
        options = tflite.Conv2DOptions()
        options.Init(table.Bytes, table.Pos)
        return options

    def field(self, table: Any, number: int, layout: str, value: int) -> None:
        offset = table._tab.Offset(4 + 2 * number)
        assert offset, "the field is not in the file"
        struct.pack_into(layout, self.data, table._tab.Pos + offset, value)

    def element(self, table: Any, number: int, index: int, value: int) -> None:
        """Overwrites a vector's int32 element; element -1 is its length."""
        start = table._tab.Vector(table._tab.Offset(4 + 2 * number))
        struct.pack_into("<i", self.data, start + 4 * index, value)
