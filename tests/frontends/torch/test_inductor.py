"""Programs of X86InductorQuantizer, against oneDNN's own operators, which Inductor calls."""

import warnings
from typing import Any

import numpy as np
import pytest

import tvm_qnn as qnn
from frontends.errors import UnsupportedOperatorError
from qnn_ops.arrays import Array

torch = pytest.importorskip("torch", reason="torch is not installed")

from torch import nn  # noqa: E402

from tests.support.torch_networks import QUANTIZED, program_of  # noqa: E402

pytestmark = pytest.mark.torch

F = np.float32
functional = torch.nn.functional
BYTES = (0, 255, torch.uint8)
WEIGHTS = (-128, 127, torch.int8)

POSTS = {
    "none": (lambda x: x, "none", []),
    "relu": (torch.relu, "relu", []),
    "relu6": (functional.relu6, "hardtanh", [0, 6]),
}


def run(program: Any, *arrays: Array, kernels: bool = True) -> list[Array]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mod, params = qnn.from_exported_program(program)
        results = qnn.build(mod, "host", params, kernels=kernels).run(*arrays)
    return list(results.values()) if isinstance(results, dict) else [results]


def dq(data: Any, scale: float, point: int) -> Any:
    return QUANTIZED.dequantize_per_tensor(data, scale, point, *BYTES)


def q(data: Any, scale: float, point: int) -> Any:
    return QUANTIZED.quantize_per_tensor(data, scale, point, *BYTES)


def close(given: Array, wanted: Array) -> None:
    """Compare real numbers: some of oneDNN's kernels multiply with the scales one by one."""
    np.testing.assert_allclose(given, wanted, rtol=0, atol=float(np.abs(wanted).max()) * 2**-21)


CONVS = {
    # size of the data, channels of the result, window, stride, padding, dilation, groups
    "3x3": ((2, 8, 9, 9), 16, 3, 1, 1, 1, 1),
    "1x1": ((1, 32, 7, 7), 20, 1, 1, 0, 1, 1),
    "strided": ((1, 3, 12, 12), 8, 5, 2, 2, 1, 1),
    "dilated": ((1, 16, 9, 9), 8, 3, 1, 2, 2, 1),
    "grouped": ((1, 32, 6, 6), 32, 3, 1, 1, 1, 2),
    "depthwise": ((1, 16, 9, 9), 16, 3, 1, 1, 1, 16),
}


