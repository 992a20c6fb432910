"""Rules of operators that TVM's importer lacks or computes differently, one file per family."""

from qnn_ops.modules import import_modules

import_modules(__name__)
