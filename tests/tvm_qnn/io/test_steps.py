import logging

import pytest

from tests.support.modules import adder
from tvm_qnn import build
from tvm_qnn.io.steps import compile_step, heard, step


def test_a_step_is_heard_in_the_block_alone(caplog: pytest.LogCaptureFixture) -> None:
    step("think")
    assert not caplog.records
    with heard(lambda text: None):
        pass
    step("think")
    assert not caplog.records
    texts: list[str] = []
    with heard(texts.append):
        step("50 % of it")
        compile_step(1)
        compile_step(2)
    step("rest")
    assert texts == ["50 % of it", "compile 1 function", "compile 2 functions"]


def test_logging_shows_the_steps_of_a_build(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "tvm_qnn"):
        build(adder(), "host")
    found = [(record.name, record.getMessage()) for record in caplog.records]
    assert found == [
        ("tvm_qnn.steps", "lower the operators"),
        ("tvm_qnn.steps", "compile 1 function"),
    ]
