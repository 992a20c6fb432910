"""The operators' options: one dataclass per options table of the TFLite schema.

Each class has the name of its table. A field has the name of the table's field. Its type or its
annotation decides how it is read. Fields that the importer does not use (hints to other runtimes)
are left out.
"""

from frontends.tflite.options import layers, moves, values

__all__ = ["layers", "moves", "values"]
