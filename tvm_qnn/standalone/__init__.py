"""Exports models as files that run without TVM: an object file and a few lines of C."""

from __future__ import annotations

from tvm_qnn.standalone.export import export_standalone

__all__ = ["export_standalone"]
