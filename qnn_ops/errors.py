"""The project's exceptions, a warning, and the error of an index out of range."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import tvm_ffi


@tvm_ffi.register_error
class QnnError(ValueError):
    """Something given to tvm-qnn does not fit; the message names what, where, got and needed.

    It is registered with TVM's FFI, so that a type rule's error crosses TVM's C++ and reaches the
    caller with its own type.
    """


@contextmanager
def needed(use: str, package: str, install: str, where: str = "") -> Iterator[None]:
    """Let an import fail with the use that needs a package, its name, what pip installs and where.

    Raises:
        QnnError: the package cannot be imported.
    """
    try:
        yield
    except ImportError as error:
        raise QnnError(
            f"{use} needs the package {package}, which cannot be imported ({error}); "
            f"install it{where} with: pip install {install}"
        ) from error


class LeftInFloatWarning(UserWarning):
    """Operators between dequantize and quantize are computed in float32; the text says why."""


# Without this, a Ctrl-C while TVM's C++ runs a pass or a rule of ours would arrive as one of TVM's
# errors, with pages of traceback.
tvm_ffi.register_error("KeyboardInterrupt", KeyboardInterrupt)


REFUSE_INDEX = "tvm_qnn.refuse_index"
"""The name by which compiled code calls ``refuse_index``."""


def refuse_index(source: str, index: int, size: int) -> NoReturn:
    """Raise a QnnError that names an index, the operator that reads it, and the size."""
    raise QnnError(f"{source}: index {index} is beyond the {size} that there are")


tvm_ffi.register_global_func(REFUSE_INDEX, refuse_index, override=True)
