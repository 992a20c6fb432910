"""Runs any number of rows on a library that takes a fixed number of them."""

from collections.abc import Sequence

import numpy as np

from qnn_ops.dialect.tensor_info import TensorInfo
from qnn_ops.errors import QnnError
from tvm_qnn.library.arrays import named_results
from tvm_qnn.library.library import Library


def run_once(library: Library, arrays: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
    """Run a library; return its outputs by name, even if there is only one."""
    return named_results(library.outputs, library.run(*arrays))


def run_rows(library: Library, rows: int, arrays: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
    """Run a library as often as the rows need; zeros fill up the last run.

    Args:
        library: a library that ``independent_rows`` accepts.
        rows: the number of rows that it takes, as that function returns it.
        arrays: the inputs, with equal numbers of rows, at least one.
    """
    count = len(arrays[0])
    parts = []
    for start in range(0, count, rows):
        some = [_filled(array[start : start + rows], rows) for array in arrays]
        parts.append(run_once(library, some))
    return {name: np.concatenate([part[name] for part in parts])[:count] for name in parts[0]}


def independent_rows(library: Library) -> int:
    """Return how many rows a library takes at a time, if each row's answer is independent.

    This number is the first dimension of all its inputs and outputs. Runs on random inputs test
    that no row changes another row's answer.

    Raises:
        QnnError: if the library is for one row, or its rows are not independent.
    """
    infos = (*library.inputs, *library.outputs)
    sizes = {info.shape[0] if info.shape else 0 for info in infos}
    if len(sizes) != 1 or max(sizes) < 2:
        raise QnnError(
            "batching needs a model whose inputs and outputs have the same first dimension, of at "
            f"least 2, got {', '.join(info.describe() for info in infos)}: compile it for a batch"
        )
    generator = np.random.default_rng(0)
    one, other = ([_any(info, generator) for info in library.inputs] for _ in range(2))
    mixed = [np.concatenate([a[:1], b[1:]]) for a, b in zip(one, other, strict=True)]
    first, rest, both = (run_once(library, arrays) for arrays in (one, other, mixed))
    for name, array in both.items():
        expected = np.concatenate([first[name][:1], rest[name][1:]])
        if array.tobytes() != expected.tobytes():
            raise QnnError(
                f"batching needs rows that are independent, but output {name!r} of one row changes "
                "with another row of the inputs"
            )
    return sizes.pop()


def _filled(array: np.ndarray, rows: int) -> np.ndarray:
    if len(array) == rows:
        return array
    return np.concatenate([array, np.zeros((rows - len(array), *array.shape[1:]), array.dtype)])


def _any(info: TensorInfo, generator: np.random.Generator) -> np.ndarray:
    """Return random values of an input; small ones if they may be indices in a table."""
    dtype = np.dtype(info.dtype)
    if dtype.kind == "f":
        low = 0.0 if info.low is None else info.low
        high = 1.0 if info.high is None else info.high
        return generator.uniform(low, high, info.shape).astype(dtype)
    if dtype.itemsize > 2 or dtype.kind == "b":
        return generator.integers(0, 2, info.shape).astype(dtype)
    limits = np.iinfo(dtype)
    return generator.integers(limits.min, limits.max, info.shape, dtype, endpoint=True)
