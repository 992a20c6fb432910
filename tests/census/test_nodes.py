"""`python -m tests.census.nodes`."""

from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from tests.support.commands import said
from tests.support.errors import giving

pytest.importorskip("onnx", reason="onnx is not installed")
pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

from tests.census import nodes


def test_tests_are_counted_by_what_becomes_of_them() -> None:
    assert "| equal | 1 |" in said(nodes.main, ["--only", "test_nonzero", "--names"])


@pytest.mark.parametrize(
    ("only", "line"),
    [
        ("test_tile", "| equal | 2 |"),  # inputs are axes
        ("test_bitcast_bool_to_uint8", "| equal | 1 |"),
        ("test_attention_4d_causal_fp16", "| close | 2 |"),
        ("test_attention_local_window_with_past_expanded", "| close | 1 |"),
    ],
)
def test_what_onnx_runtime_runs_is_run(only: str, line: str) -> None:
    result = CliRunner().invoke(nodes.main, ["--only", only, "--names"])
    assert line in result.output


def reals(*values: float) -> Any:
    return np.array(values, np.float32)


test_steps_are_of_the_largest_number = giving(
    nodes._apart,
    (reals(1, 2), reals(1, 2), 0),
    (reals(1, 2 - 2**-23), reals(1, 2), 0.5),
    (reals(np.inf, np.nan), reals(np.inf, np.nan), 0),
    (reals(0, np.nan), reals(np.nan, 0), np.inf),
    (np.array([3], np.int8), np.array([5], np.int8), 2),
    (np.array([3], np.int8), np.array([3], np.uint8), np.inf),
    (np.zeros((0, 2)), np.zeros((0, 2)), 0),
)
