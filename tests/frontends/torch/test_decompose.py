"""Operators that PyTorch decomposes, against PyTorch."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tvm_qnn as qnn
from frontends.torch.importer import known_program
from frontends.torch.reader import calls_of, operator_of

torch = pytest.importorskip("torch", reason="torch is not installed")

from torch import nn  # noqa: E402

from tests.support.torch_networks import program_of, same_as_torch  # noqa: E402

pytestmark = pytest.mark.torch

functional = torch.nn.functional

IMAGE = (2, 4, 9, 10)


def attention(x: Any, **options: Any) -> Any:
    heads = x.reshape(2, 4, 9, 10)
    return functional.scaled_dot_product_attention(heads, heads * 2, heads + 1, **options)


def written(x: Any) -> Any:
    """Write to a part of a tensor that is read as a whole afterwards."""
    data = x * 2
    data[:, :2] += 1
    return data


def widened(x: Any) -> Any:
    """Add numbers of a wider type to a tensor in its place: it keeps its own."""
    data = x * 2
    data += x.to(torch.float64)
    return data


# Functions, and what their sums may be off by.
CASES: dict[str, tuple[Callable[..., Any], float]] = {
    "celu": (lambda x: functional.celu(x, 0.7), 1e-6),
    "in place": (widened, 0),
    "glu": (lambda x: functional.glu(x, 1), 1e-6),
    "mish": (functional.mish, 1e-6),
    "threshold": (lambda x: functional.threshold(x, 0.1, 20), 0),
    "variance": (lambda x: x.var(1), 1e-5),
    "deviation": (lambda x: x.std(1), 1e-5),
    "deviation of all": (lambda x: torch.std(x, correction=0), 1e-5),
    "pixel_unshuffle": (lambda x: functional.pixel_unshuffle(x[:, :, :8], 2), 0),
    "movedim": (lambda x: x.movedim(1, -1), 0),
    "instance norm": (lambda x: functional.instance_norm(x, eps=0.01), 1e-5),
    "rms norm": (lambda x: functional.rms_norm(x, (10,)), 1e-5),
    "layer norm without weights": (lambda x: functional.layer_norm(x, (10,)), 1e-5),
    "scale": (lambda x: attention(x, scale=0.9), 1e-5),
    "mask": (lambda x: attention(x, attn_mask=torch.ones(9, 9).tril().bool()), 1e-5),
    "three axes": (lambda x: functional.scaled_dot_product_attention(x[0], x[1], x[0]), 1e-5),
    "exact": (lambda x: functional.interpolate(x, scale_factor=1.5, mode="nearest-exact"), 0),
    "written": (written, 1e-6),
}


@pytest.mark.parametrize("name", CASES)
def test_operators(name: str) -> None:
    torch.manual_seed(0)
    function, atol = CASES[name]
    same_as_torch(function, torch.randn(IMAGE), atol=atol)


LAYERS: dict[str, Callable[[], nn.Module]] = {
    "two layers": lambda: nn.LSTM(10, 8, 2),
    "gates": lambda: nn.GRU(10, 8, 2, bidirectional=True),
    "one layer": lambda: nn.LSTM(10, 8),
}


@pytest.mark.parametrize("name", LAYERS)
def test_recurrent_layers_and_their_states(name: str) -> None:
    torch.manual_seed(0)
    layer = LAYERS[name]().eval().requires_grad_(False)
    same_as_torch(layer, torch.randn(5, 2, 10), atol=1e-5)


def test_recurrent_layers_take_any_batch() -> None:
    torch.manual_seed(0)
    layer = nn.LSTM(10, 8, batch_first=True).eval().requires_grad_(False)
    sizes = ({0: torch.export.Dim("batch", max=16)},)
    program = torch.export.export(layer, (torch.randn(2, 5, 10),), dynamic_shapes=sizes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mod, params = qnn.from_exported_program(program)
        library = qnn.build(mod, "host", params)
    for batch in (1, 2, 7):
        data = torch.randn(batch, 5, 10)
        found = list(library.run(data.numpy()).values())
        expected, states = layer(data)
        for result, wanted in zip(found, (expected, *states), strict=True):
            np.testing.assert_allclose(result, wanted.numpy(), atol=1e-5)


def test_what_is_known_stays_as_it_is() -> None:
    program = program_of(lambda _module, x: torch.relu_(x * 2) + 1, torch.ones(3))
    assert known_program(program) is program


def test_others_of_a_kind_stay() -> None:
    def compute(_module: Any, x: Any) -> Any:
        return functional.mish(functional.hardswish(x) + x)

    names = [operator_of(node) for node in calls_of(known_program(program_of(compute, IMAGES)))]
    assert names[:2] == ["hardswish.default", "add.Tensor"]
    assert "mish.default" not in names


IMAGES = torch.ones(IMAGE)
