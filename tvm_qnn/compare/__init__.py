"""Compares a model's tensors or outputs with those of another program."""

from __future__ import annotations

from tvm_qnn.compare.comparison import Comparison, TensorComparison
from tvm_qnn.compare.outputs import Archive, Here, Program, compare_outputs
from tvm_qnn.compare.references import REFERENCES, Reference, reference_of
from tvm_qnn.compare.tensors import compare

__all__ = [
    "REFERENCES",
    "Archive",
    "Comparison",
    "Here",
    "Program",
    "Reference",
    "TensorComparison",
    "compare",
    "compare_outputs",
    "reference_of",
]
