"""Draws a model's graph, also beside another model's."""

from __future__ import annotations

from tvm_qnn.inspect.changes import Changes, Described, changes_of
from tvm_qnn.inspect.model_explorer import model_explorer_graph
from tvm_qnn.inspect.report import html_report

__all__ = ["Changes", "Described", "changes_of", "html_report", "model_explorer_graph"]
