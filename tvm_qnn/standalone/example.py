"""Writes programs beside an exported model: one runs it on files, one checks its outputs."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import tvm

from tvm_qnn.standalone.c99 import c_array
from tvm_qnn.standalone.program import Program
from tvm_qnn.target.microcontrollers import is_plain_c


@dataclass(frozen=True)
class Memory:
    """The declarations of a model's memory in a C program.

    Attributes:
        declarations: all memory.
        tensors: arrays of the pointers ``inputs`` and ``outputs``, and of their sizes.
        arguments: the arguments of the function that runs the model, if these arrays exist.
        begin: a statement that begins a stream of runs, if the model has a state.
    """

    declarations: str
    tensors: str
    arguments: str
    begin: str


def memory_of(program: Program) -> Memory:
    """Return the declarations that a program needs to run a model."""
    m, signature, arena = program.macro, program.signature, program.arranged.arena
    ends = ("input", len(signature.inputs)), ("output", len(signature.outputs))
    blocks = {"workspace": f"{m}_WORKSPACE_SIZE"}
    names = {kind: [f"{kind}{i}" for i in range(count)] for kind, count in ends}
    if arena is None:
        blocks |= {
            name: f"{m}_{kind.upper()}_{i}_SIZE"
            for kind, each in names.items()
            for i, name in enumerate(each)
        }
    else:
        names = {
            kind: [f"(char *)workspace + {m}_{kind.upper()}_{i}_OFFSET" for i in range(count)]
            for kind, count in ends
        }
    if signature.states:
        blocks["state"] = f"{m}_STATE_SIZE"
    inputs, outputs = ", ".join(names["input"]), ", ".join(names["output"])
    sizes = {
        kind: ", ".join(f"{m}_{kind.upper()}_{i}_SIZE" for i in range(count))
        for kind, count in ends
    }
    return Memory(
        "\n".join(
            f"static int64_t {name}[({size} + 7) / 8];"
            if program.code is not None
            else f"static _Alignas({m}_ALIGNMENT) unsigned char {name}[{size}];"
            for name, size in blocks.items()
        ),
        f"""\
  const void *inputs[] = {{{inputs}}};
  void *outputs[] = {{{outputs}}};
  const size_t input_sizes[] = {{{sizes["input"]}}}, output_sizes[] = {{{sizes["output"]}}};""",
        ", ".join(
            [
                *(["inputs", "outputs"] if arena is None else []),
                "workspace",
                *(["state"] if signature.states else []),
            ]
        ),
        f"  if ({program.prefix}_reset(state)) return 1;\n" if signature.states else "",
    )


def example(program: Program) -> str:
    """Return the program that runs a model on files."""
    m, prefix = program.macro, program.prefix
    memory = memory_of(program)
    return f"""\
/* Runs the model on files: one for each input, then one for each output, of raw elements.
 * Input files may hold several examples after one another; so do the output files then.
 *
 *   {compiler(program.target)} -O2 -o {prefix} {prefix}_main.c {" ".join(program.units)} -lm
 *   ./{prefix} INPUT... OUTPUT... */
#include <stdio.h>

#include "{prefix}.h"

{memory.declarations}

int main(int count, char **names) {{
{memory.tensors}
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
{memory.begin}  for (;;) {{
    for (int i = 0; i < {m}_INPUTS; i++) {{
      size_t got = fread((void *)inputs[i], 1, input_sizes[i], files[i]);
      if (i == 0 && got == 0) return 0;
      if (got != input_sizes[i]) {{
        fprintf(stderr, "%s ends in the middle of an input\\n", names[1 + i]);
        return 1;
      }}
    }}
    if ({prefix}_run({memory.arguments})) return 1;
    for (int i = 0; i < {m}_OUTPUTS; i++)
      if (fwrite(outputs[i], 1, output_sizes[i], files[{m}_INPUTS + i]) != output_sizes[i]) {{
        perror(names[1 + {m}_INPUTS + i]);
        return 1;
      }}
  }}
}}
"""


def compiler(target: tvm.target.Target) -> str:
    """Return the command of a C compiler for a target."""
    if is_plain_c(target):
        return "cc -std=c99"
    attrs = target.attrs
    triple = str(attrs.get("mtriple", ""))
    architecture = triple.split("-")[0]
    if architecture.startswith("thumb"):
        floats = "hard" if triple.endswith("hf") else "soft"
        options = f"-mcpu={attrs.get('mcpu', 'CORE')} -mthumb -mfloat-abi={floats}"
        return f"arm-none-eabi-gcc {options} --specs=rdimon.specs -Wl,--gc-sections"
    known = {"aarch64": "aarch64-linux-gnu-gcc", "armv7l": "arm-linux-gnueabihf-gcc"}
    return known.get(architecture, "cc")


@dataclass(frozen=True)
class Vector:
    """One run of a model.

    Attributes:
        inputs: in order.
        outputs: in order.
    """

    inputs: tuple[np.ndarray, ...]
    outputs: tuple[np.ndarray, ...]


def vectors_program(program: Program, vectors: Sequence[Vector]) -> str:
    """Return the program that runs a model on one test vector after another."""
    m, prefix = program.macro, program.prefix
    memory = memory_of(program)
    given = [*zip(*(vector.inputs for vector in vectors), strict=True)]
    wanted = [*zip(*(vector.outputs for vector in vectors), strict=True)]
    arrays = [
        _array(f"{name}{number}", each)
        for name, tensors in (("given", given), ("wanted", wanted))
        for number, each in enumerate(tensors)
    ]
    return f"""\
/* Runs the model on test vectors, in their order, and compares every byte of its outputs.
 *
 *   {compiler(program.target)} -O2 -o {prefix}_test {prefix}_test.c {" ".join(program.units)} -lm
 *
 * Ends with 0 if all are as they shall be, else with 1. */
#include <stdio.h>
#include <string.h>

#include "{prefix}.h"

#define VECTORS {len(vectors)}

{"".join(arrays)}
{memory.declarations}

int main(void) {{
  const unsigned char *const given[] = {{{_names("given", len(given))}}};
  const unsigned char *const wanted[] = {{{_names("wanted", len(wanted))}}};
{memory.tensors}

{memory.begin}  for (unsigned run = 0; run < VECTORS; run++) {{
    for (int i = 0; i < {m}_INPUTS; i++)
      memcpy((void *)inputs[i], given[i] + run * input_sizes[i], input_sizes[i]);
    if ({prefix}_run({memory.arguments})) return 1;
    for (int i = 0; i < {m}_OUTPUTS; i++) {{
      const unsigned char *made = outputs[i], *want = wanted[i] + run * output_sizes[i];
      for (size_t at = 0; at < output_sizes[i]; at++)
        if (made[at] != want[at]) {{
          printf("vector %u: byte %lu of output %d is %d, and shall be %d\\n", run,
                 (unsigned long)at, i, made[at], want[at]);
          return 1;
        }}
    }}
  }}
  printf("%d vectors: every byte of the outputs is as it shall be\\n", VECTORS);
  return 0;
}}
"""


def _array(name: str, tensors: Sequence[np.ndarray]) -> str:
    contents = b"".join(np.asarray(tensor, order="C").tobytes() for tensor in tensors)
    return c_array("static const unsigned char", name, [*map(str, contents)])


def _names(prefix: str, count: int) -> str:
    return ", ".join(f"{prefix}{number}" for number in range(count))
