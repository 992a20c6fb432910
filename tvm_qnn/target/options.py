"""Options of LLVM's own, which hold for its whole process."""

from __future__ import annotations

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
    """Return a target's options with those that LLVM needs to compile right.

    For 32-bit ARM, LLVM 22 merges loads and stores of neighbours into ldm, stm and vldm. For their
    base it may take a register whose value is still needed (llvm/llvm-project#223630).

    Args:
        fields: of the target.
    """
    options = [str(option) for option in fields.get("cl-opt", ())]
    if not _ARM.match(str(fields.get("mtriple", ""))) or _NO_MERGED_ACCESSES in options:
        return dict(fields)
    return {**fields, "cl-opt": [*options, _NO_MERGED_ACCESSES]}


@contextmanager
def options_kept(target: tvm.target.Target) -> Iterator[None]:
    """Let no other thread compile with options meanwhile.

    TVM sets them before LLVM compiles, and sets them back afterwards: in two threads at once,
    the first that ends takes them from the other.
    """
    with _LOCK if target.attrs.get("cl-opt") else nullcontext():
        yield
