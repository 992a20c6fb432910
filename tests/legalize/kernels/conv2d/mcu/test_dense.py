from typing import Any

import numpy as np
import pytest
from tvm import relax

from legalize.kernels.conv2d.mcu import dense
from legalize.kernels.rescale import Form, prove
from qnn_ops.arithmetic.rounding import scale_down
from qnn_ops.arrays import Array
from tests.support.modules import module
from tests.support.operators import run

INT32 = np.iinfo(np.int32)


def rescaled(sums: Array, multiplier: Array, zero_point: int, bounds: tuple[int, int]) -> Array:
    dtype = "int8" if bounds[0] < 0 else "uint8"

    def body(x: relax.Expr) -> relax.Expr:
        builder = relax.BlockBuilder.current()
        return dense.rescaled(builder, x, multiplier, zero_point, bounds, dtype)

    return run(module({"x": sums}, body), [sums], "llvm")


def sums_for(multiplier: Array) -> Array:
    """Return int32 of all sizes, and those around every tie of every channel, [sums, channels]."""
    rng = np.random.default_rng(1)
    sizes = np.exp2(rng.uniform(0, 31, 500)) * rng.choice([-1, 1], 500)
    ties = (np.arange(-300, 300) + 0.5)[:, None] / multiplier
    near = [np.rint(ties) + offset for offset in (-1, 0, 1)]
    edges = [INT32.min, INT32.min + 1, -1, 0, 1, INT32.max]
    column = np.concatenate([sizes, edges])[:, None] * np.ones(multiplier.size)
    return np.clip(np.vstack([*near, column]), INT32.min, INT32.max).astype(np.int32)


def kinds(monkeypatch: pytest.MonkeyPatch) -> list[Form | None]:
    """Return the forms that are found from now on."""
    found: list[Form | None] = []

    def told(*args: Any) -> Form | None:
        found.append(prove(*args))
        return found[-1]

    monkeypatch.setattr(dense, "prove", told)
    return found


# Ties are exact, or nearly: 0.3 is less than three tenths, and so is the half of five of them.
TIES = [0.5, 2.0**-7, 0.3, 0.1, 1 / 7, 3 / 14, 0.7]


@pytest.mark.parametrize("bounds", [(-128, 127), (0, 255), (-20, 100)])
def test_every_sum_is_scaled_as_by_float64(
    bounds: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = kinds(monkeypatch)
    rng = np.random.default_rng(2)
    drawn = [np.exp2(rng.uniform(-12, -1, channels)) for channels in (1, 1, 4)]
    large = [np.array([each]) for each in (1.0, 1.5, 300.0, 1e30)]
    ties = [np.array([each]) for each in TIES]
    for multiplier in (*drawn, *ties, np.array(TIES), *large, np.array([0.1, 2.5])):
        sums = sums_for(multiplier)
        expected = scale_down(sums, multiplier, "float64", 3, bounds, "int32").astype(np.int64)
        np.testing.assert_array_equal(rescaled(sums, multiplier, 3, bounds), expected)
    assert {form is None for form in found} == {True, False}


@pytest.mark.parametrize("is_wide", [False, True])
@pytest.mark.parametrize("signs", [1, 2])
def test_every_kind_of_form_is_computed_as_numpy_does(
    signs: int, monkeypatch: pytest.MonkeyPatch, *, is_wide: bool
) -> None:
    addend = np.arange(3 * signs).reshape(signs, 3) * 100 * (1 << 32 if is_wide else 1)
    factors = np.array([1 << 25, 12345678, 7], np.int32)
    form = Form(np.arange(3), 4, factors, addend.astype(np.int64 if is_wide else np.int32))
    monkeypatch.setattr(dense, "prove", lambda *_: form)
    sums = np.random.default_rng(3).integers(-9999, 9999, (50, 3)).astype(np.int32)
    result = rescaled(sums, np.full(3, 0.1), 0, (-128, 127))
    np.testing.assert_array_equal(result, np.clip(form(sums.astype(np.int64)), -128, 127))
