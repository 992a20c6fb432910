"""Names that TFLite files carry, and whose integers they may mean."""

from __future__ import annotations

IDENTIFIER = b"TFL3"
"""The identifier that every file has at byte 4."""

SEMANTICS = ("litert", "tflm")
"""Whose integers are meant: those of LiteRT's reference kernels, or those of TFLM, for
microcontrollers."""

METADATA = "TFLITE_METADATA"
"""The name under which a file keeps the metadata for its users."""
