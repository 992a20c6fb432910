"""Signatures, each call beside LiteRT's own."""

from typing import Any

import numpy as np
import pytest
from ai_edge_litert import interpreter as litert

from tests.frontends.tflite.interface.test_signatures import two_models
from tests.support.errors import fails
from tests.tvm_qnn.litert.models import filters, scaling, two_inputs
from tests.tvm_qnn.litert.programs import made
from tests.tvm_qnn.litert.test_interpreter import BOTH, ONES, same_errors
from tvm_qnn.litert import interpreter as ours

ROW = np.arange(8, dtype=np.int8)[None]


@pytest.mark.parametrize("model", [two_models, two_inputs, filters, scaling])
def test_what_there_is(model: Any) -> None:
    expected, found = made(litert, model()), made(ours, model())
    assert found.get_signature_list() == expected.get_signature_list()
    assert list(found.get_signature_list()) == list(expected.get_signature_list())
    for key in expected.get_signature_list():
        runners = [each.get_signature_runner(key) for each in (found, expected)]
        for name in ("get_input_details", "get_output_details"):
            told = [getattr(each, name)() for each in runners]
            np.testing.assert_equal(*told)
            assert list(told[0]) == list(told[1])


@BOTH
@pytest.mark.parametrize("rows", [1, 3])
def test_another_signature_than_the_first(module: Any, rows: int) -> None:
    interpreter = made(module, two_models())
    data = np.repeat(ROW, rows, 0)
    found = interpreter.get_signature_runner("decode")(x=data)
    expected = made(litert, two_models()).get_signature_runner("decode")(x=data)
    np.testing.assert_equal(found, expected)
    np.testing.assert_array_equal(interpreter.get_tensor(1, 1), expected["y"])
    shapes = [each["shape"].tolist() for each in interpreter.get_tensor_details(1)]
    assert shapes == [[rows, 8]] * 2
    assert interpreter.get_input_details()[0]["shape"].tolist() == [4, 8]


@BOTH
def test_names_and_shapes_are_the_signature_s(module: Any) -> None:
    run = made(module, two_inputs()).get_signature_runner("second")
    found = run(q=ONES, b=2 * ONES)
    assert list(found) == ["o1", "o2"]
    assert [each[0, 0] for each in found.values()] == [1, 3]
    run = made(module, scaling()).get_signature_runner("scale")
    found = run(x=np.arange(4, dtype=np.float32), factor=np.float32(3))
    assert found["y"].tolist() == [0, 3, 6, 9]


@BOTH
def test_the_only_one_needs_no_name_and_shares_the_model_s_memory(module: Any) -> None:
    interpreter = made(module, filters())
    run = interpreter.get_signature_runner()
    assert [run(x=ONES)["y"][0, 0] for _ in range(2)] == [4, 8]
    interpreter.set_tensor(0, 3 * ONES)
    np.testing.assert_array_equal(interpreter.get_tensor(0), 3 * ONES)
    assert interpreter.get_tensor(4)[0, 0] == 8


@pytest.mark.parametrize(
    "arguments", [{}, {"z": ROW}, {"x": ROW, "z": ROW}, {"x": ROW.astype(np.float32)}]
)
def test_errors_are_litert_s(arguments: dict[str, Any]) -> None:
    same_errors(lambda m: made(m, two_models()).get_signature_runner("decode")(**arguments))


@pytest.mark.parametrize("key", [None, "", "encode"])
def test_names_that_there_are_not(key: str | None) -> None:
    same_errors(lambda module: made(module, two_models()).get_signature_runner(key))
    same_errors(lambda module: module.SignatureRunner(made(module, two_models()), key))
    same_errors(lambda module: module.SignatureRunner(None, "decode"))


def test_a_subgraph_that_there_is_not() -> None:
    interpreter = made(ours, two_models(second=2))
    fails("'decode' is of subgraph 2, there are 2", interpreter.get_signature_runner, "decode")
