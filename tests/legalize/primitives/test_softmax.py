import numpy as np
import pytest
from tvm import relax, tirx

import tvm_qnn
from qnn_ops import quantized_softmax
from tests.support.modules import module

RNG = np.random.default_rng(6)


@pytest.mark.parametrize(("dtype", "scale"), [("int8", 0.9), ("uint8", 0.02)])
def test_rows_of_any_length_are_onnxruntimes(dtype: str, scale: float) -> None:
    limits = np.iinfo(dtype)
    attrs = (scale, 1, 1 / 256, int(limits.min), dtype)
    batch, length = (tirx.Var(name, "int64") for name in ("batch", "length"))
    types = {"x": relax.TensorType((batch, 2, length), dtype)}
    mod = module(types, lambda x: quantized_softmax(x, *attrs, arithmetic="onnxruntime"))
    library = tvm_qnn.build(mod, "host", num_threads=1)
    for columns in (1, 5, 16, 100, 1000):
        x = RNG.integers(limits.min, limits.max, (3, 2, columns), endpoint=True).astype(dtype)
        x[0] = x[0, 0, 0]  # all are the largest
        expected = quantized_softmax.evaluate(x, *attrs, arithmetic="onnxruntime")
        np.testing.assert_array_equal(library.run(x), expected)
