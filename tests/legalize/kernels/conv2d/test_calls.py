import numpy as np
import pytest
from tvm import relax

from legalize.kernels.conv2d.calls import centred, dense_call
from qnn_ops import quantized_dense
from qnn_ops.arrays import Array
from qnn_ops.dialect.registry import attrs_of
from tests.support.errors import giving


def takes(weights: Array, zero_point: int) -> bool:
    """Tell whether kernels take a dense layer of these weights, [units, K]."""
    depth = weights.shape[1]
    dtype = str(weights.dtype)
    data = relax.Var("x", relax.TensorType((1, depth), dtype))
    call = quantized_dense(data, relax.const(weights), *(1.0, 0, 1.0, zero_point, 1.0, 0, "int32"))
    return dense_call(attrs_of(call), list(call.args), lambda *_: True) is not None


test_kernels_take_what_stays_within_int32_on_the_way = giving(
    lambda depth, dtype, value, zero_point: takes(np.full((2, depth), value, dtype), zero_point),
    # Any weights.
    (8_000, "uint8", 0, 255, True),
    (16_000, "int8", -128, 0, True),
    # As large as the first dense layer of VGG, with weights of an ordinary size.
    (25_088, "int8", 60, 0, True),
    (25_088, "uint8", 150, 120, True),
    # Their raw products could take more than half of int32.
    (25_088, "int8", -128, 0, False),
    (25_088, "uint8", 0, 255, False),
)


@pytest.mark.parametrize(("bias", "taken"), [(-(2**30) - 128, True), (2**30 + 2**20, False)])
def test_kernels_leave_a_huge_bias_for_later(bias: int, taken: bool) -> None:
    data = relax.Var("x", relax.TensorType((1, 1), "int8"))
    weights = relax.const(np.zeros((2, 1), np.int8))
    biases = np.array([0, bias], np.int32)
    call = quantized_dense(
        data, weights, 1.0, 0, 1.0, 0, 1.0, 0, "int8", bias=relax.const(biases), rounding="float64"
    )
    described = dense_call(attrs_of(call), list(call.args), lambda *_: True)
    assert described is not None
    assert (described.bias is None) == taken
    assert (described.weights.bias is not None) == taken
    assert described.spec.output.dtype == ("int8" if taken else "int32")


@pytest.mark.parametrize(
    ("dtype", "ends", "zero_point", "is_centred"),
    [
        ("uint8", (0, 255), 128, True),
        ("uint8", (20, 238), 111, True),
        ("uint8", (0, 238), 111, True),
        ("uint8", (0, 239), 111, False),
        ("uint8", (21, 255), 150, False),
        ("int8", (-128, 127), 0, True),
        ("int8", (-100, 127), 5, True),
        ("int8", (-128, 127), 1, False),
    ],
)
def test_zero_points_are_taken_off_weights_where_bytes_hold_the_rest(
    dtype: str, ends: tuple[int, int], zero_point: int, is_centred: bool
) -> None:
    weights = np.array([[ends]], dtype)
    kernel, zero_points = centred(weights, np.array([zero_point, zero_point]))
    rest = kernel.astype(int) - zero_points
    np.testing.assert_array_equal(rest, weights.astype(int) - zero_point)
    assert (str(kernel.dtype), zero_points.tolist()) == (
        ("int8", [0]) if is_centred else (dtype, [zero_point])
    )


def test_weights_with_zero_points_of_their_own_are_left() -> None:
    weights = np.array([[3], [4]], np.uint8)
    kernel, zero_points = centred(weights, np.array([3, 4]))
    assert kernel is weights
    assert zero_points.tolist() == [3, 4]
