from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from frontends.onnx import from_onnx
from qnn_ops.errors import QnnError
from tests.support.onnx_graphs import compiled, model_of, on_runtime


def _model(shape: tuple[int, ...], axis: int, dtype: str, depth: Any = 5) -> tuple[Any, Any]:
    rng = np.random.default_rng(3)
    data = {"x": rng.integers(-7, 8, shape).astype(dtype)}  # some beyond either end
    constants = {"depth": np.asarray(depth, dtype), "values": np.asarray([-0.5, 2.25], np.float32)}
    return model_of(
        [("OneHot", "x depth values", "y", {"axis": axis})], data, ["y"], constants
    ), data


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("axis", [-1, 0, 1, 2, -3])
def test_equal_to_onnx_runtime(axis: int, dtype: str) -> None:
    model, data = _model((4, 6), axis, dtype)
    np.testing.assert_array_equal(compiled(model, data)[0], on_runtime(model, data)[0])


def test_values_of_a_run() -> None:
    data: dict[str, Any] = {
        "x": np.asarray([0, 2, -1], np.int64),
        "values": np.asarray([7, 8], np.float32),
    }
    constants = {"depth": np.asarray([3], np.int64)}
    model = model_of([("OneHot", "x depth values", "y", {})], data, ["y"], constants)
    np.testing.assert_array_equal(compiled(model, data)[0], on_runtime(model, data)[0])


@pytest.mark.parametrize(
    ("depth", "axis", "reason"),
    [(1 << 40, -1, "OneHot: a tensor has"), (-3, -1, "'depth'"), (5, 9, "'axis'")],
)
def test_bad_input_is_one_error(depth: int, axis: int, reason: str) -> None:
    model, _ = _model((4, 6), -1, "int64")
    model.graph.initializer[0].CopyFrom(
        type(model.graph.initializer[0])(
            name="depth", data_type=7, dims=[], raw_data=np.int64(depth).tobytes()
        )
    )
    model.graph.node[0].attribute[0].i = axis
    del model.graph.output[0].type.tensor_type.shape.dim[:]
    model.graph.output[0].type.tensor_type.ClearField("shape")
    with pytest.raises(QnnError, match=reason):
        from_onnx(model)
