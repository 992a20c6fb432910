import numpy as np
import pytest
from tvm import relax, tirx

import tvm_qnn
from legalize import lower
from legalize.kernels.isa.vectors import vectors_for
from qnn_ops import quantized_softmax
from tests.support.encodings import encodings
from tests.support.modules import module
from tests.support.x86 import host_has
from tvm_qnn.target.target import parse_target

# Its registers hold no tables of 256 bytes.
needs_avx2 = pytest.mark.skipif(not host_has("avx2"), reason="the processor has no AVX2")
RNG = np.random.default_rng(6)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize(
    ("scale", "name"),
    [
        (0.9, "host"),
        (0.02, "host"),
        pytest.param(0.02, "x86-avx2", marks=needs_avx2),
    ],
)
@pytest.mark.parametrize("rank", [3, 1])
def test_rows_of_any_length_are_the_reference(
    dtype: str, scale: float, name: str, rank: int
) -> None:
    point = -128 if dtype == "int8" else 0
    attrs = (scale, 1, 1 / 256, point, dtype)
    batch, length = (tirx.Var(name, "int64") for name in ("batch", "length"))
    shape = (batch, 2, length)[-rank:]
    types = {"x": relax.TensorType(shape, dtype)}
    mod, target = module(types, lambda x: quantized_softmax(x, *attrs)), parse_target(name)
    with target:
        functions = [each.name_hint for each in lower(mod, target).get_global_vars()]
    library = tvm_qnn.build(mod, target, num_threads=1)
    assert any("softmax" in each for each in functions) == bool(vectors_for(target))
    limits = np.iinfo(dtype)
    for columns in (1, 5, 63, 64, 65, 100, 1000, 5000):
        x = RNG.integers(limits.min, limits.max, (3, 2, columns), endpoint=True).astype(dtype)
        x[0] = x[0, 0, 0]  # all are the largest
        x = x if rank > 1 else x[1, 0]
        expected = quantized_softmax.evaluate(
            x, **encodings(input=(scale, 1), output=(1 / 256, point), out_dtype=dtype)
        )
        np.testing.assert_array_equal(library.run(x), expected)
