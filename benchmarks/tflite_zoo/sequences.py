"""Spotters of words in a stream of spectra, and transformers for pictures and texts.

The arguments and results are those of ``Topology``.
"""

import numpy as np

from benchmarks.tflite_zoo import functions as op
from benchmarks.tflite_zoo import layers as nn
from benchmarks.tflite_zoo.memories import Lstm, Past, Svdf
from tvm_qnn.zoo import operators as common
from tvm_qnn.zoo.graph import Graph, Scaled, Value

_FILTER_STEPS = 10  # of the first convolution's kernel
_BLOCKS = 4
_AVERAGED = 25  # steps


def ds_cnn_stream(graph: Graph, size: int, classes: int, scaled: Scaled) -> list[Value]:
    """Add separable convolutions over a stream of spectra. Zhang et al., arXiv:1711.07128.

    A run takes one spectrum, and keeps the earlier ones.
    """
    x = op.Pad(1, 1, (2,))(Past(_FILTER_STEPS)(nn.spectra(graph, 1, size, 1)))
    x = common.Conv(scaled(64), (_FILTER_STEPS, 4), 2, "VALID")(x)
    for _ in range(_BLOCKS):
        x = op.Pad(1, 1, (2,))(Past(3)(x))
        x = common.Depthwise((3, 3), activation="RELU", padding="VALID")(x)
        x = common.Conv(scaled(64), (1, 1))(x)
    return [common.Softmax()(nn.Dense(classes)(common.Mean()(Past(_AVERAGED)(x))))]


# Units and steps; a dense layer of 16 follows each layer of _FIRST.
_FIRST, _LAST = [(64, 8)] * 4, [(32, 32)] * 3


def svdf_spotter(graph: Graph, size: int, classes: int, scaled: Scaled) -> list[Value]:
    """Add filters over time of rank 1. Alvarez and Park, arXiv:1812.02802.

    Narrow dense layers stand between the filters. A run takes one spectrum.
    """
    x = nn.spectra(graph, size)
    for units, steps in _FIRST:
        x = nn.Dense(scaled(16))(Svdf(scaled(units), steps)(x))
    for units, steps in _LAST:
        x = Svdf(scaled(units), steps)(x)
    return [common.Softmax()(nn.Dense(classes)(x))]


_LSTM_STEPS = 49


def lstm_spotter(graph: Graph, size: int, classes: int, scaled: Scaled) -> list[Value]:
    """Add an LSTM over a second of spectra. Zhang et al., arXiv:1711.07128.

    A run takes 49 spectra, and continues from the last one of the run before.
    """
    return _listening(nn.spectra(graph, _LSTM_STEPS, size), classes, scaled)


def hybrid_lstm_spotter(graph: Graph, size: int, classes: int, scaled: Scaled) -> list[Value]:
    """Add the LSTM of ``lstm_spotter`` with float32 data and 8-bit weights."""
    return _listening(nn.spectra(graph, _LSTM_STEPS, size, dtype="float32"), classes, scaled)


def _listening(x: Value, classes: int, scaled: Scaled) -> list[Value]:
    cells = scaled(118)
    y = Lstm(cells)(x)
    last = op.Reshape((cells,))(op.Slice((_LSTM_STEPS - 1, 0), (1, cells))(y))
    return [common.Softmax()(nn.Dense(classes)(last))]


def layers(published: int, scaled: Scaled) -> int:
    """Return the number of layers; narrow networks have fewer, so that they stay tiny."""
    whole = 512
    return max(1, int(published * min(1, scaled(whole) / whole) ** 1.5))


def attention(query: Value, key: Value, value: Value, heads: int, mask: Value | None) -> Value:
    """Return each head's sums of values, weighted by its queries and keys: [1, rows, depth].

    Args:
        query: [1, rows, depth], the heads side by side.
        key: [1, rows, depth], as the query.
        value: [1, rows, depth], as the query.
        heads: the number of heads.
        mask: is added to the scores, if there is one.
    """
    _, rows, depth = query.shape
    size = depth // heads

    def split(x: Value) -> Value:
        return op.Transpose((0, 2, 1, 3))(op.Reshape((rows, heads, size))(x))

    scores = nn.MatMul(is_transposed=True)(split(query), split(key))
    scores = op.Mul()(scores, nn.constant(query.graph, np.array([size**-0.5])))
    if mask is not None:
        scores = common.Add()(scores, mask)
    sums = nn.MatMul()(common.Softmax()(scores), split(value))
    return op.Reshape((rows, depth))(op.Transpose((0, 2, 1, 3))(sums))


def scaled_and_shifted(x: Value) -> Value:
    """Multiply each channel by a factor, and add a number to it."""
    channels = x.shape[-1:]
    return common.Add()(
        op.Mul()(x, nn.drawn(x.graph, channels, 1.0, 0.2)), nn.drawn(x.graph, channels, 0.0, 0.2)
    )


_HEADS_DEIT_TINY = 3
_PATCH = 16


