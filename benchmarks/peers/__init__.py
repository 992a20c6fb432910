"""The compared programs, one per file. None of them is imported before it is measured."""

from benchmarks.peers.base import Peer, Session
from benchmarks.peers.litert import LiteRt
from benchmarks.peers.onnx_runtime import OnnxRuntime
from benchmarks.peers.open_vino import OpenVino
from benchmarks.peers.ours import Ours
from benchmarks.peers.stock_tvm import StockTvm

__all__ = ["OURS", "PEERS", "Peer", "Session"]

OURS = "tvm-qnn"

PEERS: dict[str, Peer] = {
    OURS: Ours(),
    "litert": LiteRt(xnnpack=True),
    "litert-builtin": LiteRt(xnnpack=False),
    "openvino": OpenVino(),
    "onnxruntime": OnnxRuntime(),
    "onnxruntime-integers": OnnxRuntime(in_integers=True),
    "stock-tvm": StockTvm(),
}
"""Peers by their names on the command line, in the order of the tables."""
