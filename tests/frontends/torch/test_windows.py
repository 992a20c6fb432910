"""Convolutions of rows, transposed ones, and padding that has a name, against XNNPACK."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tvm_qnn as qnn
from qnn_ops import quantized_conv2d
from qnn_ops.dialect.registry import operator_of
from tvm_qnn.oracle import xnnpack_outputs

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("executorch", reason="executorch is not installed")

from torch import nn  # noqa: E402

from legalize.passes.fold_qdq import FoldQdq  # noqa: E402
from tests.support.torch_networks import quantized  # noqa: E402

pytestmark = pytest.mark.torch

Case = tuple[Callable[[], Any], tuple[int, ...]]

CASES: dict[str, Case] = {
    "row": (lambda: nn.Conv1d(8, 16, 5, stride=2, padding=2), (2, 8, 21)),
    "depthwise row": (lambda: nn.Conv1d(8, 8, 3, padding=2, dilation=2, groups=8), (1, 8, 20)),
    "row, same": (lambda: nn.Conv1d(8, 4, 3, padding="same"), (1, 8, 9)),
    "same": (lambda: nn.Conv2d(8, 4, 3, padding="same"), (1, 8, 9, 9)),
    "valid": (lambda: nn.Conv2d(8, 4, 3, padding="valid"), (1, 8, 9, 9)),
    "transposed": (lambda: nn.ConvTranspose2d(8, 6, 2, 2), (2, 8, 7, 9)),
    "transposed, larger": (lambda: nn.ConvTranspose2d(8, 6, 3, 2, 1, 1), (1, 8, 7, 9)),
    "transposed, no bias": (lambda: nn.ConvTranspose2d(8, 6, 4, 2, 1, bias=False), (1, 8, 7, 9)),
}


def products(mod: Any) -> int:
    return sum(
        operator_of(binding.value) is quantized_conv2d
        for block in FoldQdq()(mod)["main"].body.blocks
        for binding in block.bindings
    )


@pytest.mark.parametrize("per_channel", [True, False])
@pytest.mark.parametrize("has_relu", [True, False])
@pytest.mark.parametrize("name", CASES)
def test_layers_are_xnnpack_s(name: str, has_relu: bool, per_channel: bool) -> None:
    make, shape = CASES[name]
    torch.manual_seed(1)
    layers = [make(), nn.ReLU()] if has_relu else [make()]
    program = quantized(nn.Sequential(*layers), shape, per_channel=per_channel)
    data = np.random.default_rng(5).normal(0, 1.3, shape).astype(np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mod, params = qnn.from_exported_program(program)
        given = qnn.build(mod, "host", params).run(data)
    assert products(mod) == 1
    np.testing.assert_array_equal(given, xnnpack_outputs(program, [data])[0])
    assert len(np.unique(given)) > 10


@pytest.mark.parametrize("name", ["same, an even window", "grouped and transposed"])
def test_what_xnnpack_computes_otherwise(name: str) -> None:
    others: dict[str, Callable[[], Any]] = {
        "same, an even window": lambda: nn.Conv2d(8, 4, (3, 2), padding="same", dilation=(2, 1)),
        "grouped and transposed": lambda: nn.ConvTranspose2d(8, 8, 3, 1, 1, groups=2),
    }
    torch.manual_seed(1)
    program = quantized(nn.Sequential(others[name]()), (1, 8, 9, 9))
    data = np.random.default_rng(5).normal(0, 1.3, (1, 8, 9, 9)).astype(np.float32)
    mod, params = qnn.from_exported_program(program)
    given, wanted = qnn.build(mod, "host", params).run(data), xnnpack_outputs(program, [data])[0]
    # Transposed ones of groups stay in float, whose sums have another order.
    np.testing.assert_allclose(given, wanted, rtol=0, atol=1e-6 * np.abs(wanted).max())
