"""The C files of a standalone export."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import tvm

from legalize.call_plan import Call, Constant, Input, Output, Place, Plan
from legalize.memory_plan import Layout
from qnn_ops.tensor_info import Signature, TensorInfo

_C_TYPES = {"float16": "uint16_t", "float32": "float", "float64": "double", "bool": "uint8_t"}


@dataclass(frozen=True)
class Program:
    """The contents of the files.

    Attributes:
        prefix: what every name in C begins with.
        signature: the inputs and outputs.
        target: what the code is for.
        alignment: of every pointer, in bytes.
        plan: the calls of a run.
        symbols: the functions' names in C by those in the plan.
        offsets: where each constant begins, and behind them the states before the first run.
        layout: where each temporary tensor lies.
        needs: the functions of other libraries that the object calls; None: not known.
    """

    prefix: str
    signature: Signature
    target: tvm.target.Target
    alignment: int
    plan: Plan
    symbols: Mapping[str, str]
    offsets: tuple[int, ...]
    layout: Layout
    needs: Sequence[str] | None

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
        sizes = map(size_of, self.signature.states)
        return sum(-(-size // self.alignment) * self.alignment for size in sizes)

    @property
    def arguments(self) -> str:
        """The arguments of the function that runs the model, in C."""
        keeps = ", void *state" if self.signature.states else ""
        return f"const void *inputs[], void *outputs[], void *workspace{keeps}"

    @property
    def machine(self) -> str:
        """The target in a few words."""
        attrs = self.target.attrs
        words = [attrs.get("mtriple"), attrs.get("mcpu"), *attrs.get("mattr", ())]
        return " ".join(str(word) for word in words if word) or "the machine that made it"


def weights(prefix: str) -> str:
    """Return the name of the constants in C."""
    return f"{prefix}_weights"


def files(program: Program) -> dict[str, str]:
    """Return the files' contents by name: header, support code and an example."""
    prefix = program.prefix
    return {
        f"{prefix}.h": _header(program),
        f"{prefix}.c": _support(program),
        f"{prefix}_main.c": _example(program),
    }


def size_of(info: TensorInfo) -> int:
    """Count the bytes of a tensor."""
    return prod(info.shape) * np.dtype(info.dtype).itemsize


def _header(program: Program) -> str:
    m, prefix, signature = program.macro, program.prefix, program.signature
    tensors = [
        line
        for kind, infos in (("INPUT", signature.inputs), ("OUTPUT", signature.outputs))
        for number, info in enumerate(infos)
        for line in _constants_of(f"{m}_{kind}_{number}", f"{kind.lower()} {number}", info)
    ]
    return f"""\
/* A quantized model, made by tvm-qnn for {program.machine}.
 * {prefix}.o has its code and its weights, and calls {_needs(program)}
 */
#ifndef {m}_H
#define {m}_H

#ifdef __cplusplus
extern "C" {{
#endif

#define {m}_ALIGNMENT {program.alignment} /* of every pointer, in bytes */
#define {m}_WORKSPACE_SIZE {max(program.layout.size, program.alignment)} /* bytes */
#define {m}_INPUTS {len(signature.inputs)}
#define {m}_OUTPUTS {len(signature.outputs)}
{_state_size(program)}
{chr(10).join(tensors)}
/* Run the model once.
 * inputs, outputs: pointers to dense arrays, the last axis innermost. They must not overlap.
 * workspace: {m}_WORKSPACE_SIZE bytes, whose contents do not matter before or after.
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
    lines = [f"/* {what}: {name}, {_c_type(info.dtype)} [{shape}] */"]
    lines.append(f"#define {macro}_SIZE {size_of(info)} /* bytes */")
    if info.scale is not None:
        lines.append(f"/* real value = (integer - {macro}_ZERO_POINT) * {macro}_SCALE */")
        lines.append(f"#define {macro}_SCALE {info.scale!r}f")
        lines.append(f"#define {macro}_ZERO_POINT ({info.zero_point})")
    return [*lines, ""]


def _c_type(dtype: str) -> str:
    return _C_TYPES.get(dtype, f"{dtype}_t")


def _support(program: Program) -> str:
    m, prefix, signature = program.macro, program.prefix, program.signature
    functions = {
        program.symbols[call.function]: len(call.arguments)
        for call in program.plan.calls
        if call.function
    }
    declarations = [
        f"extern void {symbol}({', '.join(['const void *'] * count)});"
        for symbol, count in functions.items()
    ]
    return f"""\
/* Calls the functions of {prefix}.o, in their order. */
#include "{prefix}.h"

#include <stdint.h>
#include <string.h>

extern const unsigned char {program.weights}[];
{chr(10).join(declarations)}

static int is_wrong(const void *pointer) {{
  return !pointer || (uintptr_t)pointer % {m}_ALIGNMENT;
}}

{_reset(program)}int {prefix}_run({program.arguments}) {{
  const unsigned char *const constants = {program.weights};
  unsigned char *const memory = (unsigned char *)workspace;

{_state_check(program)}  if (is_wrong(workspace)) return 1;
  for (int i = 0; i < {len(signature.inputs)}; i++)
    if (is_wrong(inputs[i])) return 1;
  for (int i = 0; i < {len(signature.outputs)}; i++)
    if (is_wrong(outputs[i])) return 1;
  (void)constants, (void)memory;

{chr(10).join(_call(program, call) for call in program.plan.calls)}
{_state_change(program)}  return 0;
}}
"""


def _reset(program: Program) -> str:
    if not program.signature.states:
        return ""
    first = program.offsets[len(program.plan.constants)]
    return f"""\
