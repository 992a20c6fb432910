from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from tvm_qnn import relay

X = np.random.default_rng(6).normal(size=(1, 2, 5, 6)).astype(np.float32)


def of_onnx(size: tuple[int, int], **attributes: Any) -> np.ndarray:
    """Return what the standard's reference computes."""
    sizes = numpy_helper.from_array(np.array([*X.shape[:2], *size], np.int64), "sizes")
    graph = helper.make_graph(
        [helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], **attributes)],
        "resize",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, X.shape)],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, (*X.shape[:2], *size))],
        [sizes],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)])
    (result,) = ReferenceEvaluator(model).run(None, {"x": X})
    return np.asarray(result)


def resized(data: np.ndarray, size: Any, *modes: Any, **settings: Any) -> np.ndarray:
    result = relay.image.resize2d(relay.const(data), size, *modes, **settings)
    return np.asarray(relay.create_executor().evaluate(result).numpy())


@pytest.mark.parametrize(
    "mode", ["half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel"]
)
@pytest.mark.parametrize(
    ("method", "name"), [("linear", "linear"), ("cubic", "cubic"), ("nearest_neighbor", "nearest")]
)
def test_modes_are_those_of_onnx(method: str, name: str, mode: str) -> None:
    size = (9, 4)
    nearest = {"nearest_mode": "ceil"} if name == "nearest" else {}
    expected = of_onnx(
        size, mode=name, coordinate_transformation_mode=mode, cubic_coeff_a=-0.5, **nearest
    )
    rounding = "ceil" if nearest else ""
    result = resized(X, size, None, "NCHW", method, mode, rounding)
    np.testing.assert_allclose(result, expected, atol=1e-5)  # float32 sums in another order


def test_layouts_dtypes_and_sizes_of_constants() -> None:
    size = relay.const(np.array([10, 12], np.int32))
    pixels = (X.transpose(0, 2, 3, 1) * 50).astype(np.int8)
    modes = (None, "NHWC", "nearest_neighbor", "asymmetric")
    expected = pixels.repeat(2, 1).repeat(2, 2)
    np.testing.assert_array_equal(resized(pixels, size, *modes), expected)
    reals = resized(pixels, (3, 3), layout="NHWC", out_dtype="float32")
    expected = resized(pixels.astype(np.float32), (3, 3), layout="NHWC")
    np.testing.assert_array_equal(reals, expected)
    cut_off = resized(pixels, (3, 3), layout="NHWC", out_dtype="int32")
    np.testing.assert_array_equal(cut_off, np.trunc(expected).astype(np.int32))


def test_halves_ends_and_parts_of_an_image() -> None:
    modes = (None, "NCHW", "nearest_neighbor", "align_corners")
    np.testing.assert_array_equal(resized(X[:, :, :2], (3, 6), *modes), X[:, :, [0, 1, 1]])
    np.testing.assert_array_equal(resized(X, (3, 6), *modes, "round"), X[:, :, [0, 2, 4]])
    edge = np.where(np.arange(8) < 4, -128, 127).astype(np.int8).reshape(1, 1, 1, 8)
    result = resized(edge, (1, 32), method="cubic")
    assert set(result[..., :12].ravel()) == {-128}
    assert set(result[..., 20:].ravel()) == {127}
    part = [0, 0, 0.25, 0.2, 1, 1, 0.75, 0.8]
    sizes = (3, 4), part[2:4] + part[6:]
    result = resized(X, *sizes, "NCHW", "linear", "tf_crop_and_resize")
    np.testing.assert_allclose(result, X[:, :, 1:4, 1:5], atol=1e-6)
