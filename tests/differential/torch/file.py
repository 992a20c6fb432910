"""Random networks that PT2E quantizes, and the answers of ExecuTorch's delegate to XNNPACK."""

import io
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn

from frontends.torch import from_exported_program
from qnn_ops.errors import QnnError
from tests.differential.file import File, RefusedError
from tests.support.torch_networks import quantized
from tvm_qnn.oracle import xnnpack_outputs

functional = torch.nn.functional

Rng = np.random.Generator
Step = Callable[[Any, list[Any]], Any]
"""Computes the next tensor of the last one and of those before it."""

_LONGEST = 8


def torch_file(seed: int, graphs: int) -> File:
    """Return the file of a program of random networks, each with an input of its own.

    Args:
        seed: of everything that is random.
        graphs: how many networks there are.

    Raises:
        RefusedError: PT2E does not quantize it, or ExecuTorch does not run it.
    """
    rng = np.random.default_rng(seed)
    torch.manual_seed(seed)
    is_dynamic = bool(rng.random() < 0.15)  # which is for dense layers
    networks = [_network(rng, with_images=not is_dynamic) for _ in range(graphs)]
    shapes = [network.shape for network in networks]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            way = {"per_channel": bool(rng.random() < 0.7), "dynamic": is_dynamic}
            program = quantized(_Together(networks), *shapes, seed=seed, **way)
            runs = [
                [rng.normal(0, scale, shape).astype(np.float32) for shape in shapes]
                for scale in (1.2,)
            ]
            answers = [xnnpack_outputs(program, each) for each in runs]
    except QnnError as error:
        raise RefusedError(str(error)) from error
    made = io.BytesIO()
    torch.export.save(program, made)
    content = made.getvalue()
    count = sum(node.op == "call_function" for node in program.graph.nodes)

    def load() -> tuple[Any, Any]:
        return from_exported_program(content)

    return File(content, count, runs[0], list(range(graphs)), answers, load)


class _Together(nn.Module):
    def __init__(self, networks: list[Any]) -> None:
        super().__init__()
        self.networks = nn.ModuleList(networks)

    def forward(self, *inputs: Any) -> Any:
        return tuple(one(x) for one, x in zip(self.networks, inputs, strict=True))


