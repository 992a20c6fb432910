"""Steps with a window or weights: convolutions, products of matrices, pools."""

from typing import Any

from tests.differential.onnx.graphs import Bias, Graph, Value, step

_SPREAD = 74.0  # of bytes that are drawn evenly


def _window(graph: Graph, value: Value, *, is_pool: bool) -> dict[str, Any] | None:
    """Draw a window and its positions: attributes, and the sizes that follow as ``spans``."""
    rng, sizes = graph.rng, value.shape[2:]
    taps = [int(size) for size in rng.integers(1, 5, 2)]
    strides = list(graph.choice((1, 1), (1, 1), (2, 2), (1, 2), (3, 2)))
    gaps = [1, 1]
    if not is_pool and graph.chance(0.2):
        gaps = [int(size) for size in rng.integers(1, 4, 2)]
    reach = [(tap - 1) * gap + 1 for tap, gap in zip(taps, gaps, strict=True)]
    attrs: dict[str, Any] = {"kernel_shape": taps, "strides": strides}
    if gaps != [1, 1]:
        attrs["dilations"] = gaps
    pads = [0] * 4
    kind = graph.choice("pads", "pads", "pads", "none", "SAME_UPPER", "SAME_LOWER", "VALID")
    if kind == "pads":
        pads = [int(rng.integers(0, tap)) for tap in (*taps, *taps)]
        attrs["pads"] = pads
    elif kind != "none":
        attrs["auto_pad"] = kind
    if kind.startswith("SAME"):
        leaps = any(s > tap + (not is_pool) for s, tap in zip(strides, taps, strict=True))
        if gaps != [1, 1] or leaps:
            return None  # ONNX Runtime refuses it
        spans = [-(-size // stride) for size, stride in zip(sizes, strides, strict=True)]
    else:
        spans = [
            (size + pads[i] + pads[i + 2] - reach[i]) // strides[i] + 1
            for i, size in enumerate(sizes)
        ]
    return {"spans": spans, **attrs} if min(spans) > 0 else None


def _step_of(data: Value, weights: Value, depth: int, bias: Bias | None) -> float:
    """Return a scale with which most of the sums fit."""
    size = 0 if bias is None else float(abs(bias.steps.astype(float)).max()) * 2
    return float(data.scale * weights.scale) * (_SPREAD**2 * depth**0.5 * 5 + size) / 255


@step(weight=4, ranks=(4,))
def conv(graph: Graph, value: Value) -> Value | None:
    window = _window(graph, value, is_pool=False)
    if window is None:
        return None
    spans, depth = window.pop("spans"), value.shape[1]
    groups = int(graph.choice(1, 1, depth, *(n for n in (2, 3, 4) if depth % n == 0)))
    most = 3 if groups > 1 else 24
    channels = groups * int(graph.rng.integers(1, most + 1))
    weights = graph.weights((channels, depth // groups, *window["kernel_shape"]), 0)
    bias = graph.bias(value, weights, channels)
    taps = weights.shape[1] * weights.shape[2] * weights.shape[3]
    shape = (value.shape[0], channels, *spans)
    scale = _step_of(value, weights, taps, bias)
    kind = str(graph.choice("", "", "Relu", "Clip"))
    result = graph.result(shape, scale, graph.lowest if kind else None)
    then: Any = (kind, ()) if kind else None
    if kind == "Clip":  # ends beyond which nothing is stored
        then = (kind, (0.0, result.scale * float(graph.choice(255, 256, 300, 1e4))))
    return graph.group("Conv", [value, weights], result, bias, then, group=groups, **window)


@step(weight=2, ranks=(2,))
def gemm(graph: Graph, value: Value) -> Value | None:
    depth, units = value.shape[1], int(graph.rng.integers(1, 40))
    turned = graph.chance(0.6)
    shape = (units, depth) if turned else (depth, units)
    weights = graph.weights(shape, 0 if turned else 1)
    bias = graph.bias(value, weights, units)
    result = graph.result((value.shape[0], units), _step_of(value, weights, depth, bias))
    attributes: dict[str, Any] = {"transB": 1} if turned else {}
    return graph.group("Gemm", [value, weights], result, bias, **attributes)


@step(weight=2)
def matmul(graph: Graph, value: Value) -> Value | None:
    depth, units = value.shape[-1], int(graph.rng.integers(1, 40))
    weights = graph.weights((depth, units), 1)
    shape = (*value.shape[:-1], units)
    result = graph.result(shape, _step_of(value, weights, depth, None))
    return graph.group("MatMul", [value, weights], result)


@step(ranks=(4,))
def global_average_pool(graph: Graph, value: Value) -> Value | None:
    result = graph.result((*value.shape[:2], 1, 1), value.scale * 0.3)
    return graph.group("GlobalAveragePool", [value], result)


@step(ranks=(4,))
def max_pool(graph: Graph, value: Value) -> Value | None:
    window = _window(graph, value, is_pool=True)
    if window is None:
        return None
    spans = window.pop("spans")
    return graph.moved("MaxPool", value, (*value.shape[:2], *spans), **window)


@step(ranks=(4,))
def average_pool(graph: Graph, value: Value) -> Value | None:
    window = _window(graph, value, is_pool=True)
    if window is None:
        return None
    spans = window.pop("spans")
    result = graph.result((*value.shape[:2], *spans), value.scale * 0.6)
    includes = int(graph.chance(0.5))
    return graph.group("AveragePool", [value], result, count_include_pad=includes, **window)
