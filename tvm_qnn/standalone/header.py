"""Writes the header of a standalone export."""

import textwrap
from math import prod

from qnn_ops.dialect.tensor_info import TensorInfo
from tvm_qnn.standalone.arrangement import size_of
from tvm_qnn.standalone.program import Program, c_type


def header(program: Program) -> str:
    """Return a model's header: its sizes, types and functions."""
    m, prefix, signature = program.macro, program.prefix, program.signature
    tensors = [
        line
        for kind, infos in (("INPUT", signature.inputs), ("OUTPUT", signature.outputs))
        for number, info in enumerate(infos)
        for line in (
            *_constants_of(f"{m}_{kind}_{number}", f"{kind.lower()} {number}", info),
            *_place_of(program, kind, number),
            "",
        )
    ]
    state = f"#define {m}_STATE_SIZE {2 * program.state_size} /* bytes */\n"
    state = state if signature.states else ""
    return f"""\
/* A quantized model, made by tvm-qnn for {program.machine}.
 * {_holders(program)} {_needs(program)}
 */
#ifndef {m}_H
#define {m}_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif

#define {m}_ALIGNMENT {program.alignment} /* of every pointer, in bytes */
#define {m}_WORKSPACE_SIZE {program.arranged.workspace} /* bytes */
#define {m}_INPUTS {len(signature.inputs)}
#define {m}_OUTPUTS {len(signature.outputs)}
{state}
{chr(10).join(tensors)}
/* Run the model once.
{_tensors_note(program)}
 * Every pointer must be a multiple of {m}_ALIGNMENT.
 * {_state_note(program)}
 * Returns 0, or 1 if a pointer is null or not aligned, and then does nothing. */
int {prefix}_run({program.arguments});
{_reset_declaration(program)}
#ifdef __cplusplus
}}
#endif

#endif
"""


def _tensors_note(program: Program) -> str:
    m = program.macro
    if program.arranged.arena is None:
        return f"""\
 * inputs, outputs: pointers to dense arrays, the last axis innermost. They must not overlap.
 * workspace: {m}_WORKSPACE_SIZE bytes, whose contents do not matter before or after."""
    return f"""\
 * workspace: {m}_WORKSPACE_SIZE bytes, with the inputs at their offsets, dense arrays, the last
 * axis innermost. Afterwards the outputs are at theirs, and all else in it may have changed."""


def _state_note(program: Program) -> str:
    if not program.signature.states:
        return (
            "It keeps no state: runs with other outputs and workspaces can be under way at the "
            "same time."
        )
    m, prefix = program.macro, program.prefix
    return f"""\
state: {m}_STATE_SIZE bytes, which {prefix}_reset fills; they are what a stream of runs keeps.
 * Runs with other outputs, workspaces and states can be under way at the same time."""


def _reset_declaration(program: Program) -> str:
    if not program.signature.states:
        return ""
    return f"""
/* Begin a stream of runs: fill its state, {program.macro}_STATE_SIZE bytes.
 * Returns 0, or 1 if the pointer is null or not aligned. */
int {program.prefix}_reset(void *state);
"""


def _holders(program: Program) -> str:
    code, weights = program.units[0 if program.code is not None else 1], program.units[1]
    if code == weights:
        return f"{code} has its code and its weights, and calls"
    return f"{code} has its code, {weights} its weights. They call"


def _needs(program: Program) -> str:
    """List the functions that the object file calls, in lines of the header's comment."""
    names = program.needs
    if names is None:
        text = f"what `nm -u {program.prefix}.o` lists."
    elif not names:
        text = "no function of any other library."
    else:
        note = " (of Linux, to ask for the tiles of AMX)" if "syscall" in names else ""
        text = f"of other libraries only: {', '.join(names)}{note}."
    if program.signature.states or not all(call.function for call in program.plan.calls):
        text += f" {program.prefix}.c calls memcpy."
    return "\n * ".join(textwrap.wrap(text, 90))


def _constants_of(macro: str, what: str, info: TensorInfo) -> list[str]:
    shape = ", ".join(map(str, info.shape))
    name = info.name.replace("*/", "* /")
    lines = [f"/* {what}: {name}, {c_type(info.dtype)} [{shape}] */"]
    lines.append(f"#define {macro}_SIZE {size_of(info)} /* bytes */")
    lines.append(f"#define {macro}_COUNT {prod(info.shape)} /* elements */")
    lines.append(f"typedef {c_type(info.dtype)} {macro.lower()}_t;")
    if info.scale is not None:
        lines.append(f"/* real value = (integer - {macro}_ZERO_POINT) * {macro}_SCALE */")
        lines.append(f"#define {macro}_SCALE {info.scale!r}f")
        lines.append(f"#define {macro}_ZERO_POINT ({info.zero_point})")
    return lines


def _place_of(program: Program, kind: str, number: int) -> list[str]:
    arena = program.arranged.arena
    if arena is None:
        return []
    tensor = (arena.inputs if kind == "INPUT" else arena.outputs)[number]
    place = program.arranged.layout.offsets[tensor]
    return [f"#define {program.macro}_{kind}_{number}_OFFSET {place} /* in the workspace */"]
