"""Changes LLVM's text of a module for small machines and their linkers."""

import re

import tvm

# TVM's second name for the first function, which repeats all of its code.
_ENTRY = re.compile(r"^define [^\n]*@__tvm_ffi_main\(.*?^}\n", re.MULTILINE | re.DOTALL)

_DEFINITION = re.compile(
    r"^(define [^\n]*@([\w.$]+)\([^\n]*?)((?: section [^\n]*)?)((?: ![^\n]*)?) \{$", re.MULTILINE
)

# Other formats than ELF have other names of sections.
_NO_ELF = re.compile(r"apple|darwin|macos|windows|wasm")

# TVM aligns a function's own buffers to 16 bytes. If the stack is aligned to 8, such a function
# has to align the stack, and needs a register to find its arguments.
_ALIGNED = re.compile(r"\balign 16\b")
_M_PROFILE = re.compile(r"thumb")


def lean(code: str, target: tvm.target.Target) -> str:
    """Return code in which each function has a section of its own, and no table for unwinding.

    Functions for Cortex-M do not align the stack further.

    Args:
        code: a module as LLVM's text.
        target: the target.
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
