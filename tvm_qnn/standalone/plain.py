"""A model as C99 alone, for any compiler."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tvm_qnn.standalone.arrangement import Arrangement
from tvm_qnn.standalone.c99 import Source, c_number, c_type, write_functions
from tvm_qnn.standalone.program import Program, constant, initial
from tvm_qnn.standalone.sources import constant_declarations

_A_LINE = 96  # characters


def code_in_c(arranged: Arrangement, prefix: str, names: Sequence[str] | None) -> Source:
    """Write the functions of a model.

    Args:
        arranged: the calls.
        prefix: what every name begins with.
        names: of the layers to which the calls belong; None for the functions' own.
    """
    notes: dict[str, list[str]] = {}
    for number, call in enumerate(arranged.plan.calls):
        if call.function:
            function, _ = arranged.merged.calls[arranged.name_of(call)]
            note = names[number] if names is not None else str(call.function)
            notes.setdefault(function, []).append(note.replace("*/", "* /"))
    functions = arranged.merged.functions
    texts = {name: "\n * ".join(dict.fromkeys(notes[name])) for name in functions}
    return write_functions(prefix, functions, texts)


def weights_file(program: Program, states: bytes) -> str:
    """Return the file that has a model's constants.

    Args:
        program: the contents of the other files.
        states: the states before the first run.
    """
    arrays = [
        (constant(program.prefix, number), each.numpy())
        for number, each in enumerate(program.plan.constants)
    ]
    if states:
        arrays.append((initial(program.prefix), np.frombuffer(states, np.uint8)))
    texts = "".join(_array(name, array, program) for name, array in arrays)
    maths = "#include <math.h>\n" if "NAN" in texts or "INFINITY" in texts else ""
    return f"""\
/* The constants of the model {program.prefix}. */
{maths}#include <stdint.h>

{constant_declarations(program)}
{texts}"""


def _array(name: str, array: np.ndarray[Any, Any], program: Program) -> str:
    is_state = name == initial(program.prefix)
    kind = "unsigned char" if is_state else c_type(str(array.dtype))
    numbers = [c_number(value, str(array.dtype)) for value in array.ravel().tolist()] or ["0"]
    lines, line = [], ""
    for number in numbers:
        if len(line) + len(number) + 2 > _A_LINE:
            lines.append(line)
            line = ""
        line += f"{number}, "
    lines.append(line)
    body = "\n  ".join(text.rstrip() for text in lines)
    return f"const {kind} {name}[{len(numbers)}] = {{\n  {body.rstrip(',')}}};\n\n"
