"""The operators that topologies are made of: each computes in float32, and writes itself."""

from tvm_qnn.zoo.operators.concat import Concat
from tvm_qnn.zoo.operators.conv import Conv
from tvm_qnn.zoo.operators.dense import Classify
from tvm_qnn.zoo.operators.depthwise import Depthwise
from tvm_qnn.zoo.operators.inputs import pictures
from tvm_qnn.zoo.operators.mean import Mean
from tvm_qnn.zoo.operators.pairs import Add
from tvm_qnn.zoo.operators.pool import AvgPool, MaxPool
from tvm_qnn.zoo.operators.softmax import Softmax

__all__ = [
    "Add",
    "AvgPool",
    "Classify",
    "Concat",
    "Conv",
    "Depthwise",
    "MaxPool",
    "Mean",
    "Softmax",
    "pictures",
]