@pytest.mark.parametrize("ties", [True, False])
@pytest.mark.parametrize("post", POSTS)
@pytest.mark.parametrize(
    ("name", "kernels"), [*((name, True) for name in CONVS), ("3x3", False), ("depthwise", False)]
)
def test_convolutions_are_onednn_s(name: str, post: str, ties: bool, kernels: bool) -> None:
    shape, units, size, stride, padding, dilation, groups = CONVS[name]
    function, op, arguments = POSTS[post]
    rng = np.random.default_rng(int(ties))
    data = rng.integers(0, 256, shape).astype(np.uint8)
    weights = rng.integers(-128, 128, (units, shape[1] // groups, size, size)).astype(np.int8)
    # Scales that are powers of two make many ties.
    scale, point = (2.0**-6, 113) if ties else (float(F(0.0371)), 90)
    scales = 2.0 ** -rng.integers(6, 11, units) if ties else rng.uniform(1e-3, 1e-2, units)
    bias = torch.tensor((rng.integers(-200, 200, units) / 64).astype(F))
    output, zero = (2.0**-3, 7) if ties else (float(F(0.173)), 101)
    kernel, steps = torch.tensor(weights), torch.tensor(scales.astype(F))
    zeros = torch.zeros(units, dtype=torch.int64)
    place = ([stride] * 2, [padding] * 2, [dilation] * 2, groups)

    def conv(_module: Any, x: Any) -> Any:
        real = QUANTIZED.dequantize_per_channel(
            _module.kernel, _module.steps, _module.zeros, 0, *WEIGHTS
        )
        x = dq(x, scale, point)
        return function(functional.conv2d(x, real, _module.bias, *place))

    buffers = {"kernel": kernel, "steps": steps, "zeros": zeros, "bias": bias}
    packed = torch.ops.onednn.qconv_prepack(kernel, steps, scale, point, *place, list(shape))

    def wanted(dtype: Any, scale_: float, zero_: int) -> Array:
        held = (packed, steps, zeros.to(torch.int8), bias, *place)
        result = torch.ops.onednn.qconv_pointwise(
            *(example, scale, point, *held), *(scale_, zero_, dtype, op, arguments, "")
        )
        return np.asarray(result.numpy())

    example = torch.tensor(data)
    program = program_of(lambda m, x: q(conv(m, x), output, zero), example, **buffers)
    (given,) = run(program, data, kernels=kernels)
    np.testing.assert_array_equal(given, wanted(torch.uint8, output, zero))
    assert len(np.unique(given)) > 10
    (real,) = run(program_of(conv, example, **buffers), data, kernels=kernels)
    close(real, wanted(torch.float32, 1.0, 0))


@pytest.mark.parametrize("ties", [True, False])
@pytest.mark.parametrize("rows", [1, 5, 33])
@pytest.mark.parametrize("post", ["none", "relu"])
def test_dense_layers_are_onednn_s(rows: int, post: str, ties: bool) -> None:
    function, op, _ = POSTS[post]
    rng = np.random.default_rng(int(ties))
    data = rng.integers(0, 256, (rows, 64)).astype(np.uint8)
    kernel = torch.tensor(rng.integers(-128, 128, (40, 64)).astype(np.int8))
    scale, point = (2.0**-6, 13) if ties else (float(F(0.0371)), 90)
    scales = 2.0 ** -rng.integers(6, 11, 40) if ties else rng.uniform(1e-3, 1e-2, 40)
    steps, zeros = torch.tensor(scales.astype(F)), torch.zeros(40, dtype=torch.int64)
    bias = torch.tensor((rng.integers(-200, 200, 40) / 64).astype(F))
    output, zero = (2.0**-2, 70) if ties else (float(F(0.5)), 101)

    def dense(module: Any, x: Any) -> Any:
        real = QUANTIZED.dequantize_per_channel(
            module.kernel, module.steps, module.zeros, 0, *WEIGHTS
        )
        x = dq(x, scale, point)
        return q(function(functional.linear(x, real, module.bias)), output, zero)

    buffers = {"kernel": kernel, "steps": steps, "zeros": zeros, "bias": bias}
    packed = torch.ops.onednn.qlinear_prepack(kernel, list(data.shape))
    held = (packed, steps, zeros.to(torch.int8), bias)
    wanted = torch.ops.onednn.qlinear_pointwise(
        *(torch.tensor(data), scale, point, *held), *(output, zero, torch.uint8, op, [], "")
    )
    (given,) = run(program_of(dense, torch.tensor(data), **buffers), data)
    np.testing.assert_array_equal(given, wanted.numpy())
    assert len(np.unique(given)) > 10


class Network(nn.Module):
    """Convolutions of several kinds, a sum, pools, a join and dense layers."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.second, self.deep, self.side, self.gate = (
            nn.Conv2d(inputs, 16, 3, padding=1, groups=groups)
            for inputs, groups in ((3, 1), (16, 1), (16, 16), (16, 1), (16, 1))
        )
        self.dense, self.last = nn.Linear(32, 48), nn.Linear(48, 24)

    def forward(self, image: Any) -> Any:
        x = functional.max_pool2d(self.second(torch.relu(self.stem(image))), 2)
        y = functional.relu6(self.deep(torch.relu(self.side(x) + x)))
        features = functional.adaptive_avg_pool2d(torch.cat([y, self.gate(y)], 1), 1)
        return self.last(torch.relu(self.dense(features.flatten(1))))


def quantized(network: nn.Module, example: Any, **options: Any) -> Any:
    pytest.importorskip("torchao", reason="torchao is not installed")
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
    from torchao.quantization.pt2e.quantizer import x86_inductor_quantizer as x86

    quantizer = x86.X86InductorQuantizer()
    quantizer.set_global(x86.get_default_x86_inductor_quantization_config(**options))
    prepared = prepare_pt2e(torch.export.export(network.eval(), (example,)).module(), quantizer)
    prepared(example)
    return torch.export.export(convert_pt2e(prepared), (example,))


def test_a_network() -> None:
    torch.manual_seed(3)
    example = torch.randn(4, 3, 16, 16)
    program = quantized(Network(), example)
    (given,) = run(program, example.numpy())
    # Run as it is the program adds in float32, so that some bytes are a step off.
    wanted = program.module()(example).detach().numpy()
    assert np.abs(given - wanted).max() < 0.02 * np.abs(wanted).max()


def test_what_is_not_imported_is_told() -> None:
    example = torch.randn(4, 16)
    dynamic = quantized(nn.Sequential(nn.Linear(16, 8)), example, is_dynamic=True)
    with pytest.raises(UnsupportedOperatorError, match="data must be int8 from -128 to 127, got 0"):
        qnn.from_exported_program(dynamic)
    reduced = quantized(nn.Sequential(nn.Linear(16, 8)), example, reduce_range=True)
    with pytest.raises(
        UnsupportedOperatorError, match="values must be from 0 to 255, got 0 to 127"
    ):
        qnn.from_exported_program(reduced)


def test_other_products_are_refused() -> None:
    data = torch.ones(1, 4, 9, 9)

    def compute(_module: Any, x: Any) -> Any:
        return functional.conv2d(dq(q(x, 0.5, 3), 0.5, 3), torch.ones(4, 4, 3, 3), padding="same")

    with pytest.raises(
        UnsupportedOperatorError, match=r"conv2d\.padding: of uint8 data only conv2d"
    ):
        qnn.from_exported_program(program_of(compute, data))
