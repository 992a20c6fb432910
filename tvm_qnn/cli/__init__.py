"""The command line."""

from typing import TYPE_CHECKING

from qnn_ops.lazy import make_lazy

if TYPE_CHECKING:
    from tvm_qnn.cli.program import main

__all__ = ["main"]

make_lazy(__name__, {"main": ("tvm_qnn.cli.program",)})
