"""Channels that are moved into the image, against ExecuTorch."""

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


@pytest.mark.parametrize("behind", [False, True])
def test_pixels_of_channels(behind: bool) -> None:
    layers: list[Any] = [nn.Conv2d(3, 18, 3, padding=1), nn.PixelShuffle(3)]
    if behind:
        layers.append(nn.Conv2d(2, 4, 3))
    program = quantized(nn.Sequential(*layers), (2, 3, 4, 5))
    data = np.random.default_rng(2).normal(0, 1, (2, 3, 4, 5)).astype(np.float32)
    (wanted,) = xnnpack_outputs(program, [data])
    mod, params = qnn.from_exported_program(program)
    np.testing.assert_array_equal(qnn.build(mod, "host", params).run(data), wanted)
