"""The package onnx, which need not be installed."""

from __future__ import annotations

from typing import Any

from qnn_ops.errors import QnnError


def onnx_package() -> Any:
    """Return the package.

    Raises:
        QnnError: if it cannot be imported.
    """
    try:
        import onnx
        import onnx.checker
        import onnx.defs
        import onnx.external_data_helper
        import onnx.inliner
        import onnx.shape_inference
    except ImportError as error:
        raise QnnError(
            f"reading ONNX models needs the package onnx, which cannot be imported ({error}); "
            "install it with: pip install 'tvm-qnn[onnx]'"
        ) from error
    return onnx
