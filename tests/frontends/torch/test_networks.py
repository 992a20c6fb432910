"""Small networks of operators beside quantized layers, against ExecuTorch, bit for bit.

Each ends in a layer whose bytes depend on what is before it, in float32 or in integers.
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tvm_qnn as qnn
from tvm_qnn.oracle import xnnpack_outputs

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("executorch", reason="executorch is not installed")

from torch import nn  # noqa: E402

from tests.support.torch_networks import quantized  # noqa: E402

pytestmark = pytest.mark.torch

functional = torch.nn.functional

IMAGE = (2, 8, 9, 10)
ROWS = (2, 7, 16)


class Between(nn.Module):
    """Two layers, a function of their results, and a layer after it."""

    def __init__(self, function: Callable[..., Any], *, channels: int = 8, rank: int = 4) -> None:
        super().__init__()
        self.function = function
        layers: list[Any] = (
            [*(nn.Conv2d(8, 8, 3, padding=1) for _ in range(2)), nn.Conv2d(channels, 4, 1)]
            if rank == len(IMAGE)
            else [*(nn.Linear(16, 16) for _ in range(2)), nn.Linear(channels, 4)]
        )
        self.first, self.second, self.last = layers

    def forward(self, data: Any) -> Any:
        return self.last(self.function(self.first(data), self.second(data)))


def shuffled(data: Any) -> Any:
    count, channels, *sizes = data.shape
    return data.reshape(count, 2, channels // 2, *sizes).transpose(1, 2).reshape(data.shape)


def gated(left: Any, right: Any) -> Any:
    return left * functional.hardsigmoid(functional.adaptive_avg_pool2d(right, 1))


# Functions of two tensors, and the channels of their results.
IMAGES: dict[str, tuple[Callable[..., Any], int]] = {
    "difference": (lambda x, y: x - y, 8),
    "difference, relu": (lambda x, y: torch.relu(x - y), 8),
    "sum, hardtanh": (lambda x, y: functional.hardtanh(x + y, -0.5, 0.6), 8),
    "sum of a row": (lambda x, y: x + y[:, :, :1], 8),
    "scaled sum": (lambda x, y: torch.add(x, y, alpha=2), 8),
    "quotient": (lambda x, y: x / (y.abs() + 1), 8),
    "number": (lambda x, y: x * 0.5 + 0.25 - y, 8),
    "gate": (gated, 8),
    "largest": (lambda x, y: torch.maximum(x, y), 8),
    "hardswish": (lambda x, _: functional.hardswish(x), 8),
    "sigmoid": (lambda x, y: torch.sigmoid(x) * torch.tanh(y), 8),
    "elu": (lambda x, y: functional.elu(x) + functional.leaky_relu(y, 0.2), 8),
    "join": (lambda x, y: torch.cat([x, y, x + y], 1), 24),
    "halves": (lambda x, y: torch.cat([*x.chunk(2, 1), y], 1), 16),
    "parts": (lambda x, y: x[:, 2:6] + y[:, ::2], 4),
    "shuffle": (lambda x, y: shuffled(torch.cat([x, y], 1)), 16),
    "pad": (lambda x, y: functional.pad(x, (1, 1, 2, 0)) + functional.pad(y, (0, 2, 1, 1)), 8),
    "twice as large": (lambda x, y: functional.interpolate(x + y, scale_factor=2), 8),
    "any size": (lambda x, y: functional.interpolate(x + y, size=(13, 7)), 8),
    "maxima": (lambda x, y: functional.max_pool2d(x + y, 3, 2, 1, ceil_mode=True), 8),
    "averages": (lambda x, y: functional.avg_pool2d(x + y, 2, ceil_mode=True), 8),
    "normalized": (lambda x, y: functional.group_norm(x, 2, torch.ones(8), torch.ones(8)) + y, 8),
}

TOKENS: dict[str, tuple[Callable[..., Any], int]] = {
    "attention": (lambda x, y: torch.softmax(x @ y.transpose(1, 2) / 4, -1) @ x, 16),
    "gelu": (lambda x, y: functional.gelu(x) + y, 16),
    "mean": (lambda x, y: x.mean(1) + y.amax(1), 16),
    "layer norm": (lambda x, y: functional.layer_norm(x + y, (16,)), 16),
}

CASES = {
    **{name: (*case, IMAGE) for name, case in IMAGES.items()},
    **{name: (*case, ROWS) for name, case in TOKENS.items()},
}


@pytest.mark.parametrize("name", CASES)
def test_bytes_are_the_delegates(name: str) -> None:
    function, channels, shape = CASES[name]
    torch.manual_seed(7)
    program = quantized(Between(function, channels=channels, rank=len(shape)), shape)
    data = np.random.default_rng(8).normal(0, 1.2, shape).astype(np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some operators are float32 there, too
        mod, params = qnn.from_exported_program(program)
        given = qnn.build(mod, "host", params).run(data)
    np.testing.assert_array_equal(given, xnnpack_outputs(program, [data])[0])
    assert len(np.unique(given)) > 4
