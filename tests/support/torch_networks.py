"""Networks of PyTorch, quantized by PT2E with seeds, and programs of single operators."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.ao.quantization.fx._decomposed
from torch import nn

BYTES = (-128, 127, torch.int8)
QUANTIZED = torch.ops.quantized_decomposed


def quantized(
    network: nn.Module,
    *shapes: tuple[int, ...] | torch.Tensor,
    per_channel: bool = True,
    dynamic: bool = False,
    dynamic_shapes: Any = None,
    seed: int = 0,
) -> Any:
    """Return the program that PT2E makes of a network, calibrated with noise, or with tensors."""
    from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (
        XNNPACKQuantizer,
        get_symmetric_quantization_config,
    )
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    generator = torch.Generator().manual_seed(seed)
    examples = tuple(
        each if isinstance(each, torch.Tensor) else torch.randn(each, generator=generator)
        for each in shapes
    )
    quantizer = XNNPACKQuantizer()
    quantizer.set_global(
        get_symmetric_quantization_config(is_per_channel=per_channel, is_dynamic=dynamic)
    )
    sizes = {"dynamic_shapes": dynamic_shapes}
    exported = torch.export.export(network.eval(), examples, **sizes)
    prepared = prepare_pt2e(exported.module(), quantizer)
    prepared(*examples)
    return torch.export.export(convert_pt2e(prepared), examples, **sizes)


def program_of(function: Callable[..., Any], *examples: Any, **buffers: Any) -> Any:
    """Return the program of a function of a module, which has the buffers, and of tensors."""

    class Module(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            for name, tensor in buffers.items():
                self.register_buffer(name, tensor)

        def forward(self, *inputs: Any) -> Any:
            return function(self, *inputs)

    return torch.export.export(Module(), examples, strict=False)


def q(data: Any, scale: float, point: int) -> Any:
    return QUANTIZED.quantize_per_tensor(data, float(np.float32(scale)), point, *BYTES)


def dq(data: Any, scale: float, point: int) -> Any:
    return QUANTIZED.dequantize_per_tensor(data, float(np.float32(scale)), point, *BYTES)


def qdq(data: Any, scale: float, point: int) -> Any:
    return dq(q(data, scale, point), scale, point)


def reals(values: np.ndarray, scale: float, point: int) -> Any:
    """Return the real numbers of integers."""
    return torch.tensor(((values - point) * np.float32(scale)).astype(np.float32))


class Encoder(nn.Module):
    """A layer of a transformer."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.query, self.key, self.value, self.last = (nn.Linear(32, 32) for _ in range(4))
        self.inner, self.outer = nn.Linear(32, 64), nn.Linear(64, 32)
        self.norms = nn.ModuleList(nn.LayerNorm(32) for _ in range(2))

    def forward(self, x: Any) -> Any:
        batch, length, _ = x.shape

        def heads(tensor: Any) -> Any:
            return tensor.reshape(batch, length, 4, 8).transpose(1, 2)

        scores = heads(self.query(x)) @ heads(self.key(x)).transpose(-1, -2) / 3.0
        mixed = torch.softmax(scores, -1) @ heads(self.value(x))
        x = self.norms[0](x + self.last(mixed.transpose(1, 2).reshape(batch, length, 32)))
        hidden = torch.nn.functional.gelu(self.inner(x))
        return self.norms[1](x + self.outer(hidden))


