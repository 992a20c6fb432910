"""Functions that XNNPACK computes otherwise than PyTorch, against ExecuTorch."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tvm_qnn as qnn
from tvm_qnn.oracle import xnnpack_outputs

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("executorch", reason="executorch is not installed")

from torch import nn  # noqa: E402

from tests.support.torch_networks import program_of, quantized  # noqa: E402

pytestmark = pytest.mark.torch

functional = torch.nn.functional
DATA = torch.linspace(-6, 6, 4001).reshape(1, 4001)


def outputs(program: Any, data: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
    mod, params = qnn.from_exported_program(program)
    return [qnn.build(mod, "host", params).run(data), xnnpack_outputs(program, [data])[0]]


def test_every_bit_of_hardswish_is_the_delegates() -> None:
    program = program_of(lambda _module, x: functional.hardswish(x), DATA)
    given, wanted = outputs(program, DATA.numpy())
    np.testing.assert_array_equal(given, wanted)


def test_gelu_is_never_approximated_by_tanh() -> None:
    program = program_of(lambda _module, x: functional.gelu(x, approximate="tanh"), DATA)
    given, wanted = outputs(program, DATA.numpy())
    # Its erf is a quotient of polynomials there; tanh would differ by 5e-4.
    np.testing.assert_allclose(given, wanted, rtol=0, atol=2e-6)


@pytest.mark.parametrize("make", [nn.Hardswish, lambda: nn.GELU("tanh")])
def test_between_layers_they_are_tables(make: Callable[[], nn.Module]) -> None:
    torch.manual_seed(1)
    network = nn.Sequential(nn.Conv2d(3, 8, 3), make(), nn.Conv2d(8, 4, 1))
    program = quantized(network, (2, 3, 8, 9))
    data = np.random.default_rng(5).normal(0, 1.2, (2, 3, 8, 9)).astype(np.float32)
    given, wanted = outputs(program, data)
    np.testing.assert_array_equal(given, wanted)
    assert len(np.unique(given)) > 10


BOUNDS = {
    "relu": nn.ReLU(),
    "relu6": nn.ReLU6(),
    "narrow": nn.Hardtanh(-0.1, 0.4),
    "wide": nn.Hardtanh(-0.25, 0.5),
}


@pytest.mark.parametrize(
    "names", ["relu narrow", "wide relu", "relu6 wide", "wide narrow relu", "relu wide narrow"]
)
def test_the_last_bounds_of_several_remain(names: str) -> None:
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(13, 40), *(BOUNDS[name] for name in names.split()))
    program = quantized(network, (2, 13), dynamic=True)
    data = np.random.default_rng(0).normal(0, 1.2, (2, 13)).astype(np.float32)
    given, wanted = outputs(program, data)
    np.testing.assert_array_equal(given, wanted)
    with torch.no_grad():
        eager = network(torch.from_numpy(data)).numpy()
    assert np.abs(given - eager).max() > 0.05


def test_bounds_with_other_readers_stay() -> None:
    class Network(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.dense = nn.Linear(13, 40)

        def forward(self, x: Any) -> Any:
            first = torch.relu(self.dense(x))
            return first + functional.hardtanh(first, -0.25, 0.5)

    torch.manual_seed(0)
    program = quantized(Network(), (2, 13), dynamic=True)
    data = np.random.default_rng(0).normal(0, 1.2, (2, 13)).astype(np.float32)
    given, wanted = outputs(program, data)
    np.testing.assert_array_equal(given, wanted)
    assert given.min() == 0
