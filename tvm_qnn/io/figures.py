"""Pictures that matplotlib draws, if it is installed."""

import os
from pathlib import Path
from typing import Any

from qnn_ops.errors import QnnError
from tvm_qnn.io.outputs import replacing


def check_picture(path: str | os.PathLike[str]) -> None:
    """Check that a picture can be drawn, in the format of a file's ending.

    Raises:
        QnnError: if it cannot.
    """
    kinds = new_figure(1, 1).canvas.get_supported_filetypes()
    kind = os.path.splitext(path)[1].lstrip(".").lower()
    if kind not in kinds:
        raise QnnError(f"cannot draw {os.fspath(path)}: its name must end in .{', .'.join(kinds)}")


def new_figure(width: float, height: float) -> Any:
    """Make a new figure of matplotlib, with a size in inches.

    Raises:
        QnnError: matplotlib is not installed.
    """
    try:
        # Figure, not pyplot: it neither looks for a window system nor leaves a global state.
        from matplotlib.figure import Figure
    except ImportError as error:
        raise QnnError("drawing needs matplotlib: pip install matplotlib") from error
    return Figure(figsize=(width, height), layout="constrained")


def save_figure(figure: Any, path: str | os.PathLike[str], dots_per_inch: int = 130) -> None:
    """Write a figure in the format of the file's ending.

    Raises:
        QnnError: the file cannot be written, or there is no such format.
    """
    with replacing(Path(path)) as part:
        try:
            figure.savefig(part, dpi=dots_per_inch)
        except ValueError as error:
            raise QnnError(str(error)) from error
