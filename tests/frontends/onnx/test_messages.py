"""What a user reads where a model is refused: the file's names, and nothing of TVM's."""

import warnings
from typing import Any

import numpy as np
import pytest

from frontends.errors import UnsupportedOperatorError
from frontends.onnx import from_onnx
from tests.frontends.onnx.normalize.test_growth import QUANTIZED, proto
from tests.support.errors import fails
from tests.support.onnx_graphs import Node, onnx

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
