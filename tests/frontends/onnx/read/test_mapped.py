"""Large constants in files beside a model's, against ONNX Runtime."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tvm_qnn as qnn
from frontends.errors import ModelFormatError
from frontends.onnx import from_onnx
from frontends.onnx.read.constants import constants_of
from frontends.onnx.read.mapped import is_mapped, map_constants
from frontends.onnx.read.reader import read_proto
from qnn_ops.dialect.registry import constant_of
from tests.support.errors import fails
from tests.support.onnx_graphs import Net, Node, on_runtime, onnx, pair
from tvm_qnn.oracle import onnxruntime_outputs

X = np.linspace(-2, 2, 2 * 512, dtype=np.float32).reshape(2, 512)
WEIGHTS = np.random.default_rng(0).integers(-127, 128, (512, 256), np.int8)
NODES: list[Node] = [
    *pair("x s z", "d"),
    ("DequantizeLinear", "w s_w z_w", "dw"),
    ("MatMul", "d dw", "m"),
    *pair("m s_y z", "y"),
]
ENCODINGS = {
    "s": np.float32(0.02),
    "z": np.uint8(128),
    "s_w": np.float32(0.01),
    "z_w": np.int8(0),
    "s_y": np.float32(0.5),
}


def dense() -> Any:
    model = Net(NODES, {"x": X}, {"w": WEIGHTS, **ENCODINGS}).model
    return onnx.shape_inference.infer_shapes(model)


def saved(folder: Path, model: Any) -> Path:
    path = folder / "net.onnx"
    onnx.save(model, path, save_as_external_data=True, location="weights", size_threshold=1024)
    return path


def test_large_constants_stay_in_their_file(tmp_path: Path) -> None:
    expected = on_runtime(dense(), {"x": X})[0]
    path = saved(tmp_path, dense())
    proto = read_proto(path)
    assert [each.name for each in proto.graph.initializer if is_mapped(each)] == ["w"]
    assert proto.ByteSize() < 2000
    np.testing.assert_array_equal(constants_of(proto)["w"], WEIGHTS)
    mod, params = from_onnx(path)
    library = qnn.build(mod, "host", params)
    np.testing.assert_array_equal(library.run(X), expected)
    np.testing.assert_array_equal(onnxruntime_outputs(path, [X])["y"], expected)


def test_the_file_is_not_copied(tmp_path: Path) -> None:
    """A constant of the module is the file's own pages: it changes where they do."""
    path = saved(tmp_path, dense())
    main = from_onnx(path)[0]["main"]
    content = (tmp_path / "weights").read_bytes()
    place = content.index(WEIGHTS.tobytes())
    with (tmp_path / "weights").open("r+b") as file:
        file.seek(place)
        file.write(b"\x05")
    blocks = [binding for block in main.body.blocks for binding in block.bindings]
    arguments = [each for binding in blocks for each in getattr(binding.value, "args", ())]
    arrays = [array for each in arguments if (array := constant_of(each)) is not None]
    (weights,) = (array for array in arrays if array.shape == WEIGHTS.shape)
    assert weights[0, 0] == 5


def test_weights_of_four_bits_are_unpacked(tmp_path: Path) -> None:
    values = (np.arange(1 << 18) % 16 - 8).reshape(512, 512)
    model = dense()
    packed = onnx.helper.make_tensor("w", onnx.TensorProto.INT4, values.shape, values.ravel())
    model.graph.initializer[0].CopyFrom(packed)
    model.graph.initializer[0].ClearField("int32_data")
    low, high = (values.ravel()[place::2] & 15 for place in (0, 1))
    model.graph.initializer[0].raw_data = (low | high << 4).astype(np.uint8).tobytes()
    path = tmp_path / "net.onnx"
    onnx.save(model, path, save_as_external_data=True, location="weights", size_threshold=1024)
    loaded: Any = onnx.ModelProto()
    loaded.ParseFromString(path.read_bytes())
    map_constants(loaded, str(tmp_path))
    assert is_mapped(loaded.graph.initializer[0])
    np.testing.assert_array_equal(constants_of(loaded)["w"].astype(np.int64), values)


def _without_file(path: Path, _: Any) -> None:
    (path.parent / "weights").unlink()


def _cut(path: Path, _: Any) -> None:
    with (path.parent / "weights").open("r+b") as file:
        file.truncate(1000)


def _elsewhere(path: Path, model: Any) -> None:
    (path.parent / "weights").rename(path.parent.parent / "weights")
    _say(path, model, "../weights")


def _by_a_link(path: Path, _: Any) -> None:
    (path.parent / "weights").rename(path.parent.parent / "weights")
    (path.parent / "weights").symlink_to(path.parent.parent / "weights")


def _absolute(path: Path, model: Any) -> None:
    _say(path, model, str(path.parent / "weights"))


def _say(path: Path, model: Any, location: str) -> None:
    model.ParseFromString(path.read_bytes())
    model.graph.initializer[0].external_data[0].value = location
    path.write_bytes(model.SerializeToString())


@pytest.mark.parametrize("change", [_without_file, _cut, _elsewhere, _by_a_link, _absolute])
def test_other_files_are_not_read(change: Any, tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    path = saved(tmp_path / "inner", dense())
    change(path, onnx.ModelProto())
    fails("external data", from_onnx, path, error=ModelFormatError)


def test_a_file_cannot_say_that_it_is_mapped(tmp_path: Path) -> None:
    path = saved(tmp_path, dense())
    _say(path, model := onnx.ModelProto(), f"{'0' * 32}:{tmp_path / 'weights'}")
    for given in (path, model):
        fails(r"external data|in another file", from_onnx, given, error=ModelFormatError)
