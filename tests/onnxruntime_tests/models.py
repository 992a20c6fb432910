"""The models that ONNX Runtime's tests read: the checkout's, or stand-ins with the same names."""

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

_PADS = "Pads_not_on_disk"
_EXTERNAL = "model_with_orig_ext_data.onnx"
_FLOAT, _INT64, _BOOL, _STRING = (
    getattr(TensorProto, name) for name in ("FLOAT", "INT64", "BOOL", "STRING")
)
_CONFIG = {"inter_op_num_threads": 5, "intra_op_num_threads": 2, "enable_profiling": 1}
_value = helper.make_tensor_value_info
_sequence = helper.make_tensor_sequence_value_info


def write_models(stored: Path, folder: Path) -> None:
    """Write the models to a folder.

    Args:
        stored: the checkout's ``testdata``.
        folder: that gets them.
    """
    for name, make in MADE.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        for file in (stored / name).parent.glob(f"{path.stem}.*"):  # with what lies beside it
            shutil.copy(file, path.parent)
        if not path.exists():
            beside = name == _EXTERNAL
            place = path.with_suffix(".bin").name
            onnx.save(
                make(), path, None, save_as_external_data=beside, location=place, size_threshold=0
            )


def _model(
    inputs: Sequence[Any],
    nodes: Sequence[Any],
    outputs: Sequence[Any],
    constants: dict[str, Any] | None = None,
) -> Any:
    held = [numpy_helper.from_array(np.array(v), name) for name, v in (constants or {}).items()]
    graph = helper.make_graph(nodes, "graph", inputs, outputs, held)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def _node(operator: str, inputs: str, output: str, name: str = "") -> Any:
    return helper.make_node(operator, inputs.split(), [output], name)


def _product(operator: str, rows: int | str, weights: Any) -> Any:
    """Return a model of a product by constants."""
    constants = np.array(weights, np.float32)
    result = _value("Y", _FLOAT, [rows, constants.shape[-1]])
    nodes = [_node(operator, "X W", "Y")]
    return _model([_value("X", _FLOAT, [rows, 2])], nodes, [result], {"W": constants})


def _mul() -> Any:
    return _product("Mul", 3, [[1, 2], [3, 4], [5, 6]])


def _configured() -> Any:
    """Return a model that tells what its sessions are asked for."""
    model = _mul()
    helper.set_model_props(model, {"ort_config": json.dumps({"session_options": _CONFIG})})
    return model


def _both() -> Any:
    ends = [_value(name, _BOOL, [2, 2]) for name in ("input1:0", "input:0", "output:0")]
    return _model(ends[:2], [_node("And", "input1:0 input:0", "output:0")], ends[2:])


def _texts() -> Any:
    ends = [_value(name, _STRING, [2, 2]) for name in ("input:0", "output:0")]
    return _model(ends[:1], [_node("Identity", "input:0", "output:0")], ends[1:])


def _optional() -> Any:
    of = helper.make_optional_type_proto(
        helper.make_sequence_type_proto(helper.make_tensor_type_proto(_FLOAT, [5]))
    )
    ends = [helper.make_value_info(name, of) for name in ("opt_in", "opt_out")]
    return _model(ends[:1], [_node("Identity", "opt_in", "opt_out")], ends[1:])


def _length() -> Any:
    ends = [_sequence("X", _FLOAT, [2, 3]), _value("Y", _INT64, [])]
    return _model(ends[:1], [_node("SequenceLength", "X", "Y")], ends[1:])


def _construct() -> Any:
    inputs = [_value(name, _INT64, [2, 3]) for name in ("tensor1", "tensor2")]
    nodes = [_node("SequenceConstruct", "tensor1 tensor2", "output_sequence")]
    return _model(inputs, nodes, [_sequence("output_sequence", _INT64, [2, 3])])


