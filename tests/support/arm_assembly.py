"""What LLVM makes of a function for an ARM processor."""

import re
from typing import Any

import tvm

from tests.support.arm import Core

_BRANCH = re.compile(r"b(\.?(ne|eq|lo|hi|lt|gt|le|ge|lt|hs|ls|mi|pl))?|cbn?z|tbn?z")
_DEBUG = (".Ltmp", ".Lfunc")


def assembly_of(core: Core, function: Any) -> str:
    """Return the assembly of a PrimFunc."""
    return str(
        tvm.compile(function, target=tvm.target.Target(core.target)).mod.inspect_source("asm")
    )


def inner_loops(assembly: str, product: str) -> list[list[list[str]]]:
    """List the instructions' words of loops that have a product, and no jump but their own."""
    loops: list[list[list[str]]] = []
    block: list[list[str]] = []
    label = ""
    for line in assembly.splitlines():
        words = line.replace(",", " ").split()
        if not words or words[0].startswith(_DEBUG) or words[0].startswith("@"):
            continue
        if words[0].endswith(":"):
            label, block = words[0][:-1], []
        elif _BRANCH.fullmatch(words[0]):
            if words[-1] == label and any(each[0] == product for each in block):
                loops.append(block)
            label, block = "", []
        elif not words[0].startswith("."):
            block.append(words)
    return loops
