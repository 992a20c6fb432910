"""Operators of PyTorch that TVM's importer lacks or has otherwise."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tvm_qnn as qnn
from frontends.errors import UnsupportedOperatorError
from frontends.torch.importer import from_exported_program
from tvm_qnn.oracle import xnnpack_outputs

torch = pytest.importorskip("torch", reason="torch is not installed")

from torch import nn  # noqa: E402

from tests.support.torch_networks import program_of, quantized, same_as_torch  # noqa: E402

pytestmark = pytest.mark.torch

functional = torch.nn.functional

CASES: dict[str, Callable[..., Any]] = {
    "both": lambda x: x.clamp(-0.2, 0.3),
    "crossing": lambda x: x.clamp(0.3, -0.2),
    "low": lambda x: x.clamp(min=0.1),
    "high": lambda x: x.clamp(max=0.1),
    "largest": lambda x: x.clamp_max(0.1),
    "smallest": lambda x: x.clamp_min(0.1),
    "integers": lambda x: (x * 9).to(torch.int64).clamp(max=3),
    "integers, both": lambda x: (x * 9).to(torch.int32).clamp(-2, 3),
}


@pytest.mark.parametrize("name", CASES)
def test_bounds(name: str) -> None:
    torch.manual_seed(0)
    same_as_torch(CASES[name], torch.randn(3, 4))


@pytest.mark.parametrize("keeps", [True, False])
@pytest.mark.parametrize("axes", [(), (1,), (-1, 0)])
@pytest.mark.parametrize("name", ["amax", "amin"])
def test_extremes(name: str, axes: tuple[int, ...], keeps: bool) -> None:
    torch.manual_seed(0)
    reduce = getattr(torch, name)
    same_as_torch(lambda x: reduce(x, dim=axes, keepdim=keeps), torch.randn(2, 3, 6))


CASES_SUMS: dict[str, Callable[..., Any]] = {
    "sum": lambda x, y: torch.add(x, y, alpha=2),
    "difference": lambda x, y: torch.sub(x, y, alpha=0.5),
    "in place": lambda x, y: (x * 1).add_(y, alpha=-1),
    "difference in place": lambda x, y: (x * 1).sub_(y),
    "of a number": lambda x, _: torch.add(x, 3, alpha=2),
    "from a number": lambda x, _: 2 - x,
    "from a number, scaled": lambda x, _: torch.rsub(x, 2, alpha=3),
    "the other way": lambda x, y: torch.rsub(x, y, alpha=3),
    "of integers": lambda x, y: torch.add(
        (x * 9).to(torch.int32), (y * 9).to(torch.int32), alpha=3
    ),
}


@pytest.mark.parametrize("name", CASES_SUMS)
def test_sums(name: str) -> None:
    torch.manual_seed(0)
    same_as_torch(CASES_SUMS[name], torch.randn(3, 4), torch.randn(3, 4))


CASES_PADS: dict[str, Callable[..., Any]] = {
    **{
        mode: lambda x, mode=mode: functional.pad(x, (1, 2, 3, 0), mode=mode)
        for mode in ("constant", "reflect", "replicate", "circular")
    },
    "value": lambda x: functional.pad(x, (1, 2, 3, 0), value=-2.5),
    "three axes": lambda x: functional.pad(x, (1, 0, 0, 1, 2, 1)),
    "crop": lambda x: functional.pad(x, (-1, 2, 3, -2)),
    "crop alone": lambda x: functional.pad(x, (-1, 0)),
    "nothing": lambda x: functional.pad(x, (0, 0)),
}


@pytest.mark.parametrize("name", CASES_PADS)
def test_pads(name: str) -> None:
    torch.manual_seed(0)
    same_as_torch(CASES_PADS[name], torch.randn(2, 3, 5, 6))


def test_a_mirror_that_crops_is_refused() -> None:
    program = program_of(
        lambda _module, x: torch.ops.aten.pad(x, [-1, 2, 0, 0], "reflect"), torch.ones(2, 3, 5, 6)
    )
    with pytest.raises(UnsupportedOperatorError, match="'reflect' cannot crop"):
        qnn.from_exported_program(program)


class Padded(nn.Module):
    """A pad between two convolutions, or before one."""

    def __init__(self, *, mode: str = "constant", value: float = 0, first: bool = False) -> None:
        super().__init__()
        self.first = nn.Identity() if first else nn.Sequential(nn.Conv2d(3, 3, 3), nn.ReLU())
        self.last, self.mode, self.value = nn.Conv2d(3, 4, 3), mode, value

    def forward(self, image: Any) -> Any:
        data = self.first(image)
        return self.last(functional.pad(data, (1, 0, 2, 1), mode=self.mode, value=self.value))


NETWORKS: dict[str, Callable[[], nn.Module]] = {
    "zeros": Padded,
    "zeros first": lambda: Padded(first=True),
    "value": lambda: Padded(value=0.25),
    "mirror": lambda: Padded(mode="reflect"),
    "mirror first": lambda: Padded(mode="reflect", first=True),
    "padding of a convolution": lambda: nn.Conv2d(3, 4, 3, padding=1, padding_mode="replicate"),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_pads_are_of_integers(name: str) -> None:
    torch.manual_seed(2)
    program = quantized(NETWORKS[name](), (2, 3, 8, 9))
    data = np.random.default_rng(2).normal(0, 1.2, (2, 3, 8, 9)).astype(np.float32)
    mod, params = qnn.from_exported_program(program)
    given = qnn.build(mod, "host", params).run(data)
    np.testing.assert_array_equal(given, xnnpack_outputs(program, [data])[0])
    assert len(np.unique(given)) > 10


CASES_PARTS: dict[str, Callable[..., Any]] = {
    "from the start": lambda x: x.select(2, 3),
    "from the end": lambda x: x.select(-1, -2),
    "narrow": lambda x: x.narrow(2, 1, 3),
    "narrow, from the end": lambda x: x.narrow(2, -3, 2),
    "narrow, the last": lambda x: x.narrow(-1, -1, 1),
    "index": lambda x: x[:, [2, 0]],
    "index from the end": lambda x: x[:, :, [-1, 0, -6]],
    "indices of two axes": lambda x: x[:, :, torch.tensor([[0], [-1]]), torch.tensor([1, -7])],
}


@pytest.mark.parametrize("name", CASES_PARTS)
def test_parts(name: str) -> None:
    torch.manual_seed(0)
    same_as_torch(CASES_PARTS[name], torch.randn(2, 3, 6, 7))


TABLE = torch.arange(30.0).reshape(5, 6)
PLACED: dict[str, tuple[Callable[..., Any], tuple[int, ...]]] = {
    "embedding": (lambda i: functional.embedding(i, TABLE), (5, -1)),
    "gather": (lambda i: TABLE.gather(0, i), (5,)),
    "index": (lambda i: TABLE[i], (5, -6)),
    "index_put": (lambda i: TABLE[:, 0].index_put((i[0],), torch.ones(2)), (5, -6)),
    "index_select": (lambda i: TABLE.index_select(0, i[0]), (5,)),
    "take": (lambda i: TABLE[:, :1].take(i), (5, -6)),
    "scatter": (lambda i: TABLE.scatter(0, i, torch.ones(2, 2)), (5,)),
}


@pytest.mark.parametrize("name", PLACED)
def test_an_index_that_is_not_there_ends_the_run(name: str) -> None:
    function, others = PLACED[name]
    places = torch.tensor([[0, 4], [1, 2]])
    mod, params = from_exported_program(program_of(lambda _module, i: function(i), places))
    library = qnn.build(mod, params=params, num_threads=1)
    np.testing.assert_array_equal(library.run(places.numpy()), function(places).numpy())
    for other in others:
        places[0, 1] = other
        with pytest.raises((IndexError, RuntimeError)):
            function(places)
        with pytest.raises(qnn.QnnError, match=f"{name}.*index {other} is beyond the 5"):
            library.run(places.numpy())


def test_a_mask_is_no_index() -> None:
    program = program_of(lambda _module, x, mask: x[mask], torch.ones(2, 3), torch.ones(2) > 0)
    with pytest.raises(UnsupportedOperatorError, match="must be integers"):
        from_exported_program(program)


@pytest.mark.parametrize("other", ["itself", 0, 0.5])
def test_nan_differs_from_all(other: Any) -> None:
    values = torch.tensor([float("nan"), 0.0, 0.5, float("inf")])
    same_as_torch(lambda x: x != (x if other == "itself" else other), values)


CASES_FRACTIONS: dict[str, Callable[..., Any]] = {
    "less": lambda x: x < 0.5,
    "at most": lambda x: x <= -0.5,
    "more": lambda x: x > 0.5,
    "at least": lambda x: x >= 0.5,
    "equal": lambda x: x == 0.5,
    "different": lambda x: x != 0.5,
    "sum": lambda x: x + 0.5,
    "difference": lambda x: x - 0.5,
    "the other way": lambda x: 0.5 - x,
    "product": lambda x: x * 0.5,
    "quotient": lambda x: x / 2,
    "of both": lambda x: (x * 0.5) / x,
}


@pytest.mark.parametrize("name", CASES_FRACTIONS)
def test_integers_beside_fractions(name: str) -> None:
    same_as_torch(CASES_FRACTIONS[name], torch.tensor([-2, -1, 1, 3]))
