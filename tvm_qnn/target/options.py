"""Options of LLVM itself, which hold for the whole process."""

import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Any

import tvm

_ARM = re.compile(r"(arm|thumb)(?!64)")

_NO_MERGED_ACCESSES = "-arm-load-store-opt:bool=false"

_LOCK = threading.Lock()


def with_options(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return a target's options with those that LLVM needs to compile correctly.

    For 32-bit ARM, LLVM 22 merges neighbouring loads and stores into ldm, stm and vldm. As their
    base it may choose a register whose value is still needed (llvm/llvm-project#223630).

    Args:
        fields: the target's options.
    """
    options = [str(option) for option in fields.get("cl-opt", ())]
    if not _ARM.match(str(fields.get("mtriple", ""))) or _NO_MERGED_ACCESSES in options:
        return dict(fields)
    return {**fields, "cl-opt": [*options, _NO_MERGED_ACCESSES]}


@contextmanager
def options_kept(target: tvm.target.Target) -> Iterator[None]:
    """Let no other thread compile with such options during the block.

    TVM sets the options before LLVM compiles, and restores them afterwards. With two threads, the
    one that ends first would take them from the other.
    """
    with _LOCK if target.attrs.get("cl-opt") else nullcontext():
        yield
