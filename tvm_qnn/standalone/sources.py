"""The C files of a standalone export."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import tvm

from legalize.call_plan import Call, Constant, Input, Output, Place, Plan, Temporary
from qnn_ops.tensor_info import Signature, TensorInfo
from tvm_qnn.standalone.arrangement import Arrangement, size_of, state_size
from tvm_qnn.target.microcontrollers import is_plain_c

_C_TYPES = {"float16": "uint16_t", "float32": "float", "float64": "double", "bool": "uint8_t"}


@dataclass(frozen=True)
class Program:
    """The contents of the files.

    Attributes:
        prefix: what every name in C begins with.
        signature: the inputs and outputs.
        target: what the code is for.
        arranged: the calls of a run, and where its tensors lie.
        offsets: where each constant begins, and behind them the states before the first run.
        needs: the functions of other libraries that the object calls; None: not known.
        names: of the layers to which the calls of a run belong; None where a call is named after
            its function.
        code: its functions as C99; None where an object file has them.
    """

    prefix: str
    signature: Signature
    target: tvm.target.Target
    arranged: Arrangement
    offsets: tuple[int, ...]
    needs: Sequence[str] | None
    names: Sequence[str] | None = None
    code: str | None = None

    @property
    def alignment(self) -> int:
        """Of every pointer, in bytes."""
        return self.arranged.alignment

    @property
    def plan(self) -> Plan:
        """The calls of a run."""
        return self.arranged.plan

    @property
    def units(self) -> tuple[str, ...]:
        """The files that a program is linked of, beside its own."""
        ends = (".c", ".o") if self.code is None else (".c", "_weights.c")
        return tuple(f"{self.prefix}{end}" for end in ends)

    @property
    def macro(self) -> str:
        """The beginning of every macro."""
        return self.prefix.upper()

    @property
    def weights(self) -> str:
        """The name of the constants."""
        return weights(self.prefix)

    @property
    def state_offsets(self) -> tuple[int, ...]:
        """Where each state begins in the memory of all."""
        first = len(self.plan.constants)
        return tuple(offset - self.offsets[first] for offset in self.offsets[first:])

    @property
    def state_size(self) -> int:
        """The bytes of all states; behind them their new values are written."""
        return state_size(self.signature, self.alignment)

    @property
    def arguments(self) -> str:
        """The arguments of the function that runs the model, in C."""
        given = [] if self.arranged.arena else ["const void *inputs[]", "void *outputs[]"]
        keeps = ["void *state"] if self.signature.states else []
        return ", ".join([*given, "void *workspace", *keeps])

    @property
    def machine(self) -> str:
        """The target in a few words."""
        if is_plain_c(self.target):
            return "any compiler of C99"
        attrs = self.target.attrs
        words = [attrs.get("mtriple"), attrs.get("mcpu"), *attrs.get("mattr", ())]
        return " ".join(str(word) for word in words if word) or "the machine that made it"


def weights(prefix: str) -> str:
    """Return the name of the constants in C."""
    return f"{prefix}_weights"


def files(program: Program) -> dict[str, str]:
    """Return the files' contents by name: header and support code."""
    prefix = program.prefix
    return {
        f"{prefix}.h": _header(program),
        f"{prefix}.c": _support(program),
    }


def constant(prefix: str, number: int) -> str:
    """Return the name of a constant in plain C."""
    return f"{prefix}_constant_{number}"


def initial(prefix: str) -> str:
    """Return the name of the states before the first run in plain C."""
    return f"{prefix}_initial_state"


def _header(program: Program) -> str:
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
{_state_size(program)}
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


def _state_size(program: Program) -> str:
    if not program.signature.states:
        return ""
    return f"#define {program.macro}_STATE_SIZE {2 * program.state_size} /* bytes */\n"


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
    """List the functions that the object calls, in lines of the header's comment."""
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


def c_type(dtype: str) -> str:
    """Return the type in C of a tensor's elements."""
    return _C_TYPES.get(dtype, f"{dtype}_t")


def _support(program: Program) -> str:
    m, prefix = program.macro, program.prefix
    is_real = program.code is not None and re.search(r"\bNAN\b|\bINFINITY\b", program.code)
    maths = "#include <math.h>\n" if program.code is not None and (program.needs or is_real) else ""
    return f"""\
/* {_what_it_has(program)} */
#include "{prefix}.h"

{maths}#include <stdint.h>
#include <string.h>

{_callees(program)}
/* Define {m}_HOOK as the name of a function of yours, to follow a run: it gets the number and the
 * layer's name of each call before it, and how many there were and a null pointer at the end. */
#ifdef {m}_HOOK
extern void {m}_HOOK(int call, const char *layer);
#else
#define {m}_HOOK(call, layer) ((void)0)
#endif

static int is_wrong(const void *pointer) {{
  return !pointer || (uintptr_t)pointer % {m}_ALIGNMENT;
}}

{_reset(program)}int {prefix}_run({program.arguments}) {{
{_constants_pointer(program)}  unsigned char *const memory = (unsigned char *)workspace;

{_state_check(program)}  if (is_wrong(workspace)) return 1;
{_tensors_check(program)}  (void)memory;

{chr(10).join(_hooked(program, number, call) for number, call in enumerate(program.plan.calls))}
  {m}_HOOK({len(program.plan.calls)}, 0);
{_state_change(program)}  return 0;
}}
"""


def _what_it_has(program: Program) -> str:
    if program.code is None:
        return f"Calls the functions of {program.prefix}.o, in their order."
    return "The layers of a quantized model, and the function that calls them in their order."


