"""Parts of tensors, against PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from frontends.errors import UnsupportedOperatorError
from frontends.torch.importer import from_exported_program

torch = pytest.importorskip("torch", reason="torch is not installed")

from tests.support.torch_networks import program_of, same_as_torch  # noqa: E402

pytestmark = pytest.mark.torch

functional = torch.nn.functional

CASES: dict[str, Callable[..., Any]] = {
    "from the start": lambda x: x.select(2, 3),
    "from the end": lambda x: x.select(-1, -2),
    "narrow": lambda x: x.narrow(2, 1, 3),
    "narrow, from the end": lambda x: x.narrow(2, -3, 2),
    "narrow, the last": lambda x: x.narrow(-1, -1, 1),
    "index": lambda x: x[:, [2, 0]],
    "index from the end": lambda x: x[:, :, [-1, 0, -6]],
    "indices of two axes": lambda x: x[:, :, torch.tensor([[0], [-1]]), torch.tensor([1, -7])],
}


@pytest.mark.parametrize("name", CASES)
def test_parts(name: str) -> None:
    torch.manual_seed(0)
    same_as_torch(CASES[name], torch.randn(2, 3, 6, 7))


def test_a_mask_is_no_index() -> None:
    program = program_of(lambda _module, x, mask: x[mask], torch.ones(2, 3), torch.ones(2) > 0)
    with pytest.raises(UnsupportedOperatorError, match="must be integers"):
        from_exported_program(program)
