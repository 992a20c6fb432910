"""Functions that XNNPACK computes otherwise than PyTorch, and BatchNorm, against ExecuTorch."""

from collections.abc import Callable
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

functional = torch.nn.functional
RNG = np.random.default_rng(4)
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
