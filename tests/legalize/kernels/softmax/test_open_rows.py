from __future__ import annotations

import numpy as np
import pytest
from tvm import relax, tirx

import tvm_qnn
from legalize import lower
from legalize.kernels.table import vectors_for
from qnn_ops import quantized_softmax
from tests.support.encodings import encodings
from tests.support.modules import module
from tvm_qnn.target.target import parse_target

RNG = np.random.default_rng(6)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("scale", [0.9, 0.02])
def test_rows_of_any_length_are_the_reference(dtype: str, scale: float) -> None:
    point = -128 if dtype == "int8" else 0
    attrs = (scale, 1, 1 / 256, point, dtype)
    batch, length = (tirx.Var(name, "int64") for name in ("batch", "length"))
    types = {"x": relax.TensorType((batch, 2, length), dtype)}
    mod, target = module(types, lambda x: quantized_softmax(x, *attrs)), parse_target("host")
    with target:
        names = [each.name_hint for each in lower(mod, target).get_global_vars()]
    library = tvm_qnn.build(mod, target, num_threads=1)
    vectors = vectors_for(target)
    has_kernel = bool(vectors) and vectors[0].has_plain_tables
    assert any("softmax" in name for name in names) == has_kernel
    limits = np.iinfo(dtype)
    for columns in (1, 5, 63, 64, 65, 100, 1000, 5000):
        x = RNG.integers(limits.min, limits.max, (3, 2, columns), endpoint=True).astype(dtype)
        x[0] = x[0, 0, 0]  # all are the largest
        expected = quantized_softmax.evaluate(
            x, **encodings(input=(scale, 1), output=(1 / 256, point), out_dtype=dtype)
        )
        np.testing.assert_array_equal(library.run(x), expected)
