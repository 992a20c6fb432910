"""A stand-in for torchvision: a small network that can be quantized, and transforms."""

from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import numpy as np

_SIZE, _CLASSES = 224, 1000


def modules() -> dict[str, Any]:
    """Return the modules by name."""
    network = SimpleNamespace(mobilenet_v2=_network)
    quantization = SimpleNamespace(mobilenet=network)
    transforms = MagicMock()
    transforms.Compose.return_value = _tensor
    return {
        "torchvision": SimpleNamespace(transforms=transforms),
        "torchvision.transforms": transforms,
        "torchvision.models": SimpleNamespace(quantization=quantization),
        "torchvision.models.quantization": quantization,
    }


def _tensor(image: Any) -> Any:
    import torch

    pixels = np.asarray(image.convert("RGB").resize((_SIZE, _SIZE)), np.float32) / 128 - 1
    return torch.from_numpy(pixels.transpose(2, 0, 1).copy())


def _network(pretrained: bool = False) -> Any:
    """Return an inverted residual between a stem and a classifier, with ``fuse_model``."""
    del pretrained
    import torch
    from torch import nn
    from torch.ao.quantization import DeQuantStub, QuantStub, fuse_modules

    def layer(channels: int, wanted: int, size: int, stride: int = 1, groups: int = 1) -> Any:
        conv = nn.Conv2d(channels, wanted, size, stride, size // 2, groups=groups, bias=False)
        return nn.Sequential(conv, nn.BatchNorm2d(wanted), nn.ReLU())

    class Network(nn.Module):
        """A network of MobileNet V2's layers."""

        def __init__(self) -> None:
            super().__init__()
            self.quant, self.dequant = QuantStub(), DeQuantStub()
            self.stem = layer(3, 16, 3, stride=8)
            self.body = nn.Sequential(layer(16, 32, 1), layer(32, 32, 3, groups=32))
            self.narrow = layer(32, 16, 1)
            self.sum = torch.ao.nn.quantized.FloatFunctional()
            self.classes = nn.Linear(16, _CLASSES)

        def forward(self, x: Any) -> Any:
            x = self.stem(self.quant(x))
            x = self.sum.add(x, self.narrow(self.body(x)))
            return self.dequant(self.classes(x.mean([2, 3])))

        def fuse_model(self) -> None:
            for part in (self.stem, *self.body, self.narrow):
                fuse_modules(part, ["0", "1", "2"], inplace=True)

    torch.manual_seed(0)
    return Network()
