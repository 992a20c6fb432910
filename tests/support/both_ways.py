"""Checks of many operators by their numpy references, and of a few that are compiled."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.tflite import Sheet

Check = Callable[[Sheet], Any]

both_ways = pytest.mark.parametrize(
    ("check", "count"), [(Sheet.check_reference, 30), (Sheet.check, 2)], ids=["numpy", "compiled"]
)
