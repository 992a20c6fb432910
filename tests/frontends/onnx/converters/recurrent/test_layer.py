"""What LSTM, GRU and RNN have alike, against ONNX Runtime."""

import warnings
from typing import Any

import numpy as np
import pytest

import tvm_qnn as qnn
from frontends.errors import UnsupportedOperatorError
from frontends.onnx import from_onnx
from frontends.onnx.source import OnnxSource
from qnn_ops.errors import LeftInFloatWarning
from tests.support.errors import fails
from tests.support.onnx_graphs import check_equal, on_runtime
from tests.support.onnx_recurrent import GATES, recurrent


def with_bytes(model: Any, *, per_channel: bool, dtype: str) -> Any:
    """Put a DequantizeLinear of bytes before the weights."""
    import onnx

    graph, rng = model.graph, np.random.default_rng(2)
    arrays = {each.name: onnx.numpy_helper.to_array(each) for each in graph.initializer}
    for name in ("w", "r"):
        array = arrays[name]
        units = array.shape[1] if per_channel else 1
        scale = (np.abs(array).max() / 127 * rng.uniform(0.9, 1.1, units)).astype(np.float32)
        point = rng.integers(-9, 10, units) if per_channel else np.array([3])
        lowest = np.iinfo(dtype).min
        steps = np.rint(array / scale.reshape(1, -1, 1)) + point.reshape(1, -1, 1)
        stored = {
            f"{name}_bytes": (np.clip(steps, -128, 127) + 128 + lowest).astype(dtype),
            f"{name}_scale": scale if per_channel else scale[0],
            f"{name}_point": (point if per_channel else point[0]) + 128 + lowest,
        }
        stored[f"{name}_point"] = np.asarray(stored[f"{name}_point"], dtype)
        for key, value in stored.items():
            graph.initializer.append(onnx.numpy_helper.from_array(np.asarray(value), key))
        for each in [each for each in graph.initializer if each.name == name]:
            graph.initializer.remove(each)
        more: dict[str, Any] = {"axis": 1} if per_channel else {}
        graph.node.insert(
            0, onnx.helper.make_node("DequantizeLinear", list(stored), [name], **more)
        )
    return model


@pytest.mark.parametrize("op", ["GRU", "LSTM", "RNN"])
@pytest.mark.parametrize(("per_channel", "dtype"), [(False, "uint8"), (True, "int8")])
def test_weights_may_be_dequantized(op: str, per_channel: bool, dtype: str) -> None:
    model, data = recurrent(op, direction="bidirectional")
    outputs, *_ = check_equal(with_bytes(model, per_channel=per_channel, dtype=dtype), data)
    assert len(np.unique(outputs)) > 20


def test_weights_that_the_run_tells_are_refused() -> None:
    import onnx

    model, _ = recurrent("GRU")
    (weights,) = (each for each in model.graph.initializer if each.name == "w")
    shape = list(weights.dims)
    model.graph.initializer.remove(weights)
    model.graph.input.append(onnx.helper.make_tensor_value_info("w", 1, shape))
    fails(r"GRU.*W must be a constant", from_onnx, model, error=UnsupportedOperatorError)


@pytest.mark.parametrize("op", GATES)
def test_products_are_counted(op: str) -> None:
    model, _ = recurrent(op, direction="bidirectional", steps=5, batch=3, size=9, units=7)
    (operator,) = OnnxSource(model).summary("model").operators
    assert operator.macs == 5 * 3 * 2 * GATES[op] * 7 * (9 + 7)


@pytest.mark.parametrize(
    ("op", "direction"), [*zip(GATES, ["forward", "bidirectional"] * 2, strict=True)]
)
def test_a_batch_may_be_open(op: str, direction: str) -> None:
    model, data = recurrent(op, direction=direction)
    for value in model.graph.input:  # [steps, batch, size], or [directions, batch, units]
        value.type.tensor_type.shape.dim[1].dim_param = "batch"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeftInFloatWarning)
        mod, params = from_onnx(model, {"batch": range(1, 9)})
        library = qnn.build(mod, "host", params)
    rng = np.random.default_rng(3)
    for batch in (1, 2, 8):
        given = {
            name: rng.normal(0, 1, (array.shape[0], batch, array.shape[2])).astype(np.float32)
            for name, array in data.items()
        }
        found, wanted = library.run(given).values(), on_runtime(model, given)
        for result, expected in zip(found, wanted, strict=True):
            # The products of an RNN have another order for one row.
            np.testing.assert_allclose(result, expected, rtol=0, atol=1e-6 * (op == "RNN"))


def test_sequences_of_an_open_batch_have_lengths() -> None:
    model, _ = recurrent("GRU", direction="bidirectional", lengths=(5, 3, 1), without="h")
    for value, axis in zip(model.graph.input, (1, 0), strict=True):
        value.type.tensor_type.shape.dim[axis].dim_param = "batch"
    mod, params = from_onnx(model, {"batch": range(1, 9)})
    library = qnn.build(mod, "host", params)
    rng = np.random.default_rng(3)
    for lengths in ([2], [5, 3, 1], [1, 5, 4, 4, 3, 2, 1, 5]):
        data = rng.normal(0, 1, (5, len(lengths), 9)).astype(np.float32)
        given = {"x": data, "l": np.array(lengths, np.int32)}
        for result, expected in zip(
            library.run(given).values(), on_runtime(model, given), strict=True
        ):
            np.testing.assert_array_equal(result, expected)


def test_an_open_number_of_steps_is_one_error() -> None:
    model, _ = recurrent("GRU", without="h")
    with pytest.raises(UnsupportedOperatorError, match="needs a number of steps, of an open batch"):
        from_onnx(model, {"x": ("steps", 3, 9)})
