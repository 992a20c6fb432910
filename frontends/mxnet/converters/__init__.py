"""Conversion rules of MXNet: an operator, or a small family, a file. Importing registers them."""

from __future__ import annotations

from qnn_ops.modules import import_modules

import_modules(__name__)