def _insert() -> Any:
    inputs = [_sequence("input_seq", _INT64, [2, 3]), _value("tensor", _INT64, [2, 3])]
    nodes = [_node("SequenceInsert", "input_seq tensor", "output_sequence")]
    return _model(inputs, nodes, [_sequence("output_sequence", _INT64, [2, 3])])


def _free() -> Any:
    """Return a model of open dimensions with names and denotations."""
    ends = [_value(name, _FLOAT, ["Dim1", "Dim2", 5]) for name in ("x", "y")]
    for end in ends:
        dims = end.type.tensor_type.shape.dim
        dims[0].denotation, dims[1].denotation = "DATA_BATCH", "DATA_CHANNEL"
    return _model(ends[:1], [_node("Abs", "x", "y")], ends[1:])


def _pads() -> Any:
    """Return a model of which a constant is in a file that is not there."""
    inputs = [_value("X", _FLOAT, [1, 2]), _value(_PADS, _INT64, [4])]
    nodes = [_node("Pad", f"X {_PADS}", "Y")]
    model = _model(inputs, nodes, [_value("Y", _FLOAT, [1, 4])], {_PADS: np.zeros(4, np.int64)})
    tensor = model.graph.initializer[0]
    onnx.external_data_helper.set_external_data(tensor, location=f"{_PADS}.bin")
    tensor.ClearField("raw_data")
    return model


def _classifier() -> Any:
    constants = {"shape": np.array([1, 784]), "W": np.ones((784, 10), np.float32)}
    nodes = [
        _node("Reshape", "Input3 shape", "flat"),
        _node("MatMul", "flat W", "Plus214_Output_0"),
    ]
    ends = [_value("Input3", _FLOAT, [1, 1, 28, 28]), _value("Plus214_Output_0", _FLOAT, [1, 10])]
    return _model(ends[:1], nodes, ends[1:], constants)


def _adapted() -> Any:
    """Return a product to which an adapter adds another one; without it that has no columns."""
    inputs = [
        _value("input_x", _FLOAT, [4, 4]),
        _value("lora_param_a", _FLOAT, [4, "dim"]),
        _value("lora_param_b", _FLOAT, ["dim", 4]),
    ]
    nodes = [
        _node("MatMul", "input_x weight_x", "base"),
        _node("MatMul", "input_x lora_param_a", "narrow"),
        _node("MatMul", "narrow lora_param_b", "added"),
        _node("Add", "base added", "output"),
    ]
    constants = {
        "weight_x": np.arange(1, 17, dtype=np.float32).reshape(4, 4),
        "lora_param_a": np.zeros((4, 0), np.float32),
        "lora_param_b": np.zeros((0, 4), np.float32),
    }
    return _model(inputs, nodes, [_value("output", _FLOAT, [4, 4])], constants)


def _three() -> Any:
    ends = [_value(name, _FLOAT, [3, 2]) for name in "ABC"]
    nodes = [
        _node("Add", "A B", "one", "add_0"),
        _node("Mul", "one B", "two", "mul_0"),
        _node("Add", "two A", "C", "add_1"),
    ]
    return _model(ends[:2], nodes, ends[2:])


MADE: dict[str, Callable[[], Any]] = {
    "abs_free_dimensions.onnx": _free,
    "add_mul_add.onnx": _three,
    "identity_opt.onnx": _optional,
    "identity_string.onnx": _texts,
    "logicaland.onnx": _both,
    "lora/two_params_lora_model.onnx": _adapted,
    "matmul_1.onnx": lambda: _product("MatMul", 3, [[1], [2]]),
    "matmul_2.onnx": lambda: _product("MatMul", "None", [[1], [2]]),
    "mnist.onnx": _classifier,
    "model_with_external_initializer_come_from_user.onnx": _pads,
    _EXTERNAL: _mul,
    "model_with_valid_ort_config_json.onnx": _configured,
    "mul_1.onnx": _mul,
    "sequence_construct.onnx": _construct,
    "sequence_insert.onnx": _insert,
    "sequence_length.onnx": _length,
}
"""What makes each stand-in, by the model's name below ``testdata``."""
