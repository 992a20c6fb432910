"""Gather, GatherElements, OneHot, TopK, EyeLike and Range: choosing and counting by indices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm_qnn as qnn
from frontends.onnx import from_onnx
from qnn_ops.errors import QnnError
from tests.support.onnx_graphs import check_equal, compiled, model_of, on_runtime, onnx


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_places_from_both_ends(axis: int) -> None:
    rng = np.random.default_rng(1)
    data: dict[str, Any] = {"x": rng.normal(size=(5, 6, 7)).astype(np.float32)}
    data["i"] = rng.integers(-5, 5, (2, 3))
    check_equal(model_of([("Gather", "x i", "y", {"axis": axis})], data, ["y"], {}), data)


GIVEN: dict[str, tuple[str, dict[str, Any]]] = {
    **{op: ("x i", {"axis": 0}) for op in ("Gather", "GatherElements")},
    "GatherND": ("x i", {}),
    "ScatterElements": ("x i u", {"axis": 0}),
    "ScatterND": ("x i v", {}),
}


@pytest.mark.parametrize("operator", GIVEN)
def test_a_place_that_is_not_there_ends_the_run(operator: str) -> None:
    # ONNX Runtime raises, too.
    operands, attributes = GIVEN[operator]
    constants = {"x": np.arange(30, dtype=np.float32).reshape(5, 6)}
    constants |= {"u": np.full((2, 2), -1, np.float32), "v": np.array([-1, -2], np.float32)}
    used = {name: constants[name] for name in operands.split() if name != "i"}
    data = {"i": np.array([[0, -5], [4, 2]])}
    model = model_of([(operator, operands, "y", attributes)], data, ["y"], used)
    library = qnn.build(*from_onnx(model)[:1], num_threads=1)
    np.testing.assert_array_equal(library.run(data["i"]), on_runtime(model, data)[0])
    for index in (7, -8, 2**40):
        data["i"][1, 1] = index
        with pytest.raises(Exception, match="Non-zero status code"):
            on_runtime(model, data)
        size = "5|6"
        with pytest.raises(
            QnnError, match=f"{operator}.*'y': index {index} is beyond the [{size}]"
        ):
            library.run(data["i"])
    data["i"][1, 1] = 2
    np.testing.assert_array_equal(library.run(data["i"]), on_runtime(model, data)[0])


def test_a_branch_that_is_not_taken_ends_no_run() -> None:
    def branch(op: str, operands: list[str], result: str) -> Any:
        nodes = [onnx.helper.make_node(op, operands, [result])]
        value = onnx.helper.make_tensor_value_info(result, 1, (2,))
        return onnx.helper.make_graph(nodes, result, [], [value])

    data = {"x": np.arange(5, dtype=np.float32), "i": np.array([0, 9])}
    data |= {"is": np.array(False), "z": np.array([7, 8], np.float32)}
    branches = {"then_branch": branch("Gather", ["x", "i"], "a")}
    branches["else_branch"] = branch("Neg", ["z"], "b")
    model = model_of([("If", "is", "y", branches)], data, ["y"], {})
    check_equal(model, data)


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
