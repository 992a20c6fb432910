"""Operators that are replaced by other standard operators, one file per family."""

from qnn_ops.modules import import_modules

import_modules(__name__)
