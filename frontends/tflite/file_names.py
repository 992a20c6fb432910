"""Names inside TFLite files, and the programs whose integers a file may mean."""

IDENTIFIER = b"TFL3"
"""The identifier that every file has at byte 4."""

SEMANTICS = ("litert", "tflm")
"""The program whose integers are meant: LiteRT with its reference kernels, or TFLM, for
microcontrollers."""

METADATA = "TFLITE_METADATA"
"""The name of the metadata in a file."""
