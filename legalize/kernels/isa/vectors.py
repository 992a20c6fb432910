"""The vectors of each architecture."""

from tvm.target import Target

from legalize.kernels.isa import neon_vectors, x86_vectors
from legalize.kernels.isa.base import VectorIsa
from legalize.kernels.isa.targets import has_features

VECTORS: tuple[VectorIsa, ...] = (*x86_vectors.VECTORS, *neon_vectors.VECTORS)
"""All vectors, the fastest of each architecture first."""


def vectors_for(target: Target) -> list[VectorIsa]:
    """Return the vectors that a target has, the fastest first."""
    return [isa for isa in VECTORS if has_features(target, isa.features)]
