"""What a model may make of little."""

import pytest

from frontends.bounds import (
    GROWTH,
    MOST_ITERATIONS,
    MOST_MADE,
    Allowance,
    bytes_of,
    check_elements,
    check_grown,
    check_iterations,
)
from frontends.errors import UnsupportedError
from tests.support.errors import fails


def test_constants_have_one_allowance_together() -> None:
    """Sizes add up, and a large file may make more."""
    allowance = Allowance(0)
    for _ in range(4):
        allowance.make([MOST_MADE // 16], "float32")
    with pytest.raises(UnsupportedError, match=r"a constant of 1 bytes.*all results"):
        allowance.make([1], "bool")
    Allowance(1 << 20).make([MOST_MADE + GROWTH * (1 << 20)], "int8")


def test_results_of_a_run_may_grow_with_their_operands() -> None:
    """A resize of a large image is no bomb; a tile of one number is one."""
    check_grown([1 << 30], "float32", 1 << 26)
    with pytest.raises(UnsupportedError, match=r"4,294,967,296 bytes .*, the most are"):
        check_grown([1 << 30], "float32", 4)


def test_elements_and_iterations_are_bounded() -> None:
    """Numbers beyond machine words do not wrap."""
    fails("elements", check_elements, [1 << 62, 4], error=UnsupportedError)
    fails("iterations", check_iterations, 1 << 62, error=UnsupportedError)
    check_iterations(MOST_ITERATIONS)
    assert bytes_of([1 << 40, 1 << 40], "float64") == 1 << 83
    assert bytes_of([3], "int4") == 3
