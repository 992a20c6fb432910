"""The code of libraries that were compiled in this process."""

import mmap
import sys
from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import tvm_ffi

from tvm_qnn.io.steps import step
from tvm_qnn.library import runtime
from tvm_qnn.library.metadata import Metadata
from tvm_qnn.library.origin import Origin
from tvm_qnn.library.package import Variant, write_package
from tvm_qnn.target.codegen import Compiled
from tvm_qnn.target.linker import find_linker, shared_library_linker


class BuiltOrigin(Origin):
    """Newly compiled code; see ``Origin``."""

    def __init__(self, compiled: Compiled) -> None:
        """Wrap compiled code."""
        self._compiled = compiled

    def program(self) -> runtime.Program:
        """Turn the kernels into machine code in memory."""
        compiled = self._compiled
        constants = in_large_pages(compiled.constants, runtime.ALIGNMENT)
        return runtime.Program(compiled.bytecode, compiled.runnable(), constants, compiled)

    def write(self, path: Path, metadata: Metadata, cc: str | None) -> None:
        """Link the kernels and write the file."""
        link = self._link(find_linker(cc, metadata.requirements.platform))
        write_package(path, [Variant(metadata, link, self._compiled.bytecode, self.constants())])

    def constants(self) -> list[np.ndarray]:
        """Return the constants as arrays that share their memory."""
        return [np.from_dlpack(tensor) for tensor in self._compiled.constants]

    def _link(self, command: list[str]) -> Callable[[Path], None]:
        def link(output: Path) -> None:
            step("write the machine code")
            objects = self._compiled.write_objects(output.parent)
            step("link")
            shared_library_linker(command)(str(output), list(map(str, objects)))

        return link


LEAST, MOST = 4 << 20, 64 << 20
"""The fewest and the most bytes of constants that are copied.

Processors keep the addresses of fewer bytes than ``LEAST``. More than ``MOST`` would take too much
memory: each process has its own copy, where it shares the pages of a file.
"""

_PAGE = 2 << 20
"""The bytes of a large page, which replaces 512 pages of 4 KiB.

A processor keeps the addresses of some thousand pages. Constants that take more pages than that
cost a search for nearly every page in each run, and prefetches wait for it, too.
"""
_SYSTEM = Path("/sys/kernel/mm/transparent_hugepage")


def in_large_pages(constants: Sequence[Any], alignment: int) -> list[Any]:
    """Copy tensors to large pages, in their order.

    Constants of a file stay mapped from it: processes share them, and a copy made no run faster.

    Args:
        constants: tensors on the processor.
        alignment: the alignment in bytes of each copy.

    Returns:
        The copies; the tensors themselves if they take too few or too many bytes, if numpy lacks
        the dtype of one, or if the system gives no such pages.
    """
    if not _has_large_pages():
        return [*constants]
    try:
        arrays = [np.from_dlpack(constant) for constant in constants]
    except (BufferError, RuntimeError):  # numpy has no bfloat16, for example
        return [*constants]
    sizes = (-(-array.nbytes // alignment) * alignment for array in arrays)
    places = [*accumulate(sizes, initial=0)]
    if not LEAST <= places[-1] <= MOST or (memory := _pages(places[-1])) is None:
        return [*constants]
    copies = []
    for constant, array, (start, end) in zip(constants, arrays, pairwise(places), strict=True):
        if array.size:
            copy = memory[start:end][: array.nbytes].view(array.dtype).reshape(array.shape)
            copy[...] = array
            constant = tvm_ffi.from_dlpack(copy)
        copies.append(constant)
    return copies


def _has_large_pages() -> bool:
    """Tell whether Linux gives pages of this size to programs that ask for them."""
    try:
        enabled = (_SYSTEM / "enabled").read_text()
        return "[never]" not in enabled and int((_SYSTEM / "hpage_pmd_size").read_text()) == _PAGE
    except (OSError, ValueError):
        return False


def _pages(size: int) -> np.ndarray | None:
    """Return memory of uint8 that begins with a large page; None if the system gives none."""
    if sys.platform != "linux":
        return None
    try:
        memory = mmap.mmap(-1, size + _PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        memory.madvise(mmap.MADV_HUGEPAGE)
    except OSError:  # such as a limit of address space
        return None
    row = np.frombuffer(memory, np.uint8)
    return row[-row.ctypes.data % _PAGE :]
