from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest

from benchmarks.tiles.fit import VECTORS, Layer, Model, errors, fit, regret
from benchmarks.tiles.layers import layers, name_of, ways
from legalize.kernels.conv2d.x86.amx.cost import NANOSECONDS, Terms, terms
from legalize.kernels.conv2d.x86.tiling import units
from legalize.kernels.isa.x86 import AVX512_VNNI, ByteProducts

OTHER = Model(Terms(220, 9, 4.6, 1.3, 2.9, 2.4, 6.1, 1.6, 0.55, 0.5, 1.5, 2.6, 40), 0.17)
"""A processor whose constants all differ."""

NOISE = 0.05
"""The standard deviation of the logarithms of disturbed times."""


def timed(model: Model, noise: Callable[[], float] = lambda: 1.0) -> list[Layer]:
    """Return the layers with the times that a model gives, times some noise."""
    found = []
    for spec in layers():
        counts = {way: terms(plan) for way, plan in ways(spec).items()}
        layer = Layer(name_of(spec), units(spec, ByteProducts(AVX512_VNNI)), counts, {})
        times = {way: time * noise() for way, time in model.estimates(layer).items()}
        found.append(replace(layer, nanoseconds=times))
    return found


def standard_errors(layers: list[Layer]) -> npt.NDArray[np.float64]:
    """Return those of the logarithms of OTHER's constants, by linear least squares."""
    counts = np.array([count for layer in layers for count in layer.terms.values()], np.float64)
    shares = counts * np.array(OTHER.terms)
    shares /= shares.sum(axis=1, keepdims=True)
    return np.asarray(NOISE * np.sqrt(np.diag(np.linalg.inv(shares.T @ shares))))


def test_layers_differ_and_have_every_term() -> None:
    measured = timed(OTHER)
    assert len({layer.name for layer in measured}) == len(measured) > 80
    counts = np.array([count for layer in measured for count in layer.terms.values()])
    assert counts.any(axis=0).all()


def test_exact_times_give_their_constants_again() -> None:
    model = fit(timed(OTHER))
    assert model.terms == pytest.approx(OTHER.terms, rel=1e-3)
    assert model.unit == pytest.approx(OTHER.unit)


def test_disturbed_times_give_nearly_the_same() -> None:
    rng = np.random.default_rng(0)

    def noise() -> float:
        return float(np.exp(rng.normal(0, NOISE))) * (3.0 if rng.random() < 0.03 else 1.0)

    measured = timed(OTHER, noise)
    model = fit(measured)
    off = np.log(np.array(model.terms) / np.array(OTHER.terms))
    # Products and loads nearly go together in these layers: what tells them apart is in their
    # standard errors.
    assert np.all(np.abs(off) < 3 * standard_errors(measured))
    for name in ("far_tiles", "vectors"):
        assert getattr(model.terms, name) == pytest.approx(getattr(OTHER.terms, name), rel=0.1)
    assert errors(model, measured, of_tiles=True).median < 0.06


def test_what_no_layer_has_stays_as_it_is() -> None:
    measured = [layer for layer in timed(OTHER) if not layer.name.endswith("uint8")]
    model = fit(measured)
    assert model.terms.pixel_sums == NANOSECONDS.pixel_sums
    assert model.terms.products == pytest.approx(OTHER.terms.products, rel=1e-3)


def test_errors_are_distances_of_estimates_from_times() -> None:
    terms = {"tiles": Terms(calls=1)}
    model = Model(Terms(calls=100), 1.0)
    measured = [
        Layer(str(time), 50, terms, {VECTORS: 50, "tiles": time}) for time in (100, 100, 50)
    ]
    found = errors(model, measured, of_tiles=True)
    assert found.median == 0
    assert found.rms == pytest.approx(np.log(2) / np.sqrt(3))
    assert found.nine_tenths == pytest.approx(0.8)
    assert errors(model, measured, of_tiles=False).rms == 0


def test_regret_counts_what_choices_take_more_than_the_best() -> None:
    tiles = {"tiles": Terms(calls=1)}
    model = Model(Terms(calls=100), 1.0)
    measured = [
        Layer("right", 200, tiles, {VECTORS: 200, "tiles": 100}),
        Layer("wrong", 200, tiles, {VECTORS: 100, "tiles": 200}),
        Layer("in vectors", 50, tiles, {VECTORS: 60, "tiles": 50}),
    ]
    assert [model.choice(layer) for layer in measured] == ["tiles", "tiles", VECTORS]
    cost = regret(model, measured)
    assert (cost.off, cost.slower) == (2, 1)
    assert cost.lost == pytest.approx(360 / 250 - 1)
