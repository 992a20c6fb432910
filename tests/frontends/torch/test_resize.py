"""Images resized, as the delegate and PyTorch resize them."""

from typing import Any

import pytest

from frontends.errors import UnsupportedOperatorError
from frontends.torch.importer import from_exported_program

torch = pytest.importorskip("torch", reason="torch is not installed")

from tests.support.torch_networks import program_of, same_as_torch  # noqa: E402

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


@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_pixels_of_bilinear(size: dict[str, Any], aligned: bool) -> None:
    torch.manual_seed(0)
    data = torch.randn(2, 4, 9, 10)
    same_as_torch(
        lambda x: functional.interpolate(x, mode="bilinear", align_corners=aligned, **size),
        data,
        atol=1e-5,  # the weights are rounded in other places
    )


def test_four_by_four_pixels_need_whole_sizes() -> None:
    program = program_of(
        lambda _module, x: functional.interpolate(x, scale_factor=1.5, mode="bicubic"),
        torch.ones(2, 4, 9, 10),
    )
    with pytest.raises(UnsupportedOperatorError, match="gives no whole sizes"):
        from_exported_program(program)
