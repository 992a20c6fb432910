"""What follows from shapes and constants alone, computed when a model is imported.

Converters leave the shapes of a Flatten or a resize to be worked out by the model: SHAPE, parts of
it, products, a new vector. For the shapes that a model is imported for these are numbers. What
depends on the data of a run stays an operator.
"""

from __future__ import annotations

from frontends.tflite.folding.fold import FOLDED, fold

__all__ = ["FOLDED", "fold"]
