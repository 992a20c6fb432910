"""Dense layers whose data is quantized when they run, against ExecuTorch's delegate to XNNPACK."""

import warnings
from typing import Any

import numpy as np
import pytest

import tvm_qnn as qnn
from frontends.errors import UnsupportedOperatorError
from qnn_ops.arrays import Array
from tvm_qnn.oracle import xnnpack_outputs

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("executorch", reason="executorch is not installed")

from torch import nn  # noqa: E402

from tests.support.torch_networks import BYTES, QUANTIZED, program_of, quantized  # noqa: E402

pytestmark = pytest.mark.torch


def rows(count: int, depth: int) -> Array:
    """Return rows of few steps, so that ties abound, of normal numbers, and odd ones."""
    rng = np.random.default_rng(1)
    found = rng.integers(-20, 21, (count, depth)) * 2.0 ** rng.integers(-9, 4, (count, 1))
    found[: count // 2] = rng.normal(0, 1, (count // 2, depth))
    found[0], found[1], found[2] = 0, np.abs(found[1]), -np.abs(found[2])
    found[3], found[4], found[5] = found[3] * 1e-30, found[4] * 1e30, 1e-40
    return found.astype(np.float32)


class Shared(nn.Module):
    """Layers that share their data, and a layer after them."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.other = nn.Linear(16, 24), nn.Linear(16, 24, bias=False)
        self.last = nn.Linear(24, 5)

    def forward(self, data: Any) -> Any:
        return self.last(torch.relu(self.one(data)) + self.other(data))


CASES = {
    "rows": (nn.Linear(16, 7), rows(300, 16)),
    "no bias": (nn.Linear(16, 7, bias=False), rows(300, 16)),
    "long": (nn.Linear(300, 70), rows(100, 300)),
    "sequences": (nn.Linear(16, 7), rows(300, 16).reshape(2, 3, 50, 16)),
    "one row": (nn.Linear(16, 7), rows(10, 16)[9]),
    "shared": (Shared(), rows(300, 16)),
}


@pytest.mark.parametrize("kernels", [True, False])
@pytest.mark.parametrize("name", CASES)
def test_every_bit_is_the_delegates(name: str, kernels: bool) -> None:
    network, data = CASES[name]
    program = quantized(network, data.shape, dynamic=True)
    (wanted,) = xnnpack_outputs(program, [data])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mod, params = qnn.from_exported_program(program)
        library = qnn.build(mod, "host", params, kernels=kernels)
    np.testing.assert_array_equal(library.run(data), wanted)


def test_weights_of_one_scale_are_refused() -> None:
    # The delegate has no such layer.
    program = quantized(nn.Linear(16, 7), (3, 16), dynamic=True, per_channel=False)
    with pytest.raises(UnsupportedOperatorError, match="one scale for each unit"):
        qnn.from_exported_program(program)


def test_data_of_convolutions_are_refused() -> None:
    program = quantized(nn.Conv2d(3, 4, 3), (1, 3, 8, 8), dynamic=True)
    with pytest.raises(UnsupportedOperatorError, match="imported for dense layers"):
        qnn.from_exported_program(program)


@pytest.mark.parametrize("part", ["scale", "bytes", "real", "other data"])
def test_what_else_reads_what_a_layer_quantizes_is_refused(part: str) -> None:
    # The graph has one scale for all data, and the delegate one for each row.
    def compute(_module: Any, data: Any) -> Any:
        scale, point = QUANTIZED.choose_qparams(data, -128, 127, 1e-6, torch.int8)
        given = data + 1 if part == "other data" else data
        quantized_data = QUANTIZED.quantize_per_tensor(given, scale, point, *BYTES)
        real = QUANTIZED.dequantize_per_tensor(quantized_data, scale, point, *BYTES)
        return {"scale": scale, "bytes": quantized_data}.get(part, real)

    with pytest.raises(UnsupportedOperatorError, match="run time"):
        qnn.from_exported_program(program_of(compute, torch.ones(3, 4)))


def test_scales_that_are_inputs_are_refused() -> None:
    def compute(_module: Any, data: Any, scale: Any, point: Any) -> Any:
        return QUANTIZED.quantize_per_tensor(data, scale, point, *BYTES)

    given = (
        torch.ones(3, 4),
        torch.ones((), dtype=torch.float64),
        torch.zeros((), dtype=torch.int64),
    )
    with pytest.raises(UnsupportedOperatorError, match="must be those of the data"):
        qnn.from_exported_program(program_of(compute, *given))
