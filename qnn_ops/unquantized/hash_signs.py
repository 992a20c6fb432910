"""The signs of weighted sums of hashes, and the hash function.

Source: farmhashna::Hash64 of FarmHash, which TFLite's kernels/lsh_projection.cc calls.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from qnn_ops.arrays import Array
from qnn_ops.dialect import declared
from qnn_ops.dialect.registry import Attrs, TensorSpec, operator
from qnn_ops.dialect.traits import FIXED
from qnn_ops.errors import QnnError

_K1, _K2 = 0xB492B66FBE98F273, 0x9AE16A3B2F90404F
_HALF = (1 << 32) - 1


class Words:
    """Unsigned 64-bit words made from bytes: numpy's, or expressions of a kernel.

    They compute with halves that do not overflow, because TVM leaves overflow undefined.
    """

    def __init__(
        self,
        size: int,
        byte: Callable[[int], Any],
        number: Callable[[int], Any],
        keep: Callable[[Any], Any],
    ) -> None:
        """Keep the functions that read and write words.

        Args:
            size: the number of bytes.
            byte: returns one of the bytes, as a word.
            number: makes a word of less than 2³².
            keep: gives a name to a result that is used more than once.
        """
        self.size, self._byte, self._number, self._keep = size, byte, number, keep

    def fetch(self, index: int, count: int = 8) -> Any:
        """Read bytes, the lowest first."""
        index = index if index >= 0 else self.size + index
        word = self._byte(index)
        for each in range(1, count):
            word = word | (self._byte(index + each) << self._number(8 * each))
        return self._keep(word)

    def plus(self, *words: Any) -> Any:
        """Add words; a constant is a plain integer."""
        low, high = self._halves(words[0])
        for each in words[1:]:
            other_low, other_high = self._halves(each)
            low, high = low + other_low, high + other_high
        low = self._keep(low)
        return self._joined(low, high + (low >> self._number(32)))

    def times(self, one: Any, other: Any) -> Any:
        """Multiply words; a constant is a plain integer."""
        (low, high), (other_low, other_high) = self._halves(one), self._halves(other)
        half, product = self._number(_HALF), self._keep(low * other_low)
        crossed = ((low * other_high) & half) + ((high * other_low) & half)
        return self._joined(product, crossed + (product >> self._number(32)))

    def rotate(self, word: Any, count: int) -> Any:
        """Rotate the bits to the right."""
        return (word >> self._number(count)) | (word << self._number(64 - count))

    def mixed(self, word: Any) -> Any:
        """Combine a word with its highest bits."""
        return self._keep(word ^ (word >> self._number(47)))

    def of_two(self, one: Any, other: Any, factor: Any) -> Any:
        """Return the hash of two words."""
        first = self.mixed(self.times(one ^ other, factor))
        return self.times(self.mixed(self.times(other ^ first, factor)), factor)

    def _halves(self, word: Any) -> tuple[Any, Any]:
        if isinstance(word, int):
            return self._number(word & _HALF), self._number(word >> 32)
        return word & self._number(_HALF), word >> self._number(32)

    def _joined(self, low: Any, high: Any) -> Any:
        return self._keep((low & self._number(_HALF)) | (high << self._number(32)))


def fingerprint(words: Words) -> Any:
    """Return the hash of all bytes: 4 to 64, since FarmHash hashes more bytes in another way."""
    size, plus, times, rotate = words.size, words.plus, words.times, words.rotate
    factor = (_K2 + 2 * size) % 2**64
    if size < 8:
        first = plus(times(words.fetch(0, 4), 8), size)
        return words.of_two(first, words.fetch(-4, 4), factor)
    if size <= 16:
        a, b = plus(words.fetch(0), _K2), words.fetch(-8)
        c = plus(times(rotate(b, 37), factor), a)
        return words.of_two(c, times(plus(rotate(a, 25), b), factor), factor)
    a, b = times(words.fetch(0), _K1 if size <= 32 else _K2), words.fetch(8)
    c, d = times(words.fetch(-8), factor), times(words.fetch(-16), _K2)
    y = plus(rotate(plus(a, b), 43), rotate(c, 30), d)
    z = words.of_two(y, plus(a, rotate(plus(b, _K2), 18), c), factor)
    if size <= 32:
        return z
    e, f = times(words.fetch(16), factor), words.fetch(24)
    g = times(plus(y, words.fetch(-32)), factor)
    h = times(plus(z, words.fetch(-24)), factor)
    total = plus(rotate(plus(e, f), 43), rotate(g, 30), h)
    return words.of_two(total, plus(e, rotate(plus(f, a), 18), g), factor)


MOST = 60
"""The most bytes of an item."""


@operator(traits=FIXED, overflows=False)
def hash_signs(
    items: declared.Bytes, weights: declared.FloatVector, seeds: declared.FloatVector
) -> None:
    """Tell for each seed whether a weighted sum of the hashes of items is positive.

    Each item is hashed after the bytes of a seed. The int64 hash becomes float64, and hashes are
    added in float64, item by item. Source: kernels/lsh_projection.cc of TFLite.

    Args:
        items: uint8 [number, size], at most 60 bytes each.
        weights: float32 [number].
        seeds: float32 [count].

    Returns:
        A call whose result is int32 [count]: 1 if the sum is positive, otherwise 0.
    """


@hash_signs.type_rule
def _type(_: Attrs, items: TensorSpec, weights: TensorSpec, seeds: TensorSpec) -> TensorSpec:
    number, size = items.shape
    if weights.shape != (number,):
        raise QnnError(f"weights must have shape {(number,)}, got {weights.shape}")
    if size > MOST:
        raise QnnError(f"items must have at most {MOST} bytes, got {size}")
    return TensorSpec(seeds.shape, "int32")


@hash_signs.reference
def _reference(_: Attrs, items: Array, weights: Array, seeds: Array) -> Array:
    result = np.zeros(seeds.shape, np.int32)
    for index, seed in enumerate(seeds):
        total = np.float64(0)
        begin = np.broadcast_to(np.frombuffer(seed.tobytes(), np.uint8), (len(items), 4))
        hashes = _fingerprints(np.concatenate([begin, items], 1))
        for weight, each in zip(weights, hashes.view(np.int64), strict=True):
            total += np.float64(weight) * np.float64(each)
        result[index] = total > 0
    return result


def _fingerprints(keys: Array) -> Array:
    """Return the hash of each row."""
    words = Words(
        keys.shape[1], lambda index: keys[:, index].astype(np.uint64), np.uint64, lambda word: word
    )
    result: Array = fingerprint(words)
    return result
