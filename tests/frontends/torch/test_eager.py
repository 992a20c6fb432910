import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from tvm_qnn import relay
from tvm_qnn.relay import tvm

torch = pytest.importorskip("torch", reason="torch is not installed")

from torch import Tensor, nn  # noqa: E402

from tests.support.errors import failing  # noqa: E402

pytestmark = pytest.mark.torch


@pytest.fixture(autouse=True)
def seeded() -> Iterator[None]:
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's own, of eager quantization and TorchScript
        yield


class _Sum(nn.Module):
    """Two layers, their sum, a concatenation, poolings and a dense layer."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(inplace=True))
        self.second = nn.Sequential(
            nn.Conv2d(16, 16, 3, padding=1, groups=16), nn.Conv2d(16, 16, 1)
        )
        self.sum, self.join = (torch.ao.nn.quantized.FloatFunctional() for _ in range(2))
        self.pool, self.dense = nn.MaxPool2d(2), nn.Linear(16, 10)

    def forward(self, x: Any) -> Any:
        x = self.first(x)
        x = self.pool(self.sum.add(x, self.second(x)))
        x = self.join.cat([x, x], 1)[:, 8:24]
        return self.dense(nn.functional.adaptive_avg_pool2d(x, 1).flatten(1))


class _Excite(nn.Module):
    """Channels times what two dense layers make of their averages."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(16, 4), nn.ReLU(), nn.Linear(4, 16), nn.Hardsigmoid())
        self.product = torch.ao.nn.quantized.FloatFunctional()

    def forward(self, x: Any) -> Any:
        batch, channels, _, _ = x.size()
        y = nn.functional.adaptive_avg_pool2d(x, 1).view(batch, channels)
        y = self.layers(y).view(batch, channels, 1, 1)
        return self.product.mul_scalar(self.product.mul(x, y.expand_as(x)), -0.3)


class _Resize(nn.Module):
    """An image of twice the size, by neighbours and then by weights."""

    def forward(self, x: Any) -> Any:
        x = nn.functional.interpolate(x, scale_factor=2)
        return nn.functional.interpolate(x, scale_factor=2, mode="bilinear", align_corners=True)


def _quantized(network: Any, shape: tuple[int, ...], *, per_tensor: bool = False) -> Any:
    """Return a network quantized in eager mode for data of a shape."""
    ao = torch.ao.quantization
    wrapped = ao.QuantWrapper(network).eval()
    act = ao.MovingAverageMinMaxObserver.with_args(reduce_range=False)
    one_scale = ao.QConfig(activation=act, weight=ao.default_weight_observer)
    wrapped.qconfig = one_scale if per_tensor else ao.get_default_qconfig("fbgemm")
    ao.prepare(wrapped, inplace=True)
    for _ in range(3):
        wrapped(torch.randn(shape))
    return ao.convert(wrapped, inplace=True)


def _different(model: Any, expected: Any, shape: tuple[int, ...], runs: int = 10) -> int:
    """Count the values in which an imported model differs from PyTorch's."""
    mod, params = relay.frontend.from_pytorch(model, [("x", shape)])
    executor = relay.graph_executor.GraphModule(
        relay.build(mod, "llvm", params=params)["default"](tvm.cpu())
    )
    count = 0
    for _ in range(runs):
        data = torch.randn(shape) * 1.2
        executor.run(x=data.numpy())
        wanted = expected(data).detach().numpy()
        count += int((np.abs(executor.get_output(0).numpy() - wanted) > 1e-6).sum())
    return count


IMAGE = (1, 3, 16, 16)


@pytest.mark.parametrize(
    ("make", "shape", "per_tensor"),
    [
        (_Sum, IMAGE, False),
        (_Excite, (1, 16, 8, 8), True),
        (_Resize, (1, 3, 8, 8), True),
        (lambda: nn.Sequential(nn.Conv2d(3, 8, 3), nn.AvgPool2d(3, 2, 1)), IMAGE, False),
        (lambda: nn.AvgPool2d(2), (1, 1, 16, 16), True),
        (lambda: nn.AvgPool2d(2), IMAGE, True),
        (lambda: nn.Sequential(nn.Hardswish(), nn.Sigmoid()), IMAGE, True),
        (lambda: nn.Sequential(nn.ReLU6(), nn.Flatten()), IMAGE, True),
        (lambda: nn.LeakyReLU(0.1), IMAGE, True),
    ],
)
def test_integers_are_those_of_pytorch(
    make: Callable[[], Any], shape: tuple[int, ...], per_tensor: bool
) -> None:
    network = _quantized(make(), shape, per_tensor=per_tensor)
    script = torch.jit.trace(network, torch.randn(shape)).eval()
    assert _different(script, network, shape) == 0


# Without a padding of its output, it is wrong in torch 2.13, where oneDNN computes it.
def test_integers_of_a_transposed_convolution_are_those_of_pytorch() -> None:
    shape = (1, 3, 9, 9)
    layer = nn.ConvTranspose2d(3, 8, 3, 2, 1, output_padding=1)
    network = _quantized(layer, shape, per_tensor=True)
    assert _different(network, network, shape) == 0


def test_a_module_of_eager_mode_needs_no_trace() -> None:
    network = _quantized(_Sum(), IMAGE)
    assert _different(network, network, IMAGE, runs=2) == 0


def test_torchscript_of_floats() -> None:
    layers = [nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(inplace=True), nn.Flatten()]
    network = nn.Sequential(*layers, nn.Linear(8 * 14 * 14, 5), nn.Softmax(1)).eval()
    script = torch.jit.trace(network, torch.zeros(IMAGE))
    assert _different(script, network, IMAGE, runs=2) == 0


class _Part(nn.Module):
    """Writes to a part of its data."""

    def forward(self, x: Tensor) -> Tensor:
        y = x + 1
        y[:, :1].relu_()
        return y


class _Read(nn.Module):
    """Multiplies by a number that it reads from its data."""

    def forward(self, x: Tensor) -> Tensor:
        return x * float(x.sum())


test_what_is_not_imported_is_named = failing(
    lambda make: relay.frontend.from_pytorch(make(), [("x", (1, 3, 16))]),
    (lambda: torch.jit.script(_Part()), "relu_ writes to a part of a tensor"),
    (lambda: torch.jit.script(_Read()), "a number of the program is read from a tensor"),
    (lambda: _quantized(nn.Conv1d(3, 4, 3), (1, 3, 16)), "quantized::conv1d is not imported"),
)
