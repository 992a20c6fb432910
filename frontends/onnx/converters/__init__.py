"""Rules of operators that TVM's importer lacks or has otherwise, a file for each family."""

from __future__ import annotations

from qnn_ops.modules import import_modules

import_modules(__name__)
