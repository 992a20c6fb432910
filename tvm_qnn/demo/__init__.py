"""The demonstration: exact on trained digits, exact and fast on Inception V3 or another model."""

from __future__ import annotations

from tvm_qnn.demo.digits import show_digits
from tvm_qnn.demo.inception import show_inception
from tvm_qnn.demo.own_model import show_own_model

__all__ = ["show_digits", "show_inception", "show_own_model"]
