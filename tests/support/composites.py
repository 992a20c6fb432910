"""Options of STABLEHLO_COMPOSITE."""

from typing import Any

import numpy as np
from flatbuffers import flexbuffers


def runs(number: int) -> dict[str, Any]:
    """Return the options of what a subgraph makes up; LiteRT needs attributes: there are none."""
    attributes = np.frombuffer(flexbuffers.Dumps({}), np.uint8)
    names = {"name": "some.layer", "composite_attributes": attributes}
    return {"decomposition_subgraph_index": number, **names}
