"""Operators that are written as others of the standard, a file for each family."""

from __future__ import annotations

from qnn_ops.modules import import_modules

import_modules(__name__)
