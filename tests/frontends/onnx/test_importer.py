"""Imported networks, against ONNX Runtime."""

import warnings
from typing import Any

import numpy as np
import pytest

import tvm_qnn as qnn
from frontends.errors import ModelFormatError, UnsupportedOperatorError
from frontends.onnx import from_onnx
from qnn_ops.errors import LeftInFloatWarning, QnnError
from tests.frontends.onnx.normalize.test_growth import QUANTIZED, proto
from tests.support.errors import fails
from tests.support.onnx_graphs import Net, Node, equal, one, onnx, pair, refused
from tests.support.onnx_networks import NETWORKS, Network, Style
from tvm_qnn.oracle import onnxruntime_tensors

# Types of activations and weights, whether each channel has a scale, and whether the form is QDQ.
STYLES = [
    ("uint8", "int8", True, True),
    ("uint8", "int8", True, False),
    ("int8", "int8", True, True),
    ("int8", "int8", False, False),
    ("uint8", "uint8", False, True),
]
# The small network in all styles; sums and concatenations of both types in both forms.
CASES = [("mobilenet", style) for style in STYLES]
CASES += [("resnet", STYLES[number]) for number in (0, 3)]
CASES += [("googlenet", STYLES[number]) for number in (1, 2)]


def image(model: Any) -> np.ndarray[Any, Any]:
    shape = [dim.dim_value for dim in model.graph.input[0].type.tensor_type.shape.dim]
    return np.random.default_rng(3).normal(0, 1.2, shape).astype(np.float32)


@pytest.mark.parametrize(("name", "style"), CASES, ids=str)
def test_every_tensor_equals_onnx_runtime(name: str, style: tuple[str, str, bool, bool]) -> None:
    activations, weights, per_channel, qdq = style
    model = NETWORKS[name](Style(activations, weights, per_channel=per_channel, qdq=qdq))
    data = image(model)
    wanted = onnxruntime_tensors(model, [data])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mod, params = from_onnx(model, outputs="all")
        library = qnn.build(mod, "host", params)
    results = library.run(data)
    assert len(wanted) > 10
    for key, array in wanted.items():
        assert results[key].dtype == array.dtype
        np.testing.assert_array_equal(results[key], array, err_msg=key)


def test_an_old_operator_set() -> None:
    model = NETWORKS["googlenet"](Style("uint8", "int8", per_channel=True, qdq=False))
    model.opset_import[0].version = 12
    data = image(model)
    wanted = onnxruntime_tensors(model, [data])
    mod, params = from_onnx(model, outputs="all")
    results = qnn.build(mod, "host", params).run(data)
    for key, array in wanted.items():
        np.testing.assert_array_equal(results[key], array, err_msg=key)


def small(qdq: bool = True) -> Any:
    net = Network(Style("uint8", "int8", per_channel=True, qdq=qdq), (1, 3, 6, 6), 0)
    return net.model(net.conv(net.input, 4))


def test_a_file_and_its_contents_give_the_same(tmp_path: Any) -> None:
    model = small()
    path = tmp_path / "small.onnx"
    path.write_bytes(model.SerializeToString())
    texts = {from_onnx(each)[0].script() for each in (model, path, path.read_bytes())}
    assert len(texts) == 1


def test_external_data_is_read_beside_the_file(tmp_path: Any) -> None:
    model = small()
    path = tmp_path / "small.onnx"
    onnx.save(model, path, save_as_external_data=True, location="weights", size_threshold=0)
    assert from_onnx(path)[0].script() == from_onnx(small())[0].script()
    with pytest.raises(ModelFormatError, match="is in another file: give the model's path"):
        from_onnx(path.read_bytes())
    (tmp_path / "weights").unlink()
    fails("external data", from_onnx, path, error=ModelFormatError)


def test_shapes_by_name() -> None:
    model = small()
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "batch"
    model.graph.output[0].type.tensor_type.shape.dim[0].dim_param = "batch"
    fails("input 'x' needs a static shape", from_onnx, model)
    mod, _ = from_onnx(model, {"x": (3, 3, 6, 6)})
    assert [int(size) for size in mod["main"].ret_ty.shape] == [3, 4, 6, 6]
    fails("no input is named 'y'", from_onnx, model, {"y": (3, 3, 6, 6)})


