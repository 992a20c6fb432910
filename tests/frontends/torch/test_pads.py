"""Pads, against PyTorch, and beside integers against ExecuTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tvm_qnn as qnn
from frontends.errors import UnsupportedOperatorError
from tvm_qnn.oracle import xnnpack_outputs

torch = pytest.importorskip("torch", reason="torch is not installed")

from torch import nn  # noqa: E402

from tests.support.torch_networks import program_of, quantized, same_as_torch  # noqa: E402

pytestmark = pytest.mark.torch

functional = torch.nn.functional

CASES: dict[str, Callable[..., Any]] = {
    **{
        mode: lambda x, mode=mode: functional.pad(x, (1, 2, 3, 0), mode=mode)
        for mode in ("constant", "reflect", "replicate", "circular")
    },
    "value": lambda x: functional.pad(x, (1, 2, 3, 0), value=-2.5),
    "three axes": lambda x: functional.pad(x, (1, 0, 0, 1, 2, 1)),
    "crop": lambda x: functional.pad(x, (-1, 2, 3, -2)),
    "crop alone": lambda x: functional.pad(x, (-1, 0)),
    "nothing": lambda x: functional.pad(x, (0, 0)),
}


@pytest.mark.parametrize("name", CASES)
def test_pads(name: str) -> None:
    torch.manual_seed(0)
    same_as_torch(CASES[name], torch.randn(2, 3, 5, 6))


def test_a_mirror_that_crops_is_refused() -> None:
    program = program_of(
        lambda _module, x: torch.ops.aten.pad(x, [-1, 2, 0, 0], "reflect"), torch.ones(2, 3, 5, 6)
    )
    with pytest.raises(UnsupportedOperatorError, match="'reflect' cannot crop"):
        qnn.from_exported_program(program)


class Padded(nn.Module):
    """A pad between two convolutions, or before one."""

    def __init__(self, *, mode: str = "constant", value: float = 0, first: bool = False) -> None:
        super().__init__()
        self.first = nn.Identity() if first else nn.Sequential(nn.Conv2d(3, 3, 3), nn.ReLU())
        self.last, self.mode, self.value = nn.Conv2d(3, 4, 3), mode, value

    def forward(self, image: Any) -> Any:
        data = self.first(image)
        return self.last(functional.pad(data, (1, 0, 2, 1), mode=self.mode, value=self.value))


NETWORKS: dict[str, Callable[[], nn.Module]] = {
    "zeros": Padded,
    "zeros first": lambda: Padded(first=True),
    "value": lambda: Padded(value=0.25),
    "mirror": lambda: Padded(mode="reflect"),
    "mirror first": lambda: Padded(mode="reflect", first=True),
    "padding of a convolution": lambda: nn.Conv2d(3, 4, 3, padding=1, padding_mode="replicate"),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_pads_are_of_integers(name: str) -> None:
    torch.manual_seed(2)
    program = quantized(NETWORKS[name](), (2, 3, 8, 9))
    data = np.random.default_rng(2).normal(0, 1.2, (2, 3, 8, 9)).astype(np.float32)
    mod, params = qnn.from_exported_program(program)
    given = qnn.build(mod, "host", params).run(data)
    np.testing.assert_array_equal(given, xnnpack_outputs(program, [data])[0])
    assert len(np.unique(given)) > 10
