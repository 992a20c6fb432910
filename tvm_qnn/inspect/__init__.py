"""A model's graph, drawn."""

from __future__ import annotations

from tvm_qnn.inspect.report import html_report

__all__ = ["html_report"]
