"""Constant folding: computes operators whose operands are known when a model is imported.

TFLite's converters let the model compute the shape for a Flatten or a resize: SHAPE, parts of it,
products, a new vector. With the shapes of the import these are numbers. Operators that depend on
the data of a run stay. This folder does not use TVM.
"""

from __future__ import annotations

from frontends.tflite.folding.fold import fold

__all__ = ["fold"]
