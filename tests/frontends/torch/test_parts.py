"""Parts of tensors, against PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tvm_qnn as qnn
from frontends.errors import UnsupportedOperatorError
from frontends.torch.importer import from_exported_program

torch = pytest.importorskip("torch", reason="torch is not installed")

from tests.support.torch_networks import program_of, same_as_torch  # noqa: E402

pytestmark = pytest.mark.torch

functional = torch.nn.functional

CASES: dict[str, Callable[..., Any]] = {
    "from the start": lambda x: x.select(2, 3),
    "from the end": lambda x: x.select(-1, -2),
    "narrow": lambda x: x.narrow(2, 1, 3),
    "narrow, from the end": lambda x: x.narrow(2, -3, 2),
    "narrow, the last": lambda x: x.narrow(-1, -1, 1),
    "index": lambda x: x[:, [2, 0]],
    "index from the end": lambda x: x[:, :, [-1, 0, -6]],
    "indices of two axes": lambda x: x[:, :, torch.tensor([[0], [-1]]), torch.tensor([1, -7])],
}


@pytest.mark.parametrize("name", CASES)
def test_parts(name: str) -> None:
    torch.manual_seed(0)
    same_as_torch(CASES[name], torch.randn(2, 3, 6, 7))


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
