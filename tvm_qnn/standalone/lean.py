"""LLVM's text of a module, made fit for small machines and their linkers."""

from __future__ import annotations

import re

import tvm

# TVM's other name of the first function, with all of its code once more.
_ENTRY = re.compile(r"^define [^\n]*@__tvm_ffi_main\(.*?^}\n", re.MULTILINE | re.DOTALL)

_DEFINITION = re.compile(
    r"^(define [^\n]*@([\w.$]+)\([^\n]*?)((?: section [^\n]*)?)((?: ![^\n]*)?) \{$", re.MULTILINE
)

# Object files that are not ELF name sections in other ways.
_NO_ELF = re.compile(r"apple|darwin|macos|windows|wasm")

# TVM aligns a function's own buffers to 16 bytes. Where the stack is aligned to 8, a function that
# has one then aligns the stack, and keeps a register to find its arguments by.
_ALIGNED = re.compile(r"\balign 16\b")
_M_PROFILE = re.compile(r"thumb")


def lean(code: str, target: tvm.target.Target) -> str:
    """Return code whose functions have sections of their own, and need no table to unwind by.

    Those of Cortex-M take the stack as it is aligned.

    Args:
        code: a module as LLVM's text.
        target: what it is for.
    """
    triple = str(target.attrs.get("mtriple", ""))
    has_sections = not _NO_ELF.search(triple)

    def change(found: re.Match[str]) -> str:
        head, name, section, rest = found.groups()
        if has_sections and not section:
            section = f' section ".text.{name}"'
        return f"{head} nounwind{section}{rest} {{"

    text = _DEFINITION.sub(change, _ENTRY.sub("", code))
    return _ALIGNED.sub("align 8", text) if _M_PROFILE.match(triple) else text
