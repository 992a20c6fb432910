"""From a lowered model to the files of a standalone export."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import tvm

from legalize import calls_pipeline
from legalize.call_plan import Call, NotCallsError, Plan, Temporary, plan_of
from legalize.memory_plan import ALIGNMENT, lay_out, pack
from qnn_ops.errors import QnnError
from qnn_ops.tensor_info import Signature
from tvm_qnn.io.outputs import filling
from tvm_qnn.standalone import sources
from tvm_qnn.standalone.functions import compile_functions
from tvm_qnn.standalone.image import write_object
from tvm_qnn.standalone.lean import lean
from tvm_qnn.standalone.symbols import undefined_symbols
from tvm_qnn.target.microcontrollers import alignment_of

_LONGEST = 40
_C_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


def file_names(prefix: str) -> list[str]:
    """Return the names of the files of an export."""
    return [f"{prefix}{end}" for end in (".c", ".h", ".o", "_main.c")]


def export_standalone(
    lowered: tvm.IRModule, signature: Signature, target: tvm.target.Target, path: Path
) -> None:
    """Write a model as files that a C compiler makes a program of, without TVM.

    Args:
        lowered: what ``legalize.lower`` made of it.
        signature: its inputs and outputs.
        target: what it was lowered for.
        path: its last part, say ``m``, is what the names of the C functions begin with. The
            files are ``m.o`` (code and constants), ``m.h``, ``m.c`` and ``m_main.c``, a program
            that shows how to call it.

    Raises:
        QnnError: if the name is none in C, the folder cannot be written to, or the model does
            what takes TVM's runtime.
    """
    prefix = path.name
    if not _C_NAME.fullmatch(prefix):
        raise QnnError(
            "what the C functions of a standalone export begin with is the name of its file, so "
            f"that must be letters, digits and _ only, and begin with a letter: got {prefix!r}"
        )
    if not path.parent.is_dir():
        raise QnnError(f"cannot write {path}: there is no folder {path.parent}")
    with target:
        mod = calls_pipeline(target)(lowered)
    try:
        plan = plan_of(mod)
    except NotCallsError as error:
        raise QnnError(
            f"the model cannot be exported without TVM's runtime: it needs {error.what}; "
            "export it as .so instead"
        ) from error
    functions = {call.function: mod[call.function] for call in plan.calls if call.function}
    # Names of fused functions tell all that was fused.
    symbols = {name: f"{prefix}_{i}_{name[:_LONGEST]}" for i, name in enumerate(functions)}
    compiled = compile_functions(functions, symbols, target)
    plan = _with_scratch(plan, compiled.scratch)
    firsts = [info.array() for info in signature.states]
    alignment = alignment_of(target) or ALIGNMENT
    kept = [*(constant.numpy() for constant in plan.constants), *firsts]
    constants, offsets = pack(kept, alignment)
    with filling(path.parent) as folder:
        file = folder / f"{prefix}.o"
        code = lean(str(compiled.module.inspect_source("ll")), target)
        write_object(file, code, sources.weights(prefix), constants, alignment)
        needs = undefined_symbols(file.read_bytes())
        layout = lay_out(plan, alignment)
        program = sources.Program(
            prefix, signature, target, alignment, plan, symbols, offsets, layout, needs
        )
        for name, text in sources.files(program).items():
            (folder / name).write_text(text, encoding="utf-8")


def _with_scratch(plan: Plan, scratch: Mapping[str, Sequence[int]]) -> Plan:
    """Return the plan with the memory that functions need for themselves as their last arguments.

    Args:
        plan: without it.
        scratch: the sizes in bytes of each block that a function takes.
    """
    temporaries = list(plan.temporaries)
    calls = []
    for call in plan.calls:
        sizes = scratch.get(call.function, ()) if call.function else ()
        blocks = range(len(temporaries), len(temporaries) + len(sizes))
        temporaries += sizes
        calls.append(Call(call.function, (*call.arguments, *map(Temporary, blocks))))
    return Plan(tuple(calls), plan.constants, tuple(temporaries))
