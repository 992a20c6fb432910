"""Computes how much of a processor's memory a model takes, layer by layer, before any linking."""

from __future__ import annotations

from tvm_qnn.footprint.footprint import Footprint, footprint
from tvm_qnn.footprint.layers import Follower, Layer

__all__ = ["Follower", "Footprint", "Layer", "footprint"]
