"""The files that commands take: libraries, and models of some format."""

from pathlib import Path

from frontends.formats import format_of

LIBRARY = ".so"


def ending(path: Path) -> str:
    """Return the ending of a file's name in lower case: KWS.TFLITE is a model, too."""
    return path.suffix.lower()


def is_tflite(path: Path) -> bool:
    """Tell whether a file, which is a library or a model, is a model for LiteRT.

    Raises:
        QnnError: if it is neither a library nor a model.
    """
    return path.suffix != LIBRARY and format_of(path).name == "TFLite"


def check_tflite(path: Path) -> None:
    """Check that a file is a model for LiteRT.

    Raises:
        QnnError: if it is not.
    """
    if not is_tflite(path):
        from qnn_ops.errors import QnnError  # loads TVM's runtime

        raise QnnError(f"{path} is not a .tflite file, which this command needs")
