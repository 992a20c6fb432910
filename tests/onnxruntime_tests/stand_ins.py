"""What ONNX Runtime's tests take of their own helpers, and of what the package onnx has lost."""

import os
import unittest
from types import SimpleNamespace

from onnx import TensorProto, helper

TENSOR_TYPE_MAP = {
    number: SimpleNamespace(np_dtype=helper.tensor_dtype_to_np_dtype(number))
    for number in TensorProto.DataType.values()
    if number != TensorProto.UNDEFINED
}
"""Types of elements by their numbers."""


def get_name(name: str) -> str:
    """Return the path of a model from the folder in which the tests run."""
    path = f"testdata/{name}"
    if not os.path.exists(path):
        raise unittest.SkipTest(f"needs {name}, which the checkout does not have")
    return path
