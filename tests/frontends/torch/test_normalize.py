"""Separate BatchNorm, against ExecuTorch."""

from typing import Any

import numpy as np
import pytest

import tvm_qnn as qnn
from frontends.errors import UnsupportedOperatorError
from tvm_qnn.oracle import xnnpack_outputs

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("executorch", reason="executorch is not installed")

from torch import nn  # noqa: E402

from tests.support.torch_networks import program_of, quantized  # noqa: E402

pytestmark = pytest.mark.torch

RNG = np.random.default_rng(4)


def norm(*, affine: bool) -> Any:
    made = nn.BatchNorm2d(8, eps=0.01, affine=affine)
    kept: list[Any] = [
        made.running_mean,
        made.running_var,
        *([made.weight, made.bias] if affine else []),
    ]
    with torch.no_grad():
        for each in kept:
            each.copy_(torch.tensor(RNG.uniform(0.5, 2, 8)))
    return made


@pytest.mark.parametrize("affine", [True, False])
def test_statistics_are_those_that_were_kept(affine: bool) -> None:
    # Before a convolution, as in DenseNet, it is no part of it.
    program = quantized(nn.Sequential(norm(affine=affine), nn.ReLU()), (2, 8, 5, 6))
    data = RNG.normal(3, 1, (2, 8, 5, 6)).astype(np.float32)
    (wanted,) = xnnpack_outputs(program, [data])
    mod, params = qnn.from_exported_program(program)
    # ExecuTorch makes a convolution of it: one fused multiply-add.
    np.testing.assert_array_equal(qnn.build(mod, "host", params).run(data), wanted)


def test_statistics_of_the_batch_are_refused() -> None:
    def compute(_module: Any, data: Any) -> Any:
        return torch.ops.aten.batch_norm.default(
            data, None, None, None, None, True, 0.1, 0.01, False
        )

    program = program_of(compute, torch.zeros(2, 8, 5, 6))
    with pytest.raises(UnsupportedOperatorError, match="training mode"):
        qnn.from_exported_program(program)
