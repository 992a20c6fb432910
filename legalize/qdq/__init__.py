"""Float operators between dequantize and quantize as operators of the dialect: a rule a file."""

from __future__ import annotations

from qnn_ops.modules import import_modules

import_modules(__name__)
