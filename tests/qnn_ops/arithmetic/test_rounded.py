import numpy as np
import tvm
from tvm import relax
from tvm.relax import op as R

from legalize import calls_pipeline
from qnn_ops import dequantize, quantized_relu
from qnn_ops.arithmetic.rounded import rounded
from tests.support.modules import module
from tests.support.operators import run
from tvm_qnn import build, host_target

TYPES = {name: relax.TensorType((4000,), "float32") for name in "xyz"}


def product_and_sum(x: relax.Expr, y: relax.Expr, z: relax.Expr) -> relax.Expr:
    return R.add(rounded(relax.BlockBuilder.current().emit(R.multiply(x, y))), z)


def test_a_product_is_rounded_before_a_sum() -> None:
    rng = np.random.default_rng(1)
    arrays = [rng.normal(size=4000).astype(np.float32) for _ in range(3)]
    arrays[0][:4] = np.nan, np.inf, -np.inf, 3e38
    arrays[1][:4] = 1, 1, 1, -3e38
    with np.errstate(all="ignore"):
        expected = arrays[0] * arrays[1] + arrays[2]
    actual = run(relax.transform.Normalize()(module(TYPES, product_and_sum)), arrays, host_target())
    np.testing.assert_array_equal(actual, expected)


def test_the_code_loads_no_constant() -> None:
    mod = relax.transform.Normalize()(module(TYPES, product_and_sum))
    with host_target() as target:
        lowered = calls_pipeline(target)(mod)
    (function,) = (f for f in lowered.functions.values() if isinstance(f, tvm.tirx.PrimFunc))
    shapes = [tuple(map(int, parameter.shape)) for parameter in function.params]
    assert shapes == [(4000,)] * 4


def test_a_product_whose_sign_is_known_is_rounded_too() -> None:
    rng = np.random.default_rng(2)
    steps = rng.integers(-(2**15), 2**15, 4000).astype(np.int16)
    addend = rng.normal(0, 300, 4000).astype(np.float32)
    encoding = 0.07039218, 0

    def computed(x: relax.Expr, y: relax.Expr) -> relax.Expr:
        emit = relax.BlockBuilder.current().emit
        positive = emit(quantized_relu(x, *encoding, *encoding, "int16"))
        total = emit(rounded(emit(R.add(emit(dequantize(positive, *encoding)), y))))
        return R.subtract(total, y)

    types = {"x": relax.TensorType((4000,), "int16"), "y": TYPES["y"]}
    library = build(relax.transform.Normalize()(module(types, computed)), "host")
    products = np.maximum(steps, 0).astype(np.float32) * np.float32(encoding[0])
    np.testing.assert_array_equal(library.run(steps, addend), products + addend - addend)
