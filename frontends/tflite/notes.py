"""Warnings about a whole model."""

import warnings
from collections.abc import Sequence

from frontends.tflite.converters.functions.comparisons import compared_by_scale
from frontends.tflite.model import Model

_QUANTIZED = ("int8", "uint8", "int16", "float16")


class QuantizedFallbackWarning(UserWarning):
    """A quantized operator is computed in float32, so its results may differ from TFLite's."""


def warn_of_fallback(where: str) -> None:
    """Warn the caller of the importer once about one operator."""
    warnings.warn(
        f"{where}: there is no integer rule for this quantized operator; it is computed in "
        "float32 between dequantize and quantize, and may differ from TFLite by a rounding",
        QuantizedFallbackWarning,
        stacklevel=5,
    )


class WrappingSumsWarning(UserWarning):
    """Sums of products can leave int32; models are not meant to use such sums."""


def warn_of_wrapping(found: Sequence[tuple[str, str]]) -> None:
    """Warn the caller of the importer once about a model.

    Args:
        found: each operator whose sums can wrap, with the bounds of these sums.
    """
    (where, reached), *others = found
    more = f"; {len(others)} more operators have such sums" if others else ""
    warnings.warn(
        f"{where}: {reached}: it wraps, as in LiteRT's builds, where data is that extreme{more}",
        WrappingSumsWarning,
        stacklevel=5,
    )


class NotQuantizedWarning(UserWarning):
    """No tensor of the model is quantized, so it is computed in float32."""


def warn_of_floats(model: Model) -> None:
    """Warn the caller of the importer once, if all tensors of a model are float32."""
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


class WrongInLiteRTWarning(UserWarning):
    """LiteRT gives wrong results, and the imported model gives the same, bit for bit."""


def warn_of_comparisons(model: Model) -> None:
    """Warn the caller of the importer once, if a model compares values of scales above 1."""
    found = []
    for graph in (model, *model.subgraphs):
        for operator in graph.operators:
            for tensor in (graph.tensors[index] for index in operator.inputs):
                known = tensor.quantization
                if known and known.scale[0] > 1 and compared_by_scale(operator.code, tensor):
                    text = f"{tensor.label} has the scale {known.scale[0]:.6g}"
                    found.append(f"operator {operator.index} {operator.code}: {text}")
    if found:
        more = f"; {len(found) - 1} more operands are such" if found[1:] else ""
        warnings.warn(
            f"{found[0]}: above 1, LiteRT's kernel tells nothing but the signs of such "
            f"values apart, and so does this{more}",
            WrongInLiteRTWarning,
            stacklevel=5,
        )
