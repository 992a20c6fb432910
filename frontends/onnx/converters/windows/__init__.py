"""Windows that slide over images: convolutions and pools."""

from qnn_ops.modules import import_modules

import_modules(__name__)
