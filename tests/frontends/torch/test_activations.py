"""Activations between quantized tensors of two scales, against ExecuTorch's delegate to XNNPACK."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tvm_qnn as qnn
from tvm_qnn.oracle import xnnpack_outputs

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("executorch", reason="executorch is not installed")

from torch import nn  # noqa: E402

from tests.support.torch_networks import program_of, q, qdq, quantized, reals  # noqa: E402

pytestmark = pytest.mark.torch

functional = torch.nn.functional

# Data and results, and bounds: of some half of all values are ties.
ENCODINGS = [((0.05, 3), (0.025, -10)), ((0.05, 3), (0.1, 1)), ((0.0371, 9), (0.0213, -40))]
ENDS = [(-0.775, 1.225), (0.0, 6.0), (-1.0, 0.33)]


def check(program: Any, *arrays: np.ndarray[Any, Any]) -> None:
    wanted = xnnpack_outputs(program, arrays)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mod, params = qnn.from_exported_program(program)
        results = qnn.build(mod, "host", params).run(*arrays)
    given = list(results.values()) if isinstance(results, dict) else [results]
    for ours, theirs in zip(given, wanted, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_all_bytes() -> None:
    data = [reals(np.arange(-128, 128).reshape(1, 4, 8, 8), *source) for source, _ in ENCODINGS]

    def compute(_module: Any, *images: Any) -> Any:
        return tuple(
            q(functional.hardtanh(qdq(image, *source), *ends), *result)
            for image, (source, result) in zip(images, ENCODINGS, strict=True)
            for ends in ENDS
        )

    check(program_of(compute, *data), *(each.numpy() for each in data))


class Late(nn.Module):
    """An activation that the quantizer does not fuse with the operator before it."""

    def __init__(self, layer: nn.Module, *, reads: bool = False) -> None:
        super().__init__()
        self.layer, self.reads = layer, reads

    def forward(self, data: Any) -> Any:
        made = self.layer(data)
        result = made.clamp(-0.2, 0.3) + 0.1
        return result + made if self.reads else result


LAYERS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "conv2d": (lambda: nn.Conv2d(8, 6, 3), (2, 8, 6, 7)),
    "conv2d, relu": (lambda: nn.Sequential(nn.Conv2d(8, 6, 3), nn.ReLU()), (2, 8, 6, 7)),
    "conv1d": (lambda: nn.Conv1d(8, 6, 3), (2, 8, 20)),
    "transposed": (lambda: nn.ConvTranspose2d(8, 6, 2, 2), (2, 8, 6, 7)),
    "linear": (lambda: nn.Linear(16, 12), (9, 16)),
    "mean": (lambda: nn.AdaptiveAvgPool2d(1), (2, 8, 6, 7)),
}


@pytest.mark.parametrize("reads", [False, True])
@pytest.mark.parametrize("name", LAYERS)
def test_layers_end_in_what_comes_later(name: str, reads: bool) -> None:
    make, shape = LAYERS[name]
    torch.manual_seed(1)
    program = quantized(Late(make(), reads=reads), shape)
    check(program, np.random.default_rng(5).normal(0, 1.2, shape).astype(np.float32))


READERS: dict[str, Callable[[Any], Any]] = {
    "square": lambda bounded: bounded * bounded,
    "double": lambda bounded: bounded + bounded,
    "square and sum": lambda bounded: bounded * bounded + bounded,
    "moved": lambda bounded: bounded.flatten(1) + 0.1,
}


@pytest.mark.parametrize("name", READERS)
def test_what_reads_an_activation_tells_whether_a_layer_ends_in_it(name: str) -> None:
    class Network(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Conv2d(8, 6, 3)

        def forward(self, data: Any) -> Any:
            return READERS[name](self.layer(data).clamp(-0.2, 0.3))

    torch.manual_seed(1)
    shape = (2, 8, 6, 7)
    program = quantized(Network(), shape)
    check(program, np.random.default_rng(5).normal(0, 1.2, shape).astype(np.float32))