def test_a_constant_beside_a_convolution_keeps_it_in_float() -> None:
    # As a bias it would give other integers.
    model = small()
    nodes = model.graph.node
    number = next(i for i, node in enumerate(nodes) if node.op_type == "Conv")
    result, nodes[number].output[0] = nodes[number].output[0], "alone"
    half = onnx.numpy_helper.from_array(np.float32(0.5), "half")
    model.graph.initializer.append(half)
    nodes.insert(number + 1, onnx.helper.make_node("Add", ["alone", "half"], [result]))
    mod, params = from_onnx(model)
    with pytest.warns(LeftInFloatWarning):
        library = qnn.build(mod, "host", params)
    data = image(model)
    wanted = list(onnxruntime_tensors(model, [data]).values())[-1]
    steps = np.abs(library.run(data) - wanted) / np.float32(np.diff(np.unique(wanted)).min())
    assert steps.max() < 1.5
    assert (steps > 0.5).mean() < 0.01


def test_other_operators_are_named() -> None:
    model = small()
    node = onnx.helper.make_node("Bernoulli", [model.graph.output[0].name], ["e"])
    model.graph.node.append(node)
    with pytest.raises(
        UnsupportedOperatorError, match=r"Bernoulli: no conversion rule \(tensors: 'e'\)"
    ):
        from_onnx(model)


@pytest.mark.parametrize("cut", [1, 10, 100, 400])
def test_a_damaged_file_is_one_error(cut: int) -> None:
    content = small().SerializeToString()
    with pytest.raises(QnnError):
        from_onnx(content[:cut])


def test_old_operator_sets_are_refused() -> None:
    model = small(qdq=False)
    model.opset_import[0].version = 9
    fails("No Op registered for QuantizeLinear", from_onnx, model)


def test_operators_of_version_7_are_rewritten() -> None:
    data = np.arange(6, dtype=np.float32).reshape(2, 3)
    net = one("Slice", data, starts=[1], ends=[3], axes=[1], opset=7)
    np.testing.assert_array_equal(net.ours()[0], data[:, 1:])


def test_what_a_file_tells_of_an_outputs_shape_may_be_wrong() -> None:
    model = NETWORKS["googlenet"](Style("uint8", "int8", per_channel=True, qdq=True))
    data = image(model)
    (wanted,) = (onnxruntime_tensors(model, [data])[each.name] for each in model.graph.output)
    model.graph.output[0].type.tensor_type.shape.dim.add().dim_value = 5
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mod, params = from_onnx(model)
    np.testing.assert_array_equal(qnn.build(mod, "host", params).run(data), wanted)


def test_inputs_and_outputs_need_no_shape() -> None:
    model = NETWORKS["googlenet"](Style("uint8", "int8", per_channel=True, qdq=True))
    data = image(model)
    wanted = qnn.build(*_first_two(from_onnx(model))).run(data)
    name = model.graph.input[0].name
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.ClearField("shape")
    fails(f"{name!r} has no shape: give its shape by name", from_onnx, model)
    result = qnn.build(*_first_two(from_onnx(model, {name: data.shape}))).run(data)
    np.testing.assert_array_equal(result, wanted)


def _first_two(imported: Any) -> tuple[Any, str, Any]:
    mod, params = imported
    return mod, "host", params


VOLUME = np.zeros((2, 3, 4), np.float32)


@pytest.mark.parametrize("dtype", ["BFLOAT16", "FLOAT8E5M2", "INT4"])
def test_dtypes_of_which_there_are_no_arrays_are_refused(dtype: str) -> None:
    model = one("Identity", VOLUME).model
    model.graph.input[0].type.tensor_type.elem_type = getattr(onnx.TensorProto, dtype)
    fails(r"'x0' is .*: inputs and outputs may be bool, float16", from_onnx, model)


def test_a_shape_may_be_an_output() -> None:
    (result,) = one("Shape", VOLUME, start=1).check()
    np.testing.assert_array_equal(result, [3, 4])


