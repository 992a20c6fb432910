"""The fit of the cost model of AMX's tiles: least squares of log(time)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from legalize.kernels.conv2d.x86.amx.cost import NANOSECONDS, Terms

Array = npt.NDArray[np.float64]

VECTORS = "vectors"
"""The name of the way that uses vectors, not tiles."""

# Errors of logarithms beyond this count less and less: some measurements are disturbed.
_SOFT = 0.1
_ROUNDS = 300
_NEAR = 1e-9


@dataclass(frozen=True)
class Layer:
    """The measurements of a layer.

    Attributes:
        name: the layer's name.
        units: its cost in vectors, in the units of ``tiling.py``.
        terms: the terms of each way in tiles.
        nanoseconds: the measured time of each way.
    """

    name: str
    units: float
    terms: Mapping[str, Terms]
    nanoseconds: Mapping[str, float]


@dataclass(frozen=True)
class Model:
    """The constants of the model.

    Attributes:
        terms: nanoseconds of each term.
        unit: nanoseconds of a unit in vectors.
    """

    terms: Terms
    unit: float

    def estimates(self, layer: Layer) -> dict[str, float]:
        """Estimate the nanoseconds of each way."""
        found = {VECTORS: self.unit * layer.units}
        for way, terms in layer.terms.items():
            found[way] = float(np.dot(terms, self.terms))
        return found

    def choice(self, layer: Layer) -> str:
        """Return the way with the lowest estimate."""
        estimates = self.estimates(layer)
        return min(estimates, key=lambda way: estimates[way])


def fit(layers: Sequence[Layer]) -> Model:
    """Fit the model to times.

    Constants of terms that no layer has stay unchanged.
    """
    pairs = [
        (terms, layer.nanoseconds[way]) for layer in layers for way, terms in layer.terms.items()
    ]
    counts = np.array([terms for terms, _ in pairs], np.float64)
    times = np.array([time for _, time in pairs])
    units = [np.log(layer.nanoseconds[VECTORS] / layer.units) for layer in layers]
    return Model(Terms(*_least_squares(counts, times)), float(np.exp(np.median(units))))


def _least_squares(counts: Array, times: Array) -> list[float]:
    """Minimize the sum of soft squares of log(counts · x / times) over positive x.

    The steps are those of Levenberg and Marquardt in log(x), with weights for the softness (soft
    L1).
    """
    used = counts.any(axis=0)
    logs = np.log(np.array(NANOSECONDS)[used])
    counts = counts[:, used]
    damping = 1e-3

    def residuals(logs: Array) -> Array:
        return np.asarray(np.log(counts @ np.exp(logs)) - np.log(times))

    def loss(logs: Array) -> float:
        return float(np.sum(np.sqrt(1 + (residuals(logs) / _SOFT) ** 2) - 1))

    best = loss(logs)
    for _ in range(_ROUNDS):
        off = residuals(logs)
        weights = 1 / np.sqrt(1 + (off / _SOFT) ** 2)
        slopes = counts * np.exp(logs) / (counts @ np.exp(logs))[:, None]
        square = slopes.T @ (weights[:, None] * slopes)
        step = np.linalg.solve(
            square + damping * np.diag(np.diag(square) + _NEAR), -slopes.T @ (weights * off)
        )
        found = loss(logs + step)
        if found < best:
            logs, best, damping = logs + step, found, damping / 3
        else:
            damping *= 5
    constants = np.array(NANOSECONDS)
    constants[used] = np.exp(logs)
    return [float(value) for value in constants]


@dataclass(frozen=True)
class Errors:
    """The distances of estimates from times, as ratios less 1.

    Attributes:
        rms: the root mean square of the logarithms.
        median: half of the distances are smaller.
        nine_tenths: nine tenths of the distances are smaller.
    """

    rms: float
    median: float
    nine_tenths: float


def errors(model: Model, layers: Sequence[Layer], *, of_tiles: bool) -> Errors:
    """Compare estimates with times, for the ways in tiles or for vectors."""
    logs = np.array(
        [
            np.log(estimate / layer.nanoseconds[way])
            for layer in layers
            for way, estimate in model.estimates(layer).items()
            if (way != VECTORS) == of_tiles
        ]
    )
    sizes = np.expm1(np.abs(logs))
    rms = float(np.sqrt(np.mean(logs**2)))
    return Errors(rms, float(np.median(sizes)), float(np.quantile(sizes, 0.9)))


@dataclass(frozen=True)
class Regret:
    """The cost of a model's choices, compared with the best choices.

    Attributes:
        off: number of layers whose choice takes over a tenth more than the best way.
        lost: the share of all layers' time that the best choices would save.
        slower: number of layers that would be faster in vectors by a twentieth.
    """

    off: int
    lost: float
    slower: int


def regret(model: Model, layers: Sequence[Layer]) -> Regret:
    """Return the regret of a model's choices, in measured times."""
    chosen = np.array([layer.nanoseconds[model.choice(layer)] for layer in layers])
    best = np.array([min(layer.nanoseconds.values()) for layer in layers])
    vectors = np.array([layer.nanoseconds[VECTORS] for layer in layers])
    return Regret(
        off=int(np.sum(chosen > 1.1 * best)),
        lost=float(chosen.sum() / best.sum() - 1),
        slower=int(np.sum(chosen > 1.05 * vectors)),
    )
