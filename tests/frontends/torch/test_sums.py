"""Sums and differences whose second operand is multiplied, against PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from tests.support.torch_networks import same_as_torch  # noqa: E402

pytestmark = pytest.mark.torch

functional = torch.nn.functional

CASES: dict[str, Callable[..., Any]] = {
    "sum": lambda x, y: torch.add(x, y, alpha=2),
    "difference": lambda x, y: torch.sub(x, y, alpha=0.5),
    "in place": lambda x, y: (x * 1).add_(y, alpha=-1),
    "difference in place": lambda x, y: (x * 1).sub_(y),
    "of a number": lambda x, _: torch.add(x, 3, alpha=2),
    "from a number": lambda x, _: 2 - x,
    "from a number, scaled": lambda x, _: torch.rsub(x, 2, alpha=3),
    "the other way": lambda x, y: torch.rsub(x, y, alpha=3),
    "of integers": lambda x, y: torch.add(
        (x * 9).to(torch.int32), (y * 9).to(torch.int32), alpha=3
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_sums(name: str) -> None:
    torch.manual_seed(0)
    same_as_torch(CASES[name], torch.randn(3, 4), torch.randn(3, 4))
