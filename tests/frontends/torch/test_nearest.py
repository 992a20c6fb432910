"""Images resized by the nearest pixels, against PyTorch."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from tests.support.torch_networks import same_as_torch  # noqa: E402

pytestmark = pytest.mark.torch

functional = torch.nn.functional

SIZES: list[dict[str, Any]] = [
    *({"scale_factor": factor} for factor in (2, 1.5, 0.5, 0.3, 2.3, (2, 3))),
    *({"size": size} for size in ((13, 7), (5, 23), (18, 30))),
]


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_pixels(size: dict[str, Any]) -> None:
    torch.manual_seed(0)
    same_as_torch(lambda x: functional.interpolate(x, **size), torch.randn(2, 4, 9, 10))
