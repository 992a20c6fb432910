"""The file of a library: a shared library of kernels, followed by the library's other parts.

The system's loader maps the shared library and ignores the rest. The parts are in order:

    shared library | bytecode | constants, each at a multiple of 64 bytes | description | end

A library for several targets repeats the parts before the description for each variant; a constant
of several variants is stored once. The description is JSON: for each variant its metadata, and the
positions of its shared library, bytecode and constants. The end has a fixed size: the position of
the description, and a digest of every byte before it. So a damaged file, and the requirements of a
whole one, are known before any code is loaded. Constants are used in place: the system maps them
from the file, and all processes share them.
"""

import hashlib
import json
import math
import mmap
import os
import struct
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from qnn_ops.distinct import Distinct
from qnn_ops.errors import QnnError
from tvm_qnn.io.outputs import replacing
from tvm_qnn.library.bytecode import check_bytecode
from tvm_qnn.library.metadata import Metadata
from tvm_qnn.library.runtime import ALIGNMENT

_END = struct.Struct("<QQ32s8s")  # the description's offset and size, digest, magic
_MAGIC = b"tvm-qnn\x01"
_CHUNK = 1 << 20


@dataclass(frozen=True)
class Variant:
    """A library's code for one target.

    Attributes:
        metadata: the code's description.
        link: writes the shared library of its kernels to a path; it may use the path's folder.
        bytecode: the code of TVM's virtual machine, which calls the kernels.
        constants: the constants, contiguous; those of a file are views of it.
    """

    metadata: Metadata
    link: Callable[[Path], object]
    bytecode: bytes
    constants: Sequence[np.ndarray]


@dataclass(frozen=True)
class Package:
    """A file that was read and is undamaged.

    Attributes:
        variants: its code; the file begins with the first variant's shared library.
        memory: the mapped file.
    """

    variants: tuple[Variant, ...]
    memory: mmap.mmap

    @property
    def digest(self) -> str:
        """SHA-256 of the whole file, in hexadecimal."""
        return hashlib.sha256(self.memory).hexdigest()

    @property
    def end(self) -> bytes:
        """The end of the file, with the digest: files with equal ends are equal."""
        return self.memory[-_END.size :]


def write_package(path: Path, variants: Sequence[Variant]) -> None:
    """Write a library's file in one step: the old file stays until the whole new one is there.

    Args:
        path: the file.
        variants: the code for each target, at least one.

    Raises:
        QnnError: if the file cannot be written.
    """
    with replacing(path) as part:
        first, *others = variants
        first.link(part)
        kernels = [(0, part.stat().st_size)]
        with part.open("r+b") as stream:
            stream.seek(0, os.SEEK_END)
            for other in others:
                other.link(file := part.with_name("kernels.so"))
                kernels.append(_append(stream, memoryview(file.read_bytes())))
            stored: Distinct[tuple[int, int]] = Distinct()
            described = [
                {
                    "metadata": variant.metadata.to_fields(),
                    "kernels": place,
                    "bytecode": _append(stream, memoryview(variant.bytecode)),
                    "constants": [_constant(stream, each, stored) for each in variant.constants],
                }
                for variant, place in zip(variants, kernels, strict=True)
            ]
            text = json.dumps({"variants": described}, sort_keys=True).encode()
            offset, size = _append(stream, memoryview(text))
            stream.seek(0)
            digest = _digest(stream, offset + size, hashlib.blake2b(digest_size=32))
            stream.write(_END.pack(offset, size, digest, _MAGIC))


def read_package(path: Path, digest: str | None = None, *, is_new: bool = False) -> Package:
    """Read a file, and check that it is a library and that no byte of it has changed.

    Args:
        path: the file.
        digest: SHA-256 of the expected file in hexadecimal, if only that file is allowed.
        is_new: whether this process has just written the file: then its bytes are as they were.

    Raises:
        QnnError: if a check fails.
        OSError: if the file cannot be read.
    """
    with path.open("rb") as stream:
        length = os.fstat(stream.fileno()).st_size
        if (
            digest is not None
            and (found := _digest(stream, length, hashlib.sha256())).hex() != digest
        ):
            raise QnnError(f"it is another file than was expected: its SHA-256 is {found.hex()}")
        if length < _END.size:
            raise QnnError("tvm-qnn did not make it, or it is cut short")
        stream.seek(length - _END.size)
        offset, size, own, magic = _END.unpack(stream.read(_END.size))
        if magic != _MAGIC:
            raise QnnError("tvm-qnn did not make it, or it is cut short")
        stream.seek(0)
        contents, kind = length - _END.size, hashlib.blake2b(digest_size=32)
        if not is_new and _digest(stream, contents, kind) != own:
            raise QnnError("the file is damaged: its digest is not that of its contents")
        # A private mapping can be written to: DLPack takes no other memory.
        memory = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_COPY)
    try:
        fields = json.loads(memory[offset : offset + size])
        first, *others = (_variant(memory, **each) for each in fields["variants"])
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
        # The digest is right, so this is another version of the format.
        raise QnnError(f"its description cannot be understood: {error!r}") from error
    for variant in (first, *others):
        check_bytecode(variant.bytecode, len(variant.constants))
    return Package((first, *others), memory)


def is_still(path: Path, package: Package) -> bool:
    """Tell whether a path still names the file of a package."""
    with suppress(OSError), path.open("rb") as stream:
        stream.seek(-_END.size, os.SEEK_END)
        return stream.read() == package.end
    return False


def _variant(
    memory: mmap.mmap,
    metadata: Mapping[str, Any],
    kernels: Sequence[int],
    bytecode: Sequence[int],
    constants: Sequence[Mapping[str, Any]],
) -> Variant:
    """Return the variant whose parts are at the positions that the description states."""
    (start, size), (begin, count) = kernels, bytecode
    return Variant(
        Metadata.from_fields(metadata),
        lambda path: path.write_bytes(memory[start : start + size]),
        memory[begin : begin + count],
        tuple(_view(memory, **each) for each in constants),
    )


def _constant(
    stream: BinaryIO, array: np.ndarray, stored: Distinct[tuple[int, int]]
) -> dict[str, Any]:
    """Write a constant unless its bytes are stored already, and describe it."""
    data = array.reshape(-1).view(np.uint8)
    place = stored.value(data, lambda: _append(stream, data.data))
    return {"dtype": str(array.dtype), "shape": array.shape, "at": place}


def _append(stream: BinaryIO, data: memoryview) -> tuple[int, int]:
    """Write data at the next multiple of ALIGNMENT; return position and size."""
    end = stream.tell()
    stream.write(bytes(-end % ALIGNMENT))
    start = stream.tell()
    stream.write(data)
    return start, data.nbytes


def _digest(stream: BinaryIO, length: int, digest: Any) -> bytes:
    """Hash the next ``length`` bytes in pieces: a mapped file would all count as used memory."""
    piece = memoryview(bytearray(min(_CHUNK, length)))
    while length and (count := stream.readinto(piece[: min(_CHUNK, length)])):  # type: ignore[attr-defined]
        digest.update(piece[:count])
        length -= count
    return digest.digest()


def _view(memory: mmap.mmap, dtype: str, shape: Sequence[int], at: Sequence[int]) -> np.ndarray:
    kind, (start, size) = np.dtype(dtype), at
    if math.prod(shape) * kind.itemsize != size:
        raise ValueError(f"a constant of {dtype}{shape} in {size} bytes")
    return np.frombuffer(memory, kind, math.prod(shape), start).reshape(shape)