int {program.prefix}_reset(void *state) {{
  if (is_wrong(state)) return 1;
  memcpy(state, {program.weights} + {first}, {program.state_size});
  return 0;
}}

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


def _call(program: Program, call: Call) -> str:
    arguments = [_pointer(program, place) for place in call.arguments]
    if call.function:
        return f"  {program.symbols[call.function]}({', '.join(arguments)});"
    to = call.arguments[0]
    assert isinstance(to, Output)
    results = (*program.signature.outputs, *program.signature.states)
    size = size_of(results[to.number])
    return f"  memcpy({', '.join(arguments)}, {size});"


def _pointer(program: Program, place: Place) -> str:
    if isinstance(place, Input):
        state = place.number - len(program.signature.inputs)
        return f"inputs[{place.number}]" if state < 0 else f"kept + {program.state_offsets[state]}"
    if isinstance(place, Output):
        state = place.number - len(program.signature.outputs)
        if state < 0:
            return f"outputs[{place.number}]"
        return f"kept + {program.state_size + program.state_offsets[state]}"
    if isinstance(place, Constant):
        return f"constants + {program.offsets[place.number]}"
    return f"memory + {program.layout.offsets[place.number]}"


def _example(program: Program) -> str:
    m, prefix, signature = program.macro, program.prefix, program.signature
    memory = "\n".join(
        f"static _Alignas({m}_ALIGNMENT) unsigned char {kind}{i}[{m}_{kind.upper()}_{i}_SIZE];"
        for kind, infos in (("input", signature.inputs), ("output", signature.outputs))
        for i in range(len(infos))
    )
    inputs = ", ".join(f"input{i}" for i in range(len(signature.inputs)))
    outputs = ", ".join(f"output{i}" for i in range(len(signature.outputs)))
    input_sizes = ", ".join(f"sizeof input{i}" for i in range(len(signature.inputs)))
    output_sizes = ", ".join(f"sizeof output{i}" for i in range(len(signature.outputs)))
    has_state = bool(signature.states)
    state = ", state" if has_state else ""
    begin = f"  if ({prefix}_reset(state)) return 1;\n" if has_state else ""
    memory_of_state = f"static _Alignas({m}_ALIGNMENT) unsigned char state[{m}_STATE_SIZE];"
    keeps = f"\n{memory_of_state}" if has_state else ""
    return f"""\
/* Runs the model on files: one for each input, then one for each output, of raw elements.
 * Input files may hold several examples after one another; so do the output files then.
 *
 *   {_compiler(program.target)} -O2 -o {prefix} {prefix}_main.c {prefix}.c {prefix}.o -lm
 *   ./{prefix} INPUT... OUTPUT... */
#include <stdio.h>

#include "{prefix}.h"

static _Alignas({m}_ALIGNMENT) unsigned char workspace[{m}_WORKSPACE_SIZE];
{memory}{keeps}

int main(int count, char **names) {{
  const void *inputs[] = {{{inputs}}};
  void *outputs[] = {{{outputs}}};
  const size_t input_sizes[] = {{{input_sizes}}}, output_sizes[] = {{{output_sizes}}};
  FILE *files[{m}_INPUTS + {m}_OUTPUTS];

  if (count != 1 + {m}_INPUTS + {m}_OUTPUTS) {{
    fprintf(stderr, "usage: %s INPUT... OUTPUT...\\n", names[0]);
    return 2;
  }}
  for (int i = 0; i < {m}_INPUTS + {m}_OUTPUTS; i++)
    if (!(files[i] = fopen(names[1 + i], i < {m}_INPUTS ? "rb" : "wb"))) {{
      perror(names[1 + i]);
      return 1;
    }}
{begin}  for (;;) {{
    for (int i = 0; i < {m}_INPUTS; i++) {{
      size_t got = fread((void *)inputs[i], 1, input_sizes[i], files[i]);
      if (i == 0 && got == 0) return 0;
      if (got != input_sizes[i]) {{
        fprintf(stderr, "%s ends in the middle of an input\\n", names[1 + i]);
        return 1;
      }}
    }}
    if ({prefix}_run(inputs, outputs, workspace{state})) return 1;
    for (int i = 0; i < {m}_OUTPUTS; i++)
      if (fwrite(outputs[i], 1, output_sizes[i], files[{m}_INPUTS + i]) != output_sizes[i]) {{
        perror(names[1 + {m}_INPUTS + i]);
        return 1;
      }}
  }}
}}
"""


def _compiler(target: tvm.target.Target) -> str:
    attrs = target.attrs
    triple = str(attrs.get("mtriple", ""))
    architecture = triple.split("-")[0]
    if architecture.startswith("thumb"):
        floats = "hard" if triple.endswith("hf") else "soft"
        options = f"-mcpu={attrs.get('mcpu', 'CORE')} -mthumb -mfloat-abi={floats}"
        return f"arm-none-eabi-gcc {options} --specs=rdimon.specs -Wl,--gc-sections"
    known = {"aarch64": "aarch64-linux-gnu-gcc", "armv7l": "arm-linux-gnueabihf-gcc"}
    return known.get(architecture, "cc")
