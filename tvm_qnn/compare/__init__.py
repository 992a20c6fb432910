"""Compares a model's tensors or outputs with those of another program."""

from tvm_qnn.compare.comparison import Comparison as Comparison
from tvm_qnn.compare.comparison import TensorComparison as TensorComparison
from tvm_qnn.compare.outputs import Archive as Archive
from tvm_qnn.compare.outputs import Here as Here
from tvm_qnn.compare.outputs import Program as Program
from tvm_qnn.compare.outputs import compare_outputs as compare_outputs
from tvm_qnn.compare.references import REFERENCES as REFERENCES
from tvm_qnn.compare.references import Reference as Reference
from tvm_qnn.compare.references import reference_of as reference_of
from tvm_qnn.compare.tensors import compare as compare
