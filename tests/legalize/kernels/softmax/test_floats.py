from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tvm import relax, tirx
from tvm.relax import op as R

import tvm_qnn
from tests.support.modules import module
from tvm_qnn.target.target import parse_target

RNG = np.random.default_rng(6)
Body = Callable[[Any, Any, Any], Any]


def scaled_and_masked(x: Any, mask: Any, bias: Any) -> Any:
    product = R.divide(R.multiply(x, relax.const(np.float32(0.3))), relax.const(np.float32(7)))
    return R.nn.softmax(R.subtract(bias, R.add(mask, product)))


def of_another_reader(x: Any, mask: Any, bias: Any) -> Any:
    builder = relax.BlockBuilder.current()
    assert builder is not None
    scores = builder.emit(R.add(R.multiply(x, bias), mask))
    return R.add(R.nn.softmax(scores), scores)


BODIES: dict[str, Body] = {
    "scaled and masked": scaled_and_masked,
    "of another reader": of_another_reader,
    "logarithm": lambda x, mask, bias: R.nn.log_softmax(R.add(R.add(x, mask), bias)),
    "another axis": lambda x, mask, bias: R.nn.softmax(R.add(R.add(x, mask), bias), 1),
}


@pytest.mark.parametrize("name", BODIES)
def test_rows_of_any_length_have_the_bits_of_a_known_one(name: str) -> None:
    batch, length = (tirx.Var(name, "int64") for name in ("batch", "length"))

    def built(batch: Any, length: Any) -> Any:
        shapes = {"x": (batch, 2, 3, length), "mask": (batch, 1, 1, length), "bias": (2, 3, 1)}
        types = {name: relax.TensorType(shape, "float32") for name, shape in shapes.items()}
        mod = module(types, BODIES[name])
        return tvm_qnn.build(mod, parse_target("host"), num_threads=1), shapes

    library, _ = built(batch, length)
    for sizes in ((1, 1), (2, 15), (3, 16), (1, 64), (2, 100), (1, 517)):
        known, shapes = built(*sizes)
        data = [RNG.normal(0, 20, shape).astype(np.float32) for shape in shapes.values()]
        data[1][0] = np.finfo(np.float32).min  # all is masked
        np.testing.assert_array_equal(library.run(*data), known.run(*data))
