"""The quantization of a TFLite tensor, shared by the reader and the writer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Blocks:
    """Scales of the blocks of weights' rows.

    Attributes:
        scales: number of the tensor that holds them, row by row.
        size: the number of weights of a block.
    """

    scales: int
    size: int


@dataclass(frozen=True, eq=False)
class Quantization:
    """Scales and zero points: ``real = scale * (quantized - zero_point)``.

    Attributes:
        scale: float32 of shape [n]; n is 1 (per tensor) or the length of ``axis``.
        zero_point: int64 of shape [n].
        axis: the tensor's axis of the n values; 0 and without meaning if n is 1.
    """

    scale: npt.NDArray[np.float32]
    zero_point: npt.NDArray[np.int64]
    axis: int = 0

    @classmethod
    def per_tensor(cls, scale: float, zero_point: int) -> Quantization:
        """Return one scale and one zero point for the whole tensor."""
        return cls(np.array([scale], np.float32), np.array([zero_point], np.int64))

    @property
    def is_per_channel(self) -> bool:
        """Whether there is more than one scale."""
        return self.scale.size > 1
