"""Tests of single steps of the random graphs: operators of random sizes, scales and options."""

from collections.abc import Callable

import numpy as np
import pytest

from tests.differential.graphs import QUANTIZED, Graph, Step
from tests.support.tflite import check, check_reference


def graphs_of(step: Step, dtype: str, count: int) -> Graph:
    """Return a file of graphs, each of one step on a tensor of a dtype."""
    file = Graph(np.random.default_rng([*dtype.encode()]))
    for _ in range(9 * count):
        file.begin()
        shape = [int(size) for size in file.rng.integers(1, 10, 2 if file.chance(0.2) else 4)]
        if step(file, file.input(shape, dtype)) is not None:
            file.end()
        if len(set(file.owners)) == count:
            return file
    raise AssertionError(f"{step.__name__} fits too few tensors of {dtype}")


def referred(
    *steps: Step, dtypes: tuple[str, ...] = QUANTIZED, count: int = 60
) -> Callable[..., None]:
    """Return a test: numpy's references give LiteRT's tensors for so many graphs."""
    return _test(steps, dtypes, count, check_reference)


def compiled(
    *steps: Step, dtypes: tuple[str, ...] = QUANTIZED, count: int = 3
) -> Callable[..., None]:
    """Return a test: compiled primitives give LiteRT's tensors for so many graphs."""
    return _test(steps, dtypes, count, check)


def _test(
    steps: tuple[Step, ...], dtypes: tuple[str, ...], count: int, check: Callable[..., object]
) -> Callable[..., None]:
    @pytest.mark.parametrize("dtype", dtypes)
    @pytest.mark.parametrize("step", steps, ids=lambda step: step.__name__)
    def test(step: Step, dtype: str) -> None:
        file = graphs_of(step, dtype, count)
        check(file.writer.finish(file.inputs, file.outputs), file.arrays)

    return test