def _constants_pointer(program: Program) -> str:
    if program.code is not None:
        return ""
    return f"  const unsigned char *const constants = {program.weights};\n  (void)constants;\n"


def _callees(program: Program) -> str:
    """Declare the constants and the functions of an object file, or write them in C."""
    if program.code is not None:
        return f"{constant_declarations(program)}\n{program.code}"
    functions = {}
    for call in program.plan.calls:
        if call.function:
            shifts = program.arranged.members_of(call)[1:]
            kinds = [
                "int32_t" if i in shifts else "const void *" for i in range(len(call.arguments))
            ]
            kinds += ["int32_t"] * len(_numbers(program, call))
            functions[_symbol(program, call)] = ", ".join(kinds)
    lines = [f"extern const unsigned char {program.weights}[];"]
    lines += [f"extern void {symbol}({kinds});" for symbol, kinds in functions.items()]
    return "\n".join(lines) + "\n"


def constant_declarations(program: Program) -> str:
    """Declare the constants of plain C, for C++ as C has them."""
    names = [
        f"extern const {c_type(str(each.numpy().dtype))} {constant(program.prefix, number)}[];"
        for number, each in enumerate(program.plan.constants)
    ]
    if program.signature.states:
        names.append(f"extern const unsigned char {initial(program.prefix)}[];")
    lines = ["#ifdef __cplusplus", 'extern "C" {', "#endif", *names]
    return "\n".join([*lines, "#ifdef __cplusplus", "}", "#endif"]) + "\n"


def _reset(program: Program) -> str:
    if not program.signature.states:
        return ""
    begin = initial(program.prefix)
    if program.code is None:
        begin = f"{program.weights} + {program.offsets[len(program.plan.constants)]}"
    return f"""\
int {program.prefix}_reset(void *state) {{
  if (is_wrong(state)) return 1;
  memcpy(state, {begin}, {program.state_size});
  return 0;
}}

"""


def _tensors_check(program: Program) -> str:
    if program.arranged.arena is not None:
        return ""
    return f"""\
  for (int i = 0; i < {len(program.signature.inputs)}; i++)
    if (is_wrong(inputs[i])) return 1;
  for (int i = 0; i < {len(program.signature.outputs)}; i++)
    if (is_wrong(outputs[i])) return 1;
"""


def _state_check(program: Program) -> str:
    if not program.signature.states:
        return ""
    return """\
  unsigned char *const kept = (unsigned char *)state;

  if (is_wrong(state)) return 1;
"""


def _state_change(program: Program) -> str:
    if not program.signature.states:
        return ""
    return f"  memcpy(kept, kept + {program.state_size}, {program.state_size});\n"


def _hooked(program: Program, number: int, call: Call) -> str:
    name = program.arranged.symbols[call.function] if call.function else "memcpy"
    name = program.names[number] if program.names is not None else name
    return f"  {program.macro}_HOOK({number}, {_c_string(name)});\n{_call(program, call)}"


def _c_string(text: str) -> str:
    """Write any text as C does; two question marks in it begin nothing else."""

    def written(byte: int) -> str:
        is_plain = 0x20 <= byte < 0x7F and byte not in b'"\\?'
        return chr(byte) if is_plain else f"\\{byte:03o}"

    return f'"{"".join(map(written, text.encode(errors="replace")))}"'


def _call(program: Program, call: Call) -> str:
    arguments = [_pointer(program, place) for place in call.arguments]
    if call.function:
        arguments = [_shift(program, call, i) or text for i, text in enumerate(arguments)]
        arguments += map(str, _numbers(program, call))
        return f"  {_symbol(program, call)}({', '.join(arguments)});"
    to = call.arguments[0]
    if isinstance(to, Temporary):
        size = program.plan.temporaries[to.number]
    else:
        results = (*program.signature.outputs, *program.signature.states)
        size = size_of(results[to.number])
    return f"  memcpy({', '.join(arguments)}, {size});"


def _symbol(program: Program, call: Call) -> str:
    arranged = program.arranged
    name, _ = arranged.merged.calls[arranged.name_of(call)]
    return str(arranged.merged.functions[name].attrs["global_symbol"])


def _numbers(program: Program, call: Call) -> tuple[int, ...]:
    """Return what the function of a call takes behind its pointers."""
    _, numbers = program.arranged.merged.calls[program.arranged.name_of(call)]
    return numbers


def _shift(program: Program, call: Call, number: int) -> str | None:
    """Return how many elements behind the first member an argument begins, where it is one."""
    members = program.arranged.members_of(call)
    if number not in members[1:]:
        return None
    begins = [
        program.arranged.layout.offsets[place.number]
        for place in (call.arguments[members[0]], call.arguments[number])
        if isinstance(place, Temporary)
    ]
    dtype = program.arranged.compiled.functions[call.function or ""].params[number].dtype
    return str((begins[1] - begins[0]) // np.dtype(str(dtype)).itemsize)


def _pointer(program: Program, place: Place) -> str:
    if isinstance(place, Input):
        state = place.number - len(program.signature.inputs)
        return f"inputs[{place.number}]" if state < 0 else f"kept + {program.state_offsets[state]}"
    if isinstance(place, Output):
        state = place.number - len(program.signature.outputs)
        if state < 0:
            return f"outputs[{place.number}]"
        return f"kept + {program.state_size + program.state_offsets[state]}"
    if isinstance(place, Constant) and program.code is not None:
        return constant(program.prefix, place.number)
    if isinstance(place, Constant):
        return f"constants + {program.offsets[place.number]}"
    return f"memory + {program.arranged.layout.offsets[place.number]}"