def deit_tiny(graph: Graph, size: int, classes: int, scaled: Scaled) -> list[Value]:
    """Add DeiT, tiny: a vision transformer. Touvron et al., arXiv:2012.12877."""
    depth = _HEADS_DEIT_TINY * scaled(64)
    patch = (_PATCH, _PATCH)
    x = common.Conv(depth, patch, _PATCH, "VALID", "NONE")(common.pictures(graph, size))
    x = op.Reshape((x.shape[1] * x.shape[2], depth))(x)
    # The row that collects the information for the class; it is equal for all samples.
    first = op.Slice((0, 0), (1, depth))(x)
    first = common.Add()(
        op.Mul()(first, nn.constant(graph, np.array([0.0]))), nn.drawn(graph, (1, 1, depth))
    )
    x = common.Concat(1)(first, x)
    x = common.Add()(x, nn.drawn(graph, (1, x.shape[1], depth)))
    for _ in range(layers(12, scaled)):
        y = _normalized(x)
        query, key, value = (nn.Dense(depth)(y) for _ in range(3))
        x = common.Add()(x, nn.Dense(depth)(attention(query, key, value, _HEADS_DEIT_TINY, None)))
        y = op.Gelu()(nn.Dense(4 * depth)(_normalized(x)))
        x = common.Add()(x, nn.Dense(depth)(y))
    x = op.Reshape((depth,))(op.Slice((0, 0), (1, depth))(_normalized(x)))
    return [common.Softmax()(common.Classify(classes)(x))]


def _normalized(x: Value) -> Value:
    """Normalize rows to mean 0 and variance 1; then scale and shift each channel."""
    mean = common.Mean((2,), keep_dims=True)(x)
    variance = common.Mean((2,), keep_dims=True)(op.SquaredDifference()(x, mean))
    inverse = op.Rsqrt()(common.Add()(variance, nn.constant(x.graph, np.array([1e-3]))))
    channels = x.shape[-1:]
    factor = op.Mul()(inverse, nn.drawn(x.graph, channels, 1.0, 0.2))
    rest = op.Sub()(nn.drawn(x.graph, channels, 0.0, 0.2), op.Mul()(mean, factor))
    return common.Add()(op.Mul()(x, factor), rest)


_HEADS_MOBILEBERT = 4
_FEED_FORWARD = 4
_FAR_BELOW = 10.0  # subtracted from the scores of positions behind the text


def mobilebert(graph: Graph, size: int, classes: int, scaled: Scaled) -> list[Value]:
    """Add MobileBERT, which finds answers in a text. Sun et al., arXiv:2004.02984.

    Its inputs are the indices of words, int32 [1, size], those of their segments, int32 [1, size],
    and a mask [1, 1, 1, size], 1 where there is text. Indices are taken modulo the number of words.

    Args:
        graph: the graph to which the layers are added.
        size: the number of words in a text.
        classes: the number of words in the vocabulary.
        scaled: maps a published number of channels to the number in this network.

    Returns:
        The logits of the answer's beginning and of its end at each word, both [1, size].
    """
    narrow = _HEADS_MOBILEBERT * scaled(32)
    wide = 4 * narrow
    words = _numbers(graph, "words", size, classes)
    segments = _numbers(graph, "segments", size, 2)
    text = nn.mask(graph, size)
    most = nn.constant(graph, np.array([_FAR_BELOW]))
    below = op.Sub()(op.Mul()(text, most), most)
    each = op.Embed(classes, narrow)(words)
    before = op.Pad(0, 1, (1,))(op.Slice((1, 0), (size - 1, narrow))(each))
    after = op.Pad(1, 0, (1,))(op.Slice((0, 0), (size - 1, narrow))(each))
    x = nn.Dense(wide)(common.Concat(2)(before, each, after))
    x = common.Add()(x, nn.drawn(graph, (1, size, wide)))
    x = scaled_and_shifted(common.Add()(x, op.Embed(2, wide)(segments)))
    for _ in range(layers(24, scaled)):
        x = _layer(x, narrow, below)
    answers = nn.Dense(2)(x)
    return [op.Reshape((size,))(op.Slice((0, end), (size, 1))(answers)) for end in (0, 1)]


def _numbers(graph: Graph, name: str, size: int, limit: int) -> Value:
    return op.FloorMod()(
        nn.numbers(graph, name, size, limit), nn.constant(graph, np.array([limit]), "int32")
    )


def _layer(x: Value, narrow: int, below: Value) -> Value:
    """Add a layer: a bottleneck with attention and four small networks in it."""
    inner = scaled_and_shifted(nn.Dense(narrow)(x))
    shared = scaled_and_shifted(nn.Dense(narrow)(x))
    query, key, value = nn.Dense(narrow)(shared), nn.Dense(narrow)(shared), nn.Dense(narrow)(x)
    y = nn.Dense(narrow)(attention(query, key, value, _HEADS_MOBILEBERT, below))
    y = scaled_and_shifted(common.Add()(y, inner))
    for _ in range(_FEED_FORWARD):
        z = nn.Dense(narrow)(nn.Dense(4 * narrow, "RELU")(y))
        y = scaled_and_shifted(common.Add()(z, y))
    return scaled_and_shifted(common.Add()(nn.Dense(x.shape[-1])(y), x))
