"""Writes LLVM's object files.

If a disk is full, LLVM ends the process. So LLVM writes to memory, and then this copies to disk.
"""

import errno
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from tvm_qnn.io.outputs import scratch

OF_TVM = ("lib0.o", "devc.o")
"""The names of the objects that TVM's own export writes."""

_MEMORY = Path("/proc/self/fd")  # Linux; on other systems LLVM writes to the disk itself


def object_of(module: Any) -> bytes:
    """Return a module's LLVM code as the contents of an object file.

    Raises:
        OSError: if the system allows no file of that size.
    """
    check_file_limit(lambda: len(module.inspect_source("s")))  # an object is smaller
    with scratch() as folder, in_memory([path := folder / "kernels.o"]):
        module.write_to_file(str(path), "o")
        return path.read_bytes()


def check_file_limit(size: Callable[[], int] | None = None) -> None:
    """Check that LLVM may write a file: if the system refuses, LLVM ends the process.

    The limit of a file's size also holds for files in memory.

    Args:
        size: returns the most bytes that the file may take; None if it is unknown.

    Raises:
        OSError: if the file may be larger than the limit.
    """
    if sys.platform == "win32":
        return
    try:
        import resource
    except ImportError:
        return
    limit, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    if limit != resource.RLIM_INFINITY and (size is None or size() > limit):
        raise OSError(errno.EFBIG, f"it may take files of more than {limit:,} bytes (ulimit -f)")


@contextmanager
def in_memory(paths: Iterable[Path]) -> Iterator[None]:
    """Turn paths of missing files into links to memory, if the system has files in memory."""
    with ExitStack() as stack:
        if sys.platform == "linux" and _MEMORY.is_dir():
            for path in paths:
                file = stack.enter_context(os.fdopen(os.memfd_create(path.name), "wb"))
                path.symlink_to(_MEMORY / str(file.fileno()))
        yield


def settling(link: Callable[..., None]) -> Callable[..., None]:
    """Return a linker function, as TVM's export takes it, that first writes objects to the disk."""

    def settle_and_link(output: str, objects: Sequence[str], options: Any = None) -> None:
        for path in map(Path, objects):
            if path.is_symlink():
                contents = path.read_bytes()
                path.unlink()
                path.write_bytes(contents)
        link(output, objects, options)

    return settle_and_link
