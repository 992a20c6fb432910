"""The command line."""

from __future__ import annotations

from tvm_qnn.cli.program import main

__all__ = ["main"]
