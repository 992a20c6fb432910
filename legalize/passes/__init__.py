"""Whole-graph rewrites, one idea a file, each from IRModule to IRModule."""

from __future__ import annotations

from legalize.passes.legalize_qnn import LegalizeQnn

__all__ = ["LegalizeQnn"]
