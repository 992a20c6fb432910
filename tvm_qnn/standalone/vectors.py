"""A program that compares what an exported model computes with what it shall compute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tvm_qnn.standalone.example import compiler, memory_of
from tvm_qnn.standalone.sources import Program

Array = np.ndarray[Any, Any]

_A_LINE = 20  # bytes


@dataclass(frozen=True)
class Vector:
    """One run of a model.

    Attributes:
        inputs: in order.
        outputs: in order.
    """

    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]


def vectors_program(program: Program, vectors: Sequence[Vector]) -> str:
    """Return the program that runs a model on test vectors, one after the other."""
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
 *   {compiler(program.target)} -O2 -o {prefix}_test {prefix}_test.c {prefix}.c {prefix}.o -lm
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


def _array(name: str, tensors: Sequence[Array]) -> str:
    contents = b"".join(np.asarray(tensor, order="C").tobytes() for tensor in tensors)
    lines = (contents[start : start + _A_LINE] for start in range(0, len(contents), _A_LINE))
    numbers = ",\n".join(", ".join(map(str, line)) for line in lines)
    return f"static const unsigned char {name}[] = {{\n{numbers}}};\n"


def _names(prefix: str, count: int) -> str:
    return ", ".join(f"{prefix}{number}" for number in range(count))
