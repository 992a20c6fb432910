"""The demonstration: exact on trained digits, exact and fast on Inception V3 or another model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qnn_ops.lazy import make_lazy

if TYPE_CHECKING:
    from tvm_qnn.demo.digits import show_digits
    from tvm_qnn.demo.inception import show_inception, show_own_model

__all__ = ["show_digits", "show_inception", "show_own_model"]

# Tables of ``report`` show a library's times, too, and need no compiler.
make_lazy(
    __name__,
    {
        "show_digits": ("tvm_qnn.demo.digits",),
        "show_inception": ("tvm_qnn.demo.inception",),
        "show_own_model": ("tvm_qnn.demo.inception",),
    },
)
