"""What a model takes of a processor's memory, layer by layer, before anything is linked."""

from __future__ import annotations

from tvm_qnn.footprint.footprint import Footprint, footprint
from tvm_qnn.footprint.layers import Follower, Layer

__all__ = ["Follower", "Footprint", "Layer", "footprint"]
