"""A store of object code: each function is compiled once, for all models and processes.

An entry is an object file. Its name is a digest of everything that decides it: the function, the
target, the passes, the sources that compile, and the versions of TVM and LLVM. A digest precedes
its contents, and is checked when they are read.
"""

import functools
import hashlib
import os
import warnings
from contextlib import suppress
from pathlib import Path

import tvm
from tvm.target import codegen

from legalize.loop_functions import function_text
from legalize.passes.bodies import TAKES_POINTERS
from qnn_ops.errors import QnnError
from tvm_qnn.io.kept import DIGEST_SIZE, Kept, cache_folder
from tvm_qnn.io.outputs import replacing
from tvm_qnn.target.linker import find_linker
from tvm_qnn.target.sources import add, folder_of, sources_digest
from tvm_qnn.target.target import requirements

FOLDER = "objects"
"""The store's subfolder in the user's cache."""

_CHECK_SIZE = 32

_SOURCES = Path(__file__).parent, folder_of("legalize")
"""The folders whose code decides an object.

The name of a function with pointers has only the digest of its kernel, so ``legalize``, which turns
kernels into such functions, is one of them.
"""


class ObjectStore(Kept):
    """Object files in a folder, by the keys of their functions."""

    limit, suffix = 500_000_000, ".o"

    def find(self, key: str) -> bytes | None:
        """Return the object of a function; None if it must be compiled."""
        path = self.path(key)
        if not self.is_safe:
            return None
        try:
            contents = path.read_bytes()
        except OSError:
            return None
        check, code = contents[:_CHECK_SIZE], contents[_CHECK_SIZE:]
        if check != _check(key, code):
            self.remove(path)
            return None
        with suppress(OSError):
            os.utime(path)  # mark it as used now
        return code

    def keep(self, codes: dict[str, bytes]) -> None:
        """Store objects by their keys; if this is impossible, warn once."""
        if not (codes and self.is_safe):
            return
        paths = [self.path(key) for key in codes]
        try:
            self.make_folder()
            for path, (key, code) in zip(paths, codes.items(), strict=True):
                with replacing(path) as part:
                    part.write_bytes(_check(key, code) + code)
            self.make_room(*paths)
        except (OSError, QnnError) as error:
            _warn(str(error))


def object_store(target: tvm.target.Target) -> ObjectStore | None:
    """Return the user's store; None if the environment turns it off, or if it is useless here.

    Objects are of no use without a linker. Instruments need to see all passes run.
    """
    folder = cache_folder()
    if folder is None or tvm.transform.PassContext.current().instruments:
        return None
    try:
        find_linker(None, requirements(target).platform)
    except QnnError:
        return None
    return ObjectStore(folder / FOLDER)


def function_key(
    part: tvm.IRModule, target: tvm.target.Target, passes: str, with_names: bool
) -> str:
    """Return a digest of everything that decides the code of a module of functions.

    Args:
        part: the module.
        target: the code's target.
        passes: the settings of TVM's passes, as ``passes_text`` returns them.
        with_names: whether the code has names of variables, in the errors of checks.
    """
    digest = hashlib.blake2b(digest_size=DIGEST_SIZE)
    sources = sources_digest(*_SOURCES)
    versions = [tvm.__version__, codegen.llvm_version_major(), sources]
    for text in (str(target), passes, str(part.attrs), str(versions)):
        add(digest, text.encode())
    for variable, function in part.functions.items():
        names = [str(each.name) for each in function.params] if with_names else []
        texts = [str(variable.name_hint), str(function.attrs), names]
        add(digest, repr(texts).encode())
        # The name of a function with pointers already has the digest of its kernel.
        if TAKES_POINTERS not in function.attrs:
            add(digest, function_text(function))
    return digest.hexdigest()


def passes_text() -> str:
    """Return the settings of passes in the current ``PassContext``."""
    context = tvm.transform.PassContext.current()
    return str([context.opt_level, context.required_pass, context.disabled_pass, context.config])


def _check(key: str, code: bytes) -> bytes:
    return hashlib.blake2b(key.encode() + code, digest_size=_CHECK_SIZE).digest()


@functools.cache
def _warn(reason: str) -> None:
    warnings.warn(f"compiled functions are not kept: {reason}", stacklevel=4)
