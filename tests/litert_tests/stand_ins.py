"""What LiteRT's tests take of TensorFlow, as far as they need it."""

import os
import unittest
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import numpy as np

FOLDER = "TVM_QNN_LITERT_TESTS"
"""The environment's name for the folder that has the models."""


class _Missing:
    """A module without which a test is skipped."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise unittest.SkipTest(f"needs {self._name}")


class TensorFlowTestCase(unittest.TestCase):
    """A test with the comparisons that TensorFlow adds."""

    def assertAllEqual(self, one: Any, other: Any) -> None:
        """Check that values are the same, element by element."""
        np.testing.assert_equal(one, other)

    def assertLen(self, values: Any, count: int) -> None:
        """Check how many values there are."""
        assert len(values) == count


class _Metrics:
    def increase_counter_interpreter_creation(self) -> None:
        """Count an interpreter."""


def _path(name: str) -> str:
    return str(Path(os.environ[FOLDER], "python", name).resolve())


def _registerer(_resolver: Any) -> None:
    """Register an operator."""


tf, lite = _Missing("TensorFlow"), _Missing("TensorFlow's converter")
metrics = SimpleNamespace(TFLiteMetrics=_Metrics)
test_registerer = SimpleNamespace(
    TF_TestRegisterer=_registerer, get_num_test_registerer_calls=lambda: 0
)
test_util = SimpleNamespace(TensorFlowTestCase=TensorFlowTestCase)
resource_loader = SimpleNamespace(get_path_to_datafile=_path)
test = SimpleNamespace(main=unittest.main)
