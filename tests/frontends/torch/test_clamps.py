"""Bounds of values, against PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from tests.support.torch_networks import same_as_torch  # noqa: E402

pytestmark = pytest.mark.torch

functional = torch.nn.functional

CASES: dict[str, Callable[..., Any]] = {
    "both": lambda x: x.clamp(-0.2, 0.3),
    "low": lambda x: x.clamp(min=0.1),
    "high": lambda x: x.clamp(max=0.1),
    "largest": lambda x: x.clamp_max(0.1),
    "smallest": lambda x: x.clamp_min(0.1),
    "integers": lambda x: (x * 9).to(torch.int64).clamp(max=3),
    "integers, both": lambda x: (x * 9).to(torch.int32).clamp(-2, 3),
}


@pytest.mark.parametrize("name", CASES)
def test_bounds(name: str) -> None:
    torch.manual_seed(0)
    same_as_torch(CASES[name], torch.randn(3, 4))
