"""What an import tells of a whole model."""

from __future__ import annotations

import warnings

from frontends.tflite.model import Model

_QUANTIZED = ("int8", "uint8", "int16", "float16")


class NotQuantizedWarning(UserWarning):
    """No tensor of a model is quantized: float32 is what it is computed in."""


def warn_of_floats(model: Model) -> None:
    """Warn the caller of the importer once, if a model computes float32 and has nothing else."""
    graphs = (model, *model.subgraphs)
    if any(tensor.dtype in _QUANTIZED for graph in graphs for tensor in graph.tensors):
        return
    computed = (graph.tensors[index] for graph in graphs for index in graph.computed)
    if any(tensor.dtype == "float32" for tensor in computed):
        warnings.warn(
            "no tensor of this model is quantized; all of it is computed in float32, as near to "
            "LiteRT's as the order of sums allows",
            NotQuantizedWarning,
            stacklevel=5,
        )
