"""Every operator of the dialect as integer Relax operators: exact, for any target.

A file holds the rules of a family of operators. The reference of any other operator is its rule.
Importing this package registers them all.
"""

from legalize.primitives.references import add_references
from legalize.primitives.registry import PRIMITIVES, primitive
from qnn_ops.modules import import_modules

__all__ = ["PRIMITIVES", "primitive"]

import_modules(__name__)
add_references()
