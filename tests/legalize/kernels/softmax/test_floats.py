from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax, tirx
from tvm.relax import op as R

import tvm_qnn
from qnn_ops import float_function
from qnn_ops.arithmetic.onnxruntime import ONNXRUNTIME
from qnn_ops.arrays import Array
from qnn_ops.dialect.signature import ARITHMETIC
from tests.support.modules import module
from tests.support.plain_c import SANITIZERS, needs_gcc, run_plain_c
from tvm_qnn.target.target import parse_target

RNG = np.random.default_rng(6)
ZERO, LOWEST = (relax.const(np.float32(number)) for number in (0, np.finfo(np.float32).min))
Body = Callable[[Any, Any, Any], Any]


def softmax(rows: Array, *, is_logarithm: bool = False) -> Array:
    """Compute a softmax of the last axis, with the sums in the order of MLAS."""
    padding = [(0, 0)] * (rows.ndim - 1) + [(0, -rows.shape[-1] % 16)]
    padded = np.pad(rows, padding, constant_values=-np.inf)
    distance = padded - padded.max(-1, keepdims=True)
    terms = float_function.evaluate(distance, "exp")
    sums = np.zeros((*terms.shape[:-1], 16), np.float32)
    for vector in np.split(terms, terms.shape[-1] // 16, -1):
        sums = sums + vector
    sums = sums[..., :8] + sums[..., 8:]
    while sums.shape[-1] > 1:
        sums = sums[..., ::2] + sums[..., 1::2]
    count = rows.shape[-1]
    if is_logarithm:
        return distance[..., :count] - np.log(sums)
    return terms[..., :count] * (np.float32(1) / sums)


def scaled_and_masked(x: Any, mask: Any, bias: Any) -> Any:
    product = R.divide(R.multiply(x, relax.const(np.float32(0.3))), relax.const(np.float32(7)))
    return R.nn.softmax(R.subtract(bias, R.add(mask, product)))


def of_another_reader(x: Any, mask: Any, bias: Any) -> Any:
    builder = relax.BlockBuilder.current()
    assert builder is not None
    scores = builder.emit(R.add(R.multiply(x, bias), mask))
    return R.add(R.nn.softmax(scores), scores)


def of_another_reader_as_numpy(x: Array, mask: Array, bias: Array) -> Array:
    scores = x * bias + mask
    return softmax(scores) + scores


BODIES: dict[str, tuple[Body, Callable[[Array, Array, Array], Array]]] = {
    "scaled and masked": (
        scaled_and_masked,
        lambda x, mask, bias: softmax(bias - (mask + x * np.float32(0.3) / np.float32(7))),
    ),
    "of a product and a sum": (
        lambda x, mask, bias: R.nn.softmax(R.add(R.multiply(x, bias), mask)),
        lambda x, mask, bias: softmax(x * bias + mask),
    ),
    "of values that a condition keeps": (
        lambda x, mask, bias: R.nn.softmax(R.where(R.greater(mask, ZERO), x, LOWEST)),
        lambda x, mask, bias: softmax(np.where(mask > 0, x, np.finfo(np.float32).min)),
    ),
    "of values that a condition hides": (
        lambda x, mask, bias: R.nn.softmax(R.where(R.greater(bias, ZERO), LOWEST, R.add(x, mask))),
        lambda x, mask, bias: softmax(np.where(bias > 0, np.finfo(np.float32).min, x + mask)),
    ),
    "of another reader": (of_another_reader, of_another_reader_as_numpy),
    "logarithm": (
        lambda x, mask, bias: R.nn.log_softmax(R.add(R.add(x, mask), bias)),
        lambda x, mask, bias: softmax(x + mask + bias, is_logarithm=True),
    ),
    "another axis": (
        lambda x, mask, bias: R.nn.softmax(R.add(R.add(x, mask), bias), 1),
        lambda x, mask, bias: softmax((x + mask + bias).swapaxes(1, 3)).swapaxes(1, 3),
    ),
}


def made(name: str, batch: Any, length: Any) -> tuple[tvm.IRModule, list[tuple[Any, ...]]]:
    """Return the module of a body, in ONNX Runtime's arithmetic, and the shapes of its inputs."""
    shapes = {"x": (batch, 2, 3, length), "mask": (batch, 1, 1, length), "bias": (2, 3, 1)}
    types = {name: relax.TensorType(shape, "float32") for name, shape in shapes.items()}
    mod = module(types, BODIES[name][0])
    mod["main"] = mod["main"].with_attr(ARITHMETIC, ONNXRUNTIME)
    return mod, list(shapes.values())


def data_of(shapes: list[tuple[Any, ...]]) -> list[Array]:
    data = [RNG.normal(0, 20, shape).astype(np.float32) for shape in shapes]
    length = shapes[0][-1]
    data[1][0] = np.finfo(np.float32).min  # all is masked
    data[1][1:, ..., -(-length // 3) :] = -1  # a condition keeps none of these
    data[1][1:, ..., : length // 3] = 1
    data[0][1:, 0, 0, length // 4] = np.nan
    return data


def built(mod: tvm.IRModule) -> Any:
    return tvm_qnn.build(mod, parse_target("host"), num_threads=1)


@pytest.mark.parametrize("name", BODIES)
def test_rows_of_known_and_of_open_length_have_the_order_of_mlas(name: str) -> None:
    mod, _ = made(name, *(tirx.Var(size, "int64") for size in ("batch", "length")))
    library = built(mod)
    for sizes in ((1, 1), (2, 15), (3, 16), (1, 64), (2, 100), (1, 517)):
        mod, shapes = made(name, *sizes)
        data, known = data_of(shapes), built(mod)
        np.testing.assert_array_equal(library.run(*data), known.run(*data))
        # C and numpy have logarithms of their own.
        tolerance = 1e-6 if name == "logarithm" else 0
        np.testing.assert_allclose(known.run(*data), BODIES[name][1](*data), rtol=tolerance)


@needs_gcc
@pytest.mark.parametrize("name", ["scaled and masked", "of values that a condition keeps"])
def test_plain_c_has_the_same_bits(name: str, tmp_path: Path) -> None:
    mod, shapes = made(name, 2, 100)
    data = data_of(shapes)
    (result,) = run_plain_c(mod, {}, data, tmp_path, "-O1", *SANITIZERS)
    np.testing.assert_array_equal(result.reshape(2, 2, 3, 100), built(mod).run(*data))
