"""What a model file holds, and what becomes of it."""

from __future__ import annotations

from tvm_qnn.inspect.mxnet import mxnet_summary
from tvm_qnn.inspect.report import html_report
from tvm_qnn.inspect.summary import OperatorInfo, Summary
from tvm_qnn.inspect.tflite import tflite_summary

__all__ = ["OperatorInfo", "Summary", "html_report", "mxnet_summary", "tflite_summary"]
