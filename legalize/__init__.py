"""Lowering of the dialect's operators to integer code: passes, primitives and kernels."""

from legalize.lower import lower
from legalize.passes.legalize_qnn import LegalizeQnn
from legalize.pipeline import calls_pipeline, relax_pipeline

__all__ = ["LegalizeQnn", "calls_pipeline", "lower", "relax_pipeline"]
