"""The package onnx, which need not be installed."""

from typing import Any

from qnn_ops.errors import needed


def onnx_package() -> Any:
    """Return the package.

    Raises:
        QnnError: if it cannot be imported.
    """
    with needed("reading ONNX models", "onnx", "'tvm-qnn[onnx]'"):
        import onnx
        import onnx.checker
        import onnx.defs
        import onnx.external_data_helper
        import onnx.inliner
        import onnx.shape_inference
    return onnx


def copied(message: Any) -> Any:
    """Return a copy of a message of protobuf."""
    copy = type(message)()
    copy.CopyFrom(message)
    return copy
