"""Every operator of the dialect as integer Relax operators: exact, for any target.

A file holds one operator's rule; importing this package registers them all.
"""

from __future__ import annotations

from legalize.primitives.registry import PRIMITIVES, primitive
from qnn_ops.modules import import_modules

__all__ = ["PRIMITIVES", "primitive"]

import_modules(__name__)
