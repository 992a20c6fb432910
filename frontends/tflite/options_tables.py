"""The package's tables of options, and those that its schema is too old for."""

from __future__ import annotations

from typing import Any

import tflite


class _StablehloCaseOptions(tflite.SqueezeOptions):
    """One vector of int32, in the place where SqueezeOptions has its own."""

    BranchSubgraphIndicesAsNumpy = tflite.SqueezeOptions.SqueezeDimsAsNumpy
    BranchSubgraphIndicesLength = tflite.SqueezeOptions.SqueezeDimsLength


MEMBERS: dict[str, Any] = vars(tflite) | {
    "StablehloCaseOptions": _StablehloCaseOptions,
    "StablehloCaseOptionsStart": tflite.SqueezeOptionsStart,
    "StablehloCaseOptionsStartBranchSubgraphIndicesVector": (
        tflite.SqueezeOptionsStartSqueezeDimsVector
    ),
    "StablehloCaseOptionsAddBranchSubgraphIndices": tflite.SqueezeOptionsAddSqueezeDims,
    "StablehloCaseOptionsEnd": tflite.SqueezeOptionsEnd,
}
"""Classes that read tables, and functions that write them, by the names that the package gives."""
