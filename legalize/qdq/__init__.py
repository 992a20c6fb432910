"""Rules that turn float operators between dequantize and quantize into the dialect's operators."""

from qnn_ops.modules import import_modules

import_modules(__name__)
