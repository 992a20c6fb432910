"""Chooses the next token."""

import numpy as np

from qnn_ops.errors import QnnError


class Sampling:
    """Chooses tokens: the most likely at temperature 0, otherwise at random by probability."""

    def __init__(
        self, temperature: float = 0.0, top_k: int | None = None, seed: int | None = None
    ) -> None:
        """Begin a sequence of choices.

        Args:
            temperature: the number by which scores are divided.
            top_k: how many of the most likely tokens may be chosen; None for all.
            seed: the seed of the random numbers; None for different numbers each time.

        Raises:
            QnnError: if the temperature is negative or ``top_k`` is below 1.
        """
        if not temperature >= 0 or not np.isfinite(temperature):
            raise QnnError(f"generate: temperature must be 0 or more, got {temperature}")
        if top_k is not None and top_k < 1:
            raise QnnError(f"generate: top_k must be at least 1, got {top_k}")
        self._temperature, self._top_k = temperature, top_k
        self._rng = np.random.default_rng(seed)

    def choose(self, scores: np.ndarray) -> int:
        """Return a token; at temperature 0, the first of equal scores.

        Args:
            scores: the scores of all tokens, [vocabulary].
        """
        if not self._temperature:
            return int(scores.argmax())
        order = np.argsort(-scores, kind="stable")[: self._top_k]
        chances = scores[order].astype(np.float64) / self._temperature
        chances = np.exp(chances - chances[0]).cumsum()
        place = np.searchsorted(chances, self._rng.random() * chances[-1], side="right")
        return int(order[min(int(place), len(order) - 1)])
