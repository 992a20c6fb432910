"""Variables that the signatures of a file share."""

from typing import Any

import numpy as np
import pytest

from tests.support.errors import fails
from tests.tvm_qnn.litert.models import counter
from tests.tvm_qnn.litert.programs import made
from tests.tvm_qnn.litert.test_interpreter import BOTH, ONES
from tvm_qnn.litert import interpreter as ours


@BOTH
def test_one_signature_changes_what_another_one_reads(module: Any) -> None:
    interpreter = made(module, counter())
    runners = {key: interpreter.get_signature_runner(key) for key in ("add", "subtract")}
    order = ("add", "add", "subtract", "add", "subtract", "subtract")
    assert [runners[key](x=ONES)["y"][0, 0] for key in order] == [11, 12, 11, 12, 11, 10]
    again = made(module, counter()).get_signature_runner("subtract")
    assert again(x=ONES)["y"][0, 0] == 9


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (counter(firsts=(10, 20)), "'count' has other first values in subgraph 0 than in subgraph"),
        (counter(shapes=(4, 6)), r"'count' is float32 of shape \(1, 4\) in subgraph 0, and"),
    ],
)
def test_variables_that_are_not_the_same_are_refused(model: bytes, message: str) -> None:
    interpreter = made(ours, model)
    assert interpreter.get_signature_runner("add")(x=ONES)["y"][0, 0] == 11
    run = interpreter.get_signature_runner("subtract")
    shape = run.get_input_details()["x"]["shape"]
    fails(message, run, x=np.ones(shape, np.float32))