class Small(nn.Module):
    """Every operator that XNNPACK's quantizer knows, once or twice."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16))
        self.depthwise = nn.Sequential(
            nn.Conv2d(16, 16, 3, padding=1, groups=16), nn.BatchNorm2d(16), nn.ReLU6()
        )
        self.pointwise, self.gate = nn.Conv2d(16, 16, 1), nn.Conv2d(16, 16, 1)
        self.dilated = nn.Conv2d(32, 24, 3, padding=2, dilation=2)
        self.pool = nn.MaxPool2d(3, 2, 1)
        self.average = nn.AdaptiveAvgPool2d(1)
        self.hardtanh = nn.Hardtanh(-0.5, 1.5)
        self.classes = nn.Linear(24, 10)
        self.last = nn.Linear(10, 7, bias=False)

    def forward(self, image: Any) -> Any:
        x = self.pool(torch.relu(self.stem(image)))
        y = self.pointwise(self.depthwise(x))
        y = torch.relu(x + y)
        z = torch.cat([y, self.hardtanh(y + x)], 1)
        z = torch.relu(self.dilated(z))
        gate = self.gate(y).mean((2, 3), keepdim=True)
        features = self.average(z)
        scaled = z[:, :16] * gate
        classes = torch.relu(self.classes(torch.flatten(features, 1)))
        return self.last(classes), scaled


class Doubled(nn.Module):
    """Two inputs, one of them twice as long, and outputs by name."""

    def forward(self, x: Any, y: Any) -> Any:
        return {"sum": x + y[::2], "rows": x.reshape(x.shape[0] * 3)}


class Block(nn.Module):
    """A block of ResNet-18."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs)
        )
        self.second = nn.Sequential(
            nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False), nn.BatchNorm2d(outputs)
        )
        self.shortcut = (
            nn.Identity()
            if (inputs, stride) == (outputs, 1)
            else nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
            )
        )

    def forward(self, x: Any) -> Any:
        return torch.relu(self.second(torch.relu(self.first(x))) + self.shortcut(x))


def resnet18() -> nn.Module:
    torch.manual_seed(18)
    blocks = []
    before = 64
    for channels in (64, 128, 256, 512):
        blocks += [
            Block(before, channels, 1 if channels == 64 else 2),
            Block(channels, channels, 1),
        ]
        before = channels
    stem = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU()]
    end = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000)]
    return nn.Sequential(*stem, nn.MaxPool2d(3, 2, 1), *blocks, *end)


class Inverted(nn.Module):
    """A block of MobileNet V2."""

    def __init__(self, inputs: int, outputs: int, stride: int, expansion: int) -> None:
        super().__init__()
        wide = inputs * expansion
        parts = [] if expansion == 1 else [*_normed(inputs, wide, 1), nn.ReLU6()]
        parts += [*_normed(wide, wide, 3, stride, wide), nn.ReLU6(), *_normed(wide, outputs, 1)]
        self.parts = nn.Sequential(*parts)
        self.is_residual = (inputs, stride) == (outputs, 1)

    def forward(self, x: Any) -> Any:
        return x + self.parts(x) if self.is_residual else self.parts(x)


def _normed(
    inputs: int, outputs: int, size: int, stride: int = 1, groups: int = 1
) -> list[nn.Module]:
    conv = nn.Conv2d(inputs, outputs, size, stride, size // 2, groups=groups, bias=False)
    return [conv, nn.BatchNorm2d(outputs)]


def mobilenet_v2() -> nn.Module:
    torch.manual_seed(2)
    parts: list[nn.Module] = [*_normed(3, 32, 3, 2), nn.ReLU6()]
    before = 32
    for expansion, channels, count, stride in (
        *((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2)),
        *((6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)),
    ):
        for index in range(count):
            parts.append(Inverted(before, channels, stride if index == 0 else 1, expansion))
            before = channels
    parts += [*_normed(before, 1280, 1), nn.ReLU6(), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    return nn.Sequential(*parts, nn.Dropout(0.2), nn.Linear(1280, 1000))


def same_as_torch(function: Callable[..., Any], *examples: Any, atol: float = 1e-6) -> None:
    """Assert that an imported function of float tensors gives PyTorch's results.

    The order of sums is a library's own: functions with sums need another tolerance.
    """
    import tvm_qnn as qnn

    program = program_of(lambda _module, *xs: function(*xs), *examples)
    mod, params = qnn.from_exported_program(program)
    results = qnn.build(mod, "host", params).run(*(each.numpy() for each in examples))
    given = list(results.values()) if isinstance(results, dict) else [results]
    wanted = torch.utils._pytree.tree_leaves(function(*examples))
    assert len(given) == len(wanted)
    for ours, theirs in zip(given, wanted, strict=True):
        assert (ours.shape, str(ours.dtype)) == (tuple(theirs.shape), str(theirs.dtype)[6:])
        np.testing.assert_allclose(ours, theirs.numpy(), rtol=0, atol=atol)
