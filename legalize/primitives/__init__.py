"""Every operator of the dialect as integer Relax operators: exact, for any target.

A file holds the rules of a family of operators. Importing this package registers them all.
"""

from legalize.primitives.registry import PRIMITIVES, primitive
from qnn_ops.modules import import_modules

__all__ = ["PRIMITIVES", "primitive"]

import_modules(__name__)
