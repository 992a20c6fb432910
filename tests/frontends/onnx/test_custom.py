"""Custom operators whose rules a user gives."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
import pytest
from tvm import relax
from tvm.relax import op as R

import tvm_qnn as qnn
from frontends.errors import UnsupportedOperatorError
from frontends.onnx.converters.registry import CONVERTERS
from frontends.onnx.custom import CustomCall, custom
from frontends.onnx.graph.shapes import STAND_INS
from frontends.onnx.operators import OPERATORS
from frontends.onnx.read.names import CUSTOM
from qnn_ops import QnnError
from tests.support.errors import fails

TABLES: tuple[dict[Any, Any], ...] = (CONVERTERS, STAND_INS, OPERATORS, CUSTOM)
DOMAIN = "my.domain"


@pytest.fixture(autouse=True)
def _rules_of_this_test() -> Iterator[None]:
    before = [dict(table) for table in TABLES]
    yield
    for table, old in zip(TABLES, before, strict=True):
        table.clear()
        table.update(old)


def model(body: str, inputs: str = "float[2, 8] x", outputs: str = "float[?, ?] y") -> Any:
    return onnx.parser.parse_model(
        f'<ir_version: 9, opset_import: ["" : 19, "{DOMAIN}" : 1]>'
        f"agraph ({inputs}) => ({outputs}) {{ {body} }}"
    )


SHRINK = "z = my.domain.SoftShrink <lambd: float = 0.5> (x)"


def soft_shrink(call: CustomCall) -> Any:
    (data,) = call.inputs
    bound = relax.const(np.float32(call.attributes["lambd"]))
    return R.multiply(R.sign(data), R.nn.relu(R.subtract(R.abs(data), bound)))


def shrunk(x: Any) -> Any:
    return np.sign(x) * np.maximum(np.abs(x) - np.float32(0.5), 0)


def result(proto: Any, *inputs: Any, **shapes: Any) -> Any:
    mod, params = qnn.from_onnx(proto, shapes or None)
    return qnn.build(mod, "host", params).run(*inputs)


def test_a_rule_gets_tensors_and_attributes() -> None:
    custom(DOMAIN, "SoftShrink")(soft_shrink)
    x = np.linspace(-2, 2, 16, dtype=np.float32).reshape(2, 8)
    # Twice: the second one's shape follows from the first one's.
    twice = f"{SHRINK} w = Neg(z) y = my.domain.SoftShrink <lambd: float = 0.5> (w)"
    np.testing.assert_array_equal(result(model(twice), x), shrunk(-shrunk(x)))


def test_attributes_are_plain() -> None:
    seen: list[CustomCall] = []

    @custom(DOMAIN, "Two")
    def two(call: CustomCall) -> Any:
        seen.append(call)
        return [call.inputs[0], R.sum(call.inputs[0], axis=list(call.attributes["axes"]))]

    body = 'y, z = my.domain.Two <axes: ints = [1], how: string = "so", names: strings = ["a"], '
    body += "by: tensor = int64[2] {1, 2}> (x, , c)"
    x = np.arange(16, dtype=np.float32).reshape(2, 8)
    proto = model(f"c = Constant <value: tensor = int64[1] {{7}}> () {body}", outputs="y, z")
    found = result(proto, x)
    np.testing.assert_array_equal(found["y"], x)
    np.testing.assert_array_equal(found["z"], x.sum(axis=1))
    for call in seen:
        by = call.attributes.pop("by")
        np.testing.assert_array_equal(by, [1, 2])
        assert call.attributes == {"axes": [1], "how": "so", "names": ["a"]}
        assert call.outputs == ("y", "z")
        assert call.inputs[1] is None
        assert call.constant(2) == [7]
        for index in (0, 1):
            fails(f"input {index} is not constant", call.constant, index)


def test_a_rule_between_quantized_operators() -> None:
    custom(DOMAIN, "SoftShrink")(soft_shrink)
    proto = model(
        "s = Constant <value: tensor = float {0.0625}> () "
        "o = Constant <value: tensor = int8 {3}> () "
        f"x = DequantizeLinear(q, s, o) {SHRINK} y = QuantizeLinear(z, s, o)",
        inputs="int8[2, 8] q",
        outputs="int8[2, 8] y",
    )
    q = np.arange(-60, 68, 8, dtype=np.int8).reshape(2, 8)
    expected = shrunk((q.astype(np.float32) - 3) / 16) * 16 + 3
    np.testing.assert_array_equal(result(proto, q), expected)


def test_a_rule_takes_an_open_size() -> None:
    custom(DOMAIN, "SoftShrink")(soft_shrink)
    mod, params = qnn.from_onnx(model(f"{SHRINK} y = Neg(z)"), {"x": (range(1, 5), 8)})
    library = qnn.build(mod, "host", params)
    for rows in (1, 3):
        x = np.linspace(-2, 2, rows * 8, dtype=np.float32).reshape(rows, 8)
        np.testing.assert_array_equal(library.run(x), -shrunk(x))


def test_without_a_rule_the_error_names_it() -> None:
    with pytest.raises(UnsupportedOperatorError, match="SoftShrink: no conversion rule"):
        qnn.from_onnx(model(SHRINK, outputs="z"))


def test_a_rule_of_too_few_results_is_an_error() -> None:
    custom(DOMAIN, "Two")(lambda call: call.inputs[0])
    with pytest.raises(QnnError, match=r"my.domain.Two.*gives 1 tensors, the file lists 2"):
        qnn.from_onnx(model("y, z = my.domain.Two(x)", outputs="y, z"))


def test_a_rule_that_gives_no_expression_is_an_error() -> None:
    custom(DOMAIN, "SoftShrink")(lambda call: np.zeros(3))
    with pytest.raises(QnnError, match=r"operator 0 my.domain.SoftShrink: .*a ndarray, no expr"):
        qnn.from_onnx(model(SHRINK, outputs="z"))


def test_what_a_rule_raises_names_the_operator() -> None:
    @custom(DOMAIN, "SoftShrink")
    def refuse(call: CustomCall) -> Any:
        raise ValueError(f"cannot take {call.attributes['lambd']}")

    with pytest.raises(UnsupportedOperatorError, match=r"operator 1 .*SoftShrink: cannot take 0.5"):
        qnn.from_onnx(model(f"x = Neg(v) {SHRINK}", inputs="float[2] v", outputs="float[2] z"))


@pytest.mark.parametrize(("domain", "name"), [("", "Relu"), ("com.microsoft", "QLinearAdd")])
def test_own_operators_keep_their_rules(domain: str, name: str) -> None:
    fails(rf"imports '{name}' of {domain or 'ai.onnx'} itself", custom, domain, name)


def test_a_function_of_the_file_goes_first() -> None:
    custom(DOMAIN, "SoftShrink")(soft_shrink)
    proto = model(SHRINK, outputs="z")
    proto.functions.append(
        onnx.parser.parse_function(
            f'<domain: "{DOMAIN}", opset_import: ["" : 19]> SoftShrink <lambd> (x) => (y) '
            "{ y = Neg (x) }"
        )
    )
    x = np.ones((2, 8), np.float32)
    np.testing.assert_array_equal(result(proto, x), -x)
