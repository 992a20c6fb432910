"""Rules of operators that TVM's importer has not, or has otherwise: a file for each."""

from __future__ import annotations

from qnn_ops.modules import import_modules

import_modules(__name__)