# Whole numbers, whose sums are exact in any order.
MAPS = np.random.default_rng(5).integers(-9, 10, (2, 3, 6, 8)).astype(np.float32)
ENCODING = {"s": np.float32(0.5), "z": np.uint8(7)}
NETS = {
    "Conv": one("Conv", MAPS, np.ones((4, 3, 3, 2), np.float32), pads=[1, 0, 1, 0]),
    "MaxPool": one("MaxPool", MAPS, kernel_shape=[3, 2], strides=[2, 1], ceil_mode=1),
    "Split": one("Split", MAPS, [2, 4], results=2, axis=2),
    "Reshape": one("Reshape", MAPS, [0, -1, 4]),
    "Where": one("Where", MAPS[:, :1] > 0, MAPS, -1.5),
    "ReduceSum": one("ReduceSum", MAPS, [1, 3], keepdims=0),
    "TopK": one("TopK", MAPS[0, 0], [3], results=2),
    "Cast": one("Cast", MAPS, to=onnx.TensorProto.INT8),
    "Gather of a shape": Net(
        [("Shape", "x", "n"), ("Gather", "n i", "y")], {"x": MAPS}, {"i": [1, 3]}
    ),
    "pair": Net([*pair("x s z", "r"), ("Relu", "r", "y")], {"x": MAPS}, ENCODING),
}
test_types_may_be_left_out = equal(NETS)
test_types_that_a_file_states_change_nothing = equal(
    {name: net.typed() for name, net in NETS.items()}
)

HALF = np.ones(2, np.float32)
OF_MANY: dict[str, dict[str, Any]] = {
    **{op: {} for op in ("Max", "Mean", "Min", "Sum")},
    "Concat": {"axis": 0},
    "Einsum": {"equation": "a,a,a->a"},
}
test_operands_of_any_number_must_all_be_there = refused(
    *(
        (f"0 {op}: one of its operands is left out", one(op, HALF, None, HALF, **attributes))
        for op, attributes in OF_MANY.items()
    ),
    error=UnsupportedOperatorError,
)

test_what_tvms_importer_does_not_take_names_the_operator = refused(
    ("operator 0 Reshape: ", one("Reshape", VOLUME, np.array([-1]))), error=UnsupportedOperatorError
)


TELLS = "depends on the data, which values of inputs at import may tell"


def with_inputs(model: Any, **inputs: Any) -> Any:
    """Add inputs of int64, of these shapes."""
    for name, shape in inputs.items():
        model.graph.input.append(onnx.helper.make_tensor_value_info(name, 7, shape))
    return model


@pytest.mark.parametrize(
    ("node", "shape", "message"),
    [
        (("Reshape", "d n", "y"), [2], f"operator 2 Reshape: 'n' {TELLS}"),
        (("Expand", "d n", "y"), [2], r"operator 2 Expand: .* \(tensors: 'y'\)"),
        (("Split", "d n", "y k", {"axis": 1}), [2], f"Split: 'n' {TELLS}"),
        (("CumSum", "d n", "y"), [], f"CumSum: 'n' {TELLS}"),
        (("Range", "zero n one", "y"), [], f"how many numbers it has {TELLS}"),
        (("Slice", "d n n", "y"), [2], f"Slice: 'n' {TELLS}"),
    ],
)
def test_shapes_that_the_run_decides_are_told(
    node: Node, shape: list[int], message: str, capfd: pytest.CaptureFixture[str]
) -> None:
    constants = {"zero": np.int64(0), "one": np.int64(1)}
    model = with_inputs(proto([*QUANTIZED, node], **constants), n=shape)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UnsupportedOperatorError, match=message) as caught:
            from_onnx(model)
    assert "tvm_qnn" not in str(caught.value)
    assert "R." not in str(caught.value)
    assert capfd.readouterr() == ("", "")


def test_names_that_tvm_changes_are_no_warning() -> None:
    model = proto([*QUANTIZED, ("Relu", "d", "y")])
    model.graph.input[0].name = model.graph.node[0].input[0] = "layer.0/x"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        from_onnx(model)


def test_all_open_inputs_are_named_at_once() -> None:
    model = with_inputs(proto([*QUANTIZED, ("Relu", "d", "y")], ["N", 4]), n=[0, None], k=None)
    text = r"'x' has \['N', 4\], 'n' has \[0, '\?'\], 'k' has no shape: give their shapes by name"
    fails(text, from_onnx, model)
