"""The largest and smallest values along axes, against PyTorch."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from tests.support.torch_networks import same_as_torch  # noqa: E402

pytestmark = pytest.mark.torch

functional = torch.nn.functional


@pytest.mark.parametrize("keeps", [True, False])
@pytest.mark.parametrize("axes", [(), (1,), (-1, 0)])
@pytest.mark.parametrize("name", ["amax", "amin"])
def test_extremes(name: str, axes: tuple[int, ...], keeps: bool) -> None:
    torch.manual_seed(0)
    reduce = getattr(torch, name)
    same_as_torch(lambda x: reduce(x, dim=axes, keepdim=keeps), torch.randn(2, 3, 6))
