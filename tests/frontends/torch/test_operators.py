"""Operators that TVM's importer takes, and computes otherwise than PyTorch."""

from collections.abc import Callable
from typing import Any

import pytest

from frontends.errors import UnsupportedOperatorError
from frontends.torch.importer import from_exported_program

torch = pytest.importorskip("torch", reason="torch is not installed")

from tests.support.torch_networks import program_of, same_as_torch  # noqa: E402

pytestmark = pytest.mark.torch

functional = torch.nn.functional

RANDOM: dict[str, Callable[[Any], Any]] = {
    "dropout": functional.dropout,
    "dropout of channels": functional.dropout2d,
    "alpha dropout": lambda x: functional.alpha_dropout(x, training=True),
    "attention": lambda x: functional.scaled_dot_product_attention(x, x, x, dropout_p=0.5),
    "normal": lambda x: x + torch.randn(4),
    "normal, like another": torch.randn_like,
    "uniform": lambda x: x + torch.rand(4),
}


@pytest.mark.parametrize("name", RANDOM)
def test_random_numbers_are_refused(name: str) -> None:
    program = program_of(lambda _, x: RANDOM[name](x), torch.zeros(1, 2, 3, 4))
    with pytest.raises(UnsupportedOperatorError, match=r"it is random|no conversion rule"):
        from_exported_program(program)


@pytest.mark.filterwarnings("ignore:computed in float32")
@pytest.mark.parametrize("options", [{"training": False}, {"p": 0.0}])
def test_a_dropout_of_nothing_is_none(options: dict[str, Any]) -> None:
    same_as_torch(lambda x: functional.dropout(x, **options) + 1, torch.randn(3, 4))


DIVISIONS: dict[str, Callable[[Any, Any], Any]] = {
    "floor": lambda x, y: x // y,
    "rest": lambda x, y: x % y,
    "fmod": torch.fmod,
    "truncated": lambda x, y: torch.div(x, y, rounding_mode="trunc"),
}


@pytest.mark.parametrize("name", DIVISIONS)
def test_integers_are_not_divided_by_what_may_be_zero(name: str) -> None:
    numbers = torch.tensor([7, -7, 3])
    program = program_of(lambda _, *x: DIVISIONS[name](*x), numbers, numbers)
    with pytest.raises(UnsupportedOperatorError, match="divides integers by numbers that may be 0"):
        from_exported_program(program)


@pytest.mark.filterwarnings("ignore:computed in float32")
@pytest.mark.parametrize("name", DIVISIONS)
def test_integers_are_divided_by_constants(name: str) -> None:
    divisor = torch.tensor([2, 3, -2], dtype=torch.int32)
    numbers = torch.tensor([7, -7, 3], dtype=torch.int32)
    same_as_torch(lambda x: DIVISIONS[name](DIVISIONS[name](x, divisor), 2), numbers)
