"""Files that commands take: libraries, and models of one format."""

from __future__ import annotations

from pathlib import Path

from frontends.formats import format_of
from qnn_ops.errors import QnnError

LIBRARY = ".so"


def ending(path: Path) -> str:
    """Return the ending of a file's name, in small letters: KWS.TFLITE is a model, too."""
    return path.suffix.lower()


def is_tflite(path: Path) -> bool:
    """Tell whether a file that is a library or a model is a model that LiteRT reads.

    Raises:
        QnnError: if it is neither.
    """
    return path.suffix != LIBRARY and format_of(path).name == "TFLite"


def check_tflite(path: Path) -> None:
    """Check that a model file is one that LiteRT reads.

    Raises:
        QnnError: if not.
    """
    if not is_tflite(path):
        raise QnnError(f"{path} is not a .tflite file, which this command needs")
