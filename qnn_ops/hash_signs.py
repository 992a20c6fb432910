"""The signs of weighted sums of hashes."""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import relax

from qnn_ops.checks import check_dtype, check_rank
from qnn_ops.errors import QnnError
from qnn_ops.farmhash import Words, fingerprint
from qnn_ops.registry import Attrs, TensorSpec, cannot_overflow, operator
from qnn_ops.traits import FIXED

Array = np.ndarray[Any, Any]

MOST = 60
"""The most bytes of an item."""


@operator("items", "weights", "seeds", traits=FIXED)
def hash_signs(items: relax.Expr, weights: relax.Expr, seeds: relax.Expr) -> relax.Call:
    """Tell for each seed whether a weighted sum of the hashes of items is positive.

    An item is hashed behind the bytes of a seed. The hash is an int64, which becomes float64, as is
    the sum, item by item. Source: kernels/lsh_projection.cc of TFLite.

    Args:
        items: uint8 [number, size], at most 60 bytes each.
        weights: float32 [number].
        seeds: float32 [count].

    Returns:
        A call whose result is int32 [count]: 1 where the sum is positive, else 0.

    Raises:
        QnnError: if a dtype or a shape does not fit.
    """
    return hash_signs.call([items, weights, seeds])


@hash_signs.type_rule
def _type(_: Attrs, items: TensorSpec, weights: TensorSpec, seeds: TensorSpec) -> TensorSpec:
    check_dtype("items", items.dtype, ("uint8",))
    check_rank("items", items, 2)
    for name, spec in (("weights", weights), ("seeds", seeds)):
        check_dtype(name, spec.dtype, ("float32",))
        check_rank(name, spec, 1)
    number, size = items.shape
    if weights.shape != (number,):
        raise QnnError(f"weights must have shape {(number,)}, got {weights.shape}")
    if size > MOST:
        raise QnnError(f"items must have at most {MOST} bytes, got {size}")
    return TensorSpec(seeds.shape, "int32")


hash_signs.overflow_rule(cannot_overflow)


@hash_signs.reference
def _reference(_: Attrs, items: Array, weights: Array, seeds: Array) -> Array:
    result = np.zeros(seeds.shape, np.int32)
    for place, seed in enumerate(seeds):
        total = np.float64(0)
        begin = np.broadcast_to(np.frombuffer(seed.tobytes(), np.uint8), (len(items), 4))
        hashes = _fingerprints(np.concatenate([begin, items], 1))
        for weight, each in zip(weights, hashes.view(np.int64), strict=True):
            total += np.float64(weight) * np.float64(each)
        result[place] = total > 0
    return result


def _fingerprints(keys: Array) -> Array:
    """Return the hash of each row."""
    words = Words(
        keys.shape[1], lambda place: keys[:, place].astype(np.uint64), np.uint64, lambda word: word
    )
    result: Array = fingerprint(words)
    return result
