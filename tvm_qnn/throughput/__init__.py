"""Measures images a second: of several streams, each with one thread, and of batches."""

from __future__ import annotations

from tvm_qnn.throughput.litert import LITERT, start_litert
from tvm_qnn.throughput.memory import memory_of
from tvm_qnn.throughput.open_vino import OPENVINO, start_open_vino
from tvm_qnn.throughput.ours import OURS, SharedLibrary
from tvm_qnn.throughput.rates import Rates, Streams, in_turn, with_batch

__all__ = [
    "LITERT",
    "OPENVINO",
    "OURS",
    "Rates",
    "SharedLibrary",
    "Streams",
    "in_turn",
    "memory_of",
    "start_litert",
    "start_open_vino",
    "with_batch",
]