class _Network(nn.Module):
    """Consecutive steps, some of which read an earlier value than the last one."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__()
        self.shape = shape
        self.layers = nn.ModuleList()
        self.steps: list[Step] = []

    def forward(self, x: Any) -> Any:
        seen = [x]
        for step in self.steps:
            seen.append(step(seen[-1], seen))
        return seen[-1]


def _network(rng: Rng, *, with_images: bool) -> Any:
    is_image = with_images and rng.random() < 0.75
    sizes = (2, int(rng.integers(2, 9)), *map(int, rng.integers(5, 12, 2)))
    shape = sizes if is_image else (int(rng.integers(1, 5)), int(rng.integers(3, 20)))
    network = _Network(shape)
    _layer(rng, network, [shape])
    seen = [shape, _shape_after(network)]
    for _ in range(int(rng.integers(1, _LONGEST))):
        drawn = _STEPS[int(rng.integers(len(_STEPS)))]
        if drawn(rng, network, seen):
            seen.append(_shape_after(network))
    _layer(rng, network, seen)  # so that bytes depend on what is before
    return network.eval()


def _shape_after(network: Any) -> tuple[int, ...]:
    with torch.no_grad():
        return tuple(network.eval()(torch.zeros(network.shape)).shape)


def _add(network: Any, step: Step) -> bool:
    network.steps.append(step)
    return True


def _pick(rng: Rng, values: Any) -> Any:
    return values[int(rng.integers(len(values)))]


def _layer(rng: Rng, network: Any, seen: list[Any]) -> bool:
    """Add a convolution, or a dense layer of rows, and perhaps an operator that fuses into it."""
    shape = seen[-1]
    channels, units = shape[1], int(rng.integers(1, 17))
    if len(shape) == 2:
        layers: list[Any] = [nn.Linear(channels, units, bias=bool(rng.random() < 0.8))]
    else:
        groups = int(_pick(rng, [g for g in (1, 1, 1, 2, channels) if channels % g == 0]))
        size = int(rng.integers(1, min(4, *(each + 1 for each in shape[2:]))))
        window = {"stride": int(rng.integers(1, 3)), "padding": int(rng.integers(0, 2))}
        units *= groups
        layers = [nn.Conv2d(channels, units, size, groups=groups, **window)]
        if rng.random() < 0.3:
            norm = nn.BatchNorm2d(units)
            nn.init.uniform_(norm.running_mean, -0.3, 0.3)
            nn.init.uniform_(norm.running_var, 0.5, 2.0)
            layers.append(norm)
    layers += _pick(rng, _ENDS)()
    network.layers.append(nn.Sequential(*layers))
    place = len(network.layers) - 1
    return _add(network, lambda x, _: network.layers[place](x))


_ENDS: tuple[Callable[[], list[Any]], ...] = (
    *(list, list, lambda: [nn.ReLU()], lambda: [nn.ReLU6()]),
    lambda: [nn.Hardtanh(-0.4, 0.7)],
)


def _binary(rng: Rng, network: Any, seen: list[Any]) -> bool:
    """Combine the last tensor with an earlier one of its shape."""
    places = [place for place, shape in enumerate(seen) if shape == seen[-1]]
    place, function = _pick(rng, places), _pick(rng, _BINARY)
    return _add(network, lambda x, before: function(x, before[place]))


_BINARY: tuple[Callable[[Any, Any], Any], ...] = (
    *(lambda x, y: x + y, lambda x, y: torch.relu(x + y), lambda x, y: x - y, lambda x, y: x * y),
    *(torch.maximum, torch.minimum, lambda x, y: functional.hardtanh(x + y, -0.5, 0.6)),
    *(
        lambda x, y: torch.relu(x - y),
        lambda x, y: torch.cat([x, y], 1),
        lambda x, y: x / (y * y + 1),
    ),
)


def _unary(rng: Rng, network: Any, _seen: list[Any]) -> bool:
    function = _pick(rng, _UNARY)
    return _add(network, lambda x, _: function(x))


_UNARY: tuple[Callable[[Any], Any], ...] = (
    *(torch.relu, functional.relu6, functional.hardswish, functional.hardsigmoid, torch.abs),
    *(lambda x: functional.leaky_relu(x, 0.2), lambda x: torch.clamp(x, -0.3, 0.8)),
    *(lambda x: x * 0.5 + 0.25, torch.neg, lambda x: x.flip(1), torch.square),
    *(lambda x: functional.hardtanh(x, -0.25, 0.5), lambda x: 1 - x),
)


def _image(rng: Rng, network: Any, seen: list[Any]) -> bool:
    """Pool, pad, cut, resize or reorder an image."""
    shape = seen[-1]
    if len(shape) != 4 or min(shape[2:]) < 3:
        return False
    function = _pick(rng, _IMAGE)
    return _add(network, lambda x, _: function(x))


_IMAGE: tuple[Callable[[Any], Any], ...] = (
    *(lambda x: functional.max_pool2d(x, 2), lambda x: functional.max_pool2d(x, 3, 2, 1)),
    *(lambda x: functional.adaptive_avg_pool2d(x, 1), lambda x: x.mean((2, 3), keepdim=True)),
    *(lambda x: functional.pad(x, (1, 0, 2, 1)), lambda x: x[:, :, 1:, ::2]),
    *(lambda x: functional.interpolate(x, scale_factor=2.0), lambda x: x.transpose(2, 3)),
    *(lambda x: torch.cat([x, x[:, :1]], 1), lambda x: x[:, : max(1, x.shape[1] // 2)]),
    lambda x: x.permute(0, 2, 3, 1).permute(0, 3, 1, 2),
)


def _flat(rng: Rng, network: Any, seen: list[Any]) -> bool:
    if len(seen[-1]) != 4 or rng.random() < 0.7:
        return False
    return _add(network, lambda x, _: torch.flatten(x, 1))


_STEPS = (_layer, _layer, _binary, _binary, _unary, _image, _flat)
