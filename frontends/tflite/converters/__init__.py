"""Conversion rules: one operator, or one small family, a file. Importing them registers them."""

from __future__ import annotations

from qnn_ops.modules import import_modules

import_modules(__name__)
