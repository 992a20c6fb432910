"""Conversion rules of MXNet, one file for each family of operators. Importing registers them."""

from qnn_ops.modules import import_modules

import_modules(__name__)
