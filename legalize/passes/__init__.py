"""Whole-graph rewrites, one idea a file, each from IRModule to IRModule."""

from __future__ import annotations

from legalize.passes.legalize_qnn import LegalizeQnn
from legalize.passes.use_kernels import UseKernels

__all__ = ["LegalizeQnn", "UseKernels"]
