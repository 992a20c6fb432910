"""The zoo's networks, one file each, written once over an abstract builder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tvm_qnn.zoo.topologies.inception_v3 import inception_v3
from tvm_qnn.zoo.topologies.mobilenet_v1 import mobilenet_v1
from tvm_qnn.zoo.topologies.mobilenet_v2 import mobilenet_v2
from tvm_qnn.zoo.topologies.resnet50 import resnet50


@dataclass(frozen=True)
class Topology:
    """A network.

    Attributes:
        describe: builds it: (builder, pictures, classes, scaled channels) -> probabilities.
        size: the published height and width of its pictures, in pixels.
        tiny_size: the same for the tiny variant: small, and odd sizes on the way.
    """

    describe: Callable[[Any, Any, int, Callable[[int], int]], Any]
    size: int
    tiny_size: int


TOPOLOGIES = {
    "inception_v3": Topology(inception_v3, 299, 75),  # below 75 its VALID layers run dry
    "mobilenet_v1": Topology(mobilenet_v1, 224, 64),
    "mobilenet_v2": Topology(mobilenet_v2, 224, 49),
    "resnet50": Topology(resnet50, 224, 50),
}
