"""SVDF."""

from typing import Any

import numpy as np
import pytest

import tvm_qnn
from frontends.errors import UnsupportedOperatorError
from frontends.tflite import from_tflite
from frontends.tflite.quantization import Quantization
from frontends.tflite.reader import read_model
from qnn_ops import quantized_svdf, quantized_svdf_state
from qnn_ops.dialect.signature import signature_of
from tests.support.arrays import full_range
from tests.support.hybrid import float_rows
from tests.support.tflite import Operand, Sheet, fixed, library_of, one, refused, state, x
from tvm_qnn.compare import compare
from tvm_qnn.oracle import litert_runs

Q = Quantization.per_tensor
RELU: dict[str, Any] = {"fused_activation_function": "RELU"}


def svdf(
    batch: int, size: int, filters: int, steps: int, rank: int, has_bias: bool, kept: str = "int16"
) -> bytes:
    rng, scale = np.random.default_rng(filters), 0.01 if kept == "int8" else 1 / 4096
    weights = [
        fixed(full_range(rng, dtype, (filters, columns)), dtype, Q(scale, 0))
        for dtype, columns in (("int8", size), (kept, steps))
    ]
    bias = fixed(rng.integers(-(2**20), 2**20, filters // rank), "int32", Q(0.01, 0))
    encoding = Q(0.5, 5) if kept == "int8" else Q(0.001, 0)
    operands = [*weights, bias if has_bias else None]
    operands.append(state(batch, filters * steps, dtype=kept, encoding=encoding))
    data, gives = (
        x(batch, size, encoding=Q(0.05, -3)),
        ((batch, filters // rank), "int8", Q(0.7, 9)),
    )
    return one("SVDF", data, *operands, gives=gives, rank=rank, version=3, **RELU).model()


def kept_by(library: Any) -> np.ndarray:
    (kept,) = library.state.values()
    return np.asarray(kept)


def stream(batch: int, size: int, runs: int) -> list[list[np.ndarray]]:
    rng = np.random.default_rng(3)
    return [[full_range(rng, "int8", (batch, size))] for _ in range(runs)]


@pytest.mark.parametrize(
    ("batch", "size", "filters", "steps", "rank", "has_bias"),
    [(1, 9, 6, 5, 2, True), (2, 3, 4, 1, 1, False), (3, 17, 6, 8, 3, True)],
)
def test_every_run_of_a_stream_equals_litert(
    batch: int, size: int, filters: int, steps: int, rank: int, has_bias: bool
) -> None:
    first, *then = stream(batch, size, 10)
    model = svdf(batch, size, filters, steps, rank, has_bias)
    comparison = compare(model, first, "llvm", then=then)
    assert comparison.differing == ()
    assert (comparison.runs, len(comparison.tensors)) == (10, 1)


def test_a_state_of_int8_begins_with_its_zero_point() -> None:
    mod, params = from_tflite(svdf(1, 4, 6, 3, 2, True, "int8"))
    (state,) = signature_of(mod).states
    np.testing.assert_array_equal(state.array(), np.full((1, 18), 5, np.int8))
    library = tvm_qnn.build(mod, "llvm", params)
    arrays = list(params.values())
    kept = state.array()
    for (data,) in stream(1, 4, 4):
        features, times, bias = (each.numpy() for each in arrays)
        sums = (data.astype(np.int32) + 3) @ features.T.astype(np.int32)
        kept = quantized_svdf_state.evaluate(sums, kept, 0.05, 0.01, 0.5, 5)
        expected = quantized_svdf.evaluate(kept, times, 2, 0.5, 5, 0.01, 0.7, 9, bias=bias)
        np.testing.assert_array_equal(library.run(data), expected)
        np.testing.assert_array_equal(kept_by(library), kept)


def real_svdf(
    shape: tuple[int, int, int, int, int],
    weights: str,
    activation: str,
    *,
    asymmetric: bool = False,
) -> tuple[bytes, list[np.ndarray]]:
    """Return a filter over time of float32, and its weights and bias."""
    batch, size, filters, steps, rank = shape
    rng = np.random.default_rng(size)
    if weights == "float32":
        arrays = [rng.normal(size=(filters, n)).astype(np.float32) for n in (size, steps)]
    else:
        arrays = [rng.integers(-127, 128, (filters, n)).astype(np.int8) for n in (size, steps)]
    encoding = None if weights == "float32" else Q(0.02, 0)
    operands = [fixed(each.view(weights), weights, encoding) for each in arrays]
    arrays.append(rng.normal(size=filters // rank).astype(np.float32))
    operands += [fixed(arrays[2], "float32"), state(batch, filters * steps)]
    options: dict[str, Any] = {"rank": rank, "asymmetric_quantize_inputs": asymmetric}
    options["fused_activation_function"] = activation
    sheet = one("SVDF", x(batch, size, dtype="float32"), *operands, **options)
    if weights != "float32":
        arrays[:2] = [each * np.float32(0.02) for each in arrays[:2]]
    return sheet.model(), arrays


@pytest.mark.parametrize("target", ["llvm", "host"])
@pytest.mark.parametrize(
    ("shape", "weights", "activation", "asymmetric"),
    [
        ((1, 40, 6, 5, 2), "float32", "NONE", False),
        ((2, 7, 4, 1, 1), "float32", "RELU6", False),
        ((2, 7, 4, 3, 2), "float32", "TANH", False),
        ((3, 40, 12, 10, 3), "int8", "RELU", False),
        ((2, 9, 4, 7, 1), "uint8", "NONE", True),
    ],
)
def test_real_numbers_differ_by_the_order_of_sums_at_most(
    shape: tuple[int, int, int, int, int],
    weights: str,
    activation: str,
    asymmetric: bool,
    target: str,
) -> None:
    model, (features, times, bias) = real_svdf(shape, weights, activation, asymmetric=asymmetric)
    batch, size, filters, steps, rank = shape
    rng = np.random.default_rng(1)
    runs = [[float_rows(rng, (batch, size))] for _ in range(8)]
    runs[3][0][:] = 0
    library = library_of(model, target)
    (output,) = read_model(model).outputs
    sizes = np.zeros((batch, filters, steps))  # sums of what is added up to each value
    for (data,), expected in zip(runs, litert_runs(model, runs), strict=True):
        result = library.run(data)
        values = kept_by(library).reshape(sizes.shape)
        added = (
            np.abs(data) @ np.abs(features.T) if weights == "float32" else np.zeros((1, filters))
        )
        newest = np.broadcast_to(added, (batch, filters))[:, :, np.newaxis]
        sizes = np.concatenate([sizes[:, :, 1:], newest], axis=2)
        # Two sums of n products, in any order and with fused products or without, each lie within
        # n rounding errors of the sum of their sizes. Values of bytes are exact.
        error = 2 * size * 2.0**-24 * sizes * np.abs(times)
        total = (np.abs(values * times) + error).reshape(batch, -1, rank * steps).sum(axis=2)
        passed_on = error.reshape(batch, -1, rank * steps).sum(axis=2)
        bound = 2 * (rank * steps + 1) * 2.0**-24 * (total + np.abs(bias)) + passed_on
        assert (np.abs(result - expected[output]) <= bound).all()


@pytest.mark.parametrize("asymmetric", [False, True])
def test_values_of_bytes_are_exact(asymmetric: bool) -> None:
    # Of one step and one filter, so that there is no order.
    activation = "SIGN_BIT" if asymmetric else "RELU"
    model, _ = real_svdf((3, 40, 12, 1, 1), "int8", activation, asymmetric=asymmetric)
    rng = np.random.default_rng(2)
    first, *then = ([float_rows(rng, (3, 40))] for _ in range(4))
    assert compare(model, first, then=then).differing == ()


def real(*shape: int) -> Operand:
    return fixed(np.zeros(shape), "float32")


def of_six_filters(rank: int) -> Sheet:
    row = x(1, 4, dtype="float32")
    return one("SVDF", row, real(6, 4), real(6, 3), real(3), state(1, 18), rank=rank)


def of_a_scalar(weights: Operand) -> Sheet:
    number = x(dtype="float32")
    return one("SVDF", number, weights, weights, None, state(1, 4), gives="float32", rank=1)


WORDS = state(1, 4, dtype="int16", encoding=Q(1.0, 0))
ROW, BIAS, MATRIX = x(1, 2, dtype="float32"), x(1, 2, dtype="float32"), real(2, 2)
test_other_types_are_refused = refused(
    (r"state of float32, .*, int16", one("SVDF", ROW, MATRIX, MATRIX, BIAS, WORDS, rank=1)),
    error=UnsupportedOperatorError,
)
test_real_operands_that_do_not_fit = refused(
    ("rank must divide the 6 filters, got 4", of_six_filters(rank=4)),
    (r"needs a bias of 2, got \(3,\)", of_six_filters(rank=3)),
)
test_a_scalar_is_no_rows = refused(
    ("is a scalar, and no rows of data", of_a_scalar(fixed(np.zeros((2, 2)), "int8", Q(0.5, 0)))),
    ("is a scalar, and no rows of data", of_a_scalar(MATRIX)),
)
