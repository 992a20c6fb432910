"""Tests of TVM's that fail on the façade by design, each with its reason."""

from __future__ import annotations

_OPEN_SIZE = "relay.Any: every size must be known when a model is built"

DIFFERENCES = {
    f"test_op_qnn_simulated_{operator}::{test}": _OPEN_SIZE
    for operator in ("quantize", "dequantize")
    for test in ("test_dynamic_channels", "test_dynamic_dtype")
}
"""The reason by the test's file and name."""
