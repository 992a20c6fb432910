"""Writes the files of a standalone export from a lowered model."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from string import Template
from typing import Any

import tvm

from legalize.memory_plan import pack
from qnn_ops.dialect.registry import view_of
from qnn_ops.dialect.tensor_info import Signature
from qnn_ops.errors import QnnError
from tvm_qnn.io.outputs import filling
from tvm_qnn.io.steps import step
from tvm_qnn.standalone.arrangement import Arrangement, arrange, check_sizes
from tvm_qnn.standalone.example import Vector, vectors_program
from tvm_qnn.standalone.facts import facts_of, files
from tvm_qnn.standalone.image import archive, lean, write_object
from tvm_qnn.standalone.packages import Package
from tvm_qnn.standalone.plain import code_in_c, weights_file
from tvm_qnn.standalone.program import Program
from tvm_qnn.standalone.symbols import offered_symbols, undefined_symbols
from tvm_qnn.target.microcontrollers import is_plain_c
from tvm_qnn.target.options import options_kept

_TEST = "_test.c"
_C_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


def export_standalone(
    lowered: tvm.IRModule,
    signature: Signature,
    target: tvm.target.Target,
    path: Path,
    *,
    arena: bool = False,
    vectors: Sequence[Vector] = (),
    package: Package | None = None,
    names: Callable[[Arrangement], Sequence[str]] | None = None,
    notes: Callable[[Arrangement], Sequence[str]] | None = None,
) -> list[str]:
    """Write a model as files from which a C compiler makes a program, without TVM.

    Args:
        lowered: the model, lowered by ``legalize.lower``.
        signature: its inputs and outputs.
        target: the target that it was lowered for.
        path: its last part, say ``m``, begins the names of the files and of the C functions. The
            files are ``m.o`` (code and constants), ``m.h``, ``m.hpp``, ``m.c`` and ``m_main.c``, a
            program that shows how to call it.
        arena: whether inputs and outputs also lie in the workspace: see ``arrange``.
        vectors: runs from the first state on, for the test ``m_test.c``; empty for no such test.
        package: the form of the folder; None for these files alone.
        names: returns the layer of each call, for programs that follow a run; None for the
            functions' names.
        notes: returns a text about each call, for comments in plain C; None for ``names``.

    Returns:
        The files' paths in the folder.

    Raises:
        QnnError: if the name is not allowed in C, the folder cannot be written to, or the model
            has something that only TVM's runtime can run.
    """
    prefix = path.name
    if not _C_NAME.fullmatch(prefix):
        raise QnnError(
            "what the C functions of a standalone export begin with is the name of its file, so "
            f"that must be letters, digits and _ only, and begin with a letter: got {prefix!r}"
        )
    if not path.parent.is_dir():
        raise QnnError(f"cannot write {path}: there is no folder {path.parent}")
    check_sizes(signature)
    arranged = arrange(lowered, signature, target, prefix, arena=arena)
    constants, offsets = pack_constants(arranged, signature)
    layers = None if names is None else names(arranged)
    program = Program(prefix, signature, arranged, offsets, None, layers)
    with filling(path.parent) as folder:
        file = None if is_plain_c(target) else folder / f"{prefix}.o"
        if file is None:
            step("write C")
            source = code_in_c(arranged, prefix, layers if notes is None else notes(arranged))
            program = replace(program, code=source.text, needs=sorted(source.calls))
        else:
            with options_kept(target):
                step("write the machine code")
                code = code_of(arranged)
                write_object(file, code, f"{prefix}_weights", constants, arranged.alignment)
            program = replace(program, needs=undefined_symbols(file.read_bytes()))
        facts = facts_of(program)
        texts = files(facts)
        if file is None:
            states = constants[offsets[len(program.plan.constants)] :] if signature.states else b""
            texts[f"{prefix}_weights.c"] = weights_file(
                program, facts, states[: program.state_size]
            )
        if vectors:
            texts[f"{prefix}{_TEST}"] = vectors_program(facts, vectors)
        if package is not None:
            texts = {package.place(name): text for name, text in texts.items()}
            texts |= package.texts(facts)
            file = None if file is None else _packed(package, facts, file)
        for name, text in texts.items():
            place = folder / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8")
        made = [] if file is None else [str(file.relative_to(folder))]
        return sorted([*texts, *made])


def _packed(package: Package, facts: Mapping[str, Any], file: Path) -> Path:
    """Put an object file into its place in a package."""
    library = Template(package.library).substitute(facts)
    place = file.parent / (library or package.place(file.name))
    place.parent.mkdir(parents=True, exist_ok=True)
    if not library:
        return file.rename(place)
    contents = file.read_bytes()
    file.unlink()
    place.write_bytes(archive(contents, offered_symbols(contents) or ()))
    return place


def pack_constants(arranged: Arrangement, signature: Signature) -> tuple[bytes, tuple[int, ...]]:
    """Return a model's constants followed by its first states, and the offset of each."""
    kept = [*map(view_of, arranged.plan.constants), *(each.array() for each in signature.states)]
    block, offsets = pack(kept, arranged.alignment)
    return block.tobytes(), offsets


def code_of(arranged: Arrangement) -> str:
    """Return a model's functions as LLVM's text."""
    module = arranged.compiled.module_of(arranged.merged.functions)
    return lean(str(module.inspect_source("ll")), arranged.compiled.target)
