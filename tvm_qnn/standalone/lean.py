"""LLVM's text of a module, made fit for linkers that drop what a program does not need."""

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


def lean(code: str, target: tvm.target.Target) -> str:
    """Return code whose functions have sections of their own, and need no table to unwind by.

    Args:
        code: a module as LLVM's text.
        target: what it is for.
    """
    has_sections = not _NO_ELF.search(str(target.attrs.get("mtriple", "")))

    def change(found: re.Match[str]) -> str:
        head, name, section, rest = found.groups()
        if has_sections and not section:
            section = f' section ".text.{name}"'
        return f"{head} nounwind{section}{rest} {{"

    return _DEFINITION.sub(change, _ENTRY.sub("", code))
