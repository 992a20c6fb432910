"""The operators that topologies are made of: each computes in float32, and writes itself."""

from tvm_qnn.zoo.operators.concat import Concat
from tvm_qnn.zoo.operators.conv import Conv, Expectation
from tvm_qnn.zoo.operators.dense import Classify, Dense
from tvm_qnn.zoo.operators.depthwise import Depthwise
from tvm_qnn.zoo.operators.detect import Detect
from tvm_qnn.zoo.operators.functions import (
    Cast,
    Dequantize,
    Gelu,
    HardSwish,
    Logistic,
    Rsqrt,
    Sqrt,
)
from tvm_qnn.zoo.operators.gather import Embed
from tvm_qnn.zoo.operators.inputs import constant, drawn, mask, numbers, pictures, spectra
from tvm_qnn.zoo.operators.matmul import MatMul
from tvm_qnn.zoo.operators.mean import Mean
from tvm_qnn.zoo.operators.moves import Pack, Pad, Reshape, Slice, Split, Transpose
from tvm_qnn.zoo.operators.pairs import Add, Div, FloorDiv, FloorMod, Mul, SquaredDifference, Sub
from tvm_qnn.zoo.operators.places import ArgMax, GatherNd
from tvm_qnn.zoo.operators.pool import AvgPool, MaxPool
from tvm_qnn.zoo.operators.resize import ResizeBilinear, ResizeNearest
from tvm_qnn.zoo.operators.sequences import Lstm, Past, Svdf
from tvm_qnn.zoo.operators.softmax import Softmax
from tvm_qnn.zoo.operators.transpose_conv import TransposeConv

__all__ = [
    "Add",
    "ArgMax",
    "AvgPool",
    "Cast",
    "Classify",
    "Concat",
    "Conv",
    "Dense",
    "Depthwise",
    "Dequantize",
    "Detect",
    "Div",
    "Embed",
    "Expectation",
    "FloorDiv",
    "FloorMod",
    "GatherNd",
    "Gelu",
    "HardSwish",
    "Logistic",
    "Lstm",
    "MatMul",
    "MaxPool",
    "Mean",
    "Mul",
    "Pack",
    "Pad",
    "Past",
    "Reshape",
    "ResizeBilinear",
    "ResizeNearest",
    "Rsqrt",
    "Slice",
    "Softmax",
    "Split",
    "Sqrt",
    "SquaredDifference",
    "Sub",
    "Svdf",
    "Transpose",
    "TransposeConv",
    "constant",
    "drawn",
    "mask",
    "numbers",
    "pictures",
    "spectra",
]
