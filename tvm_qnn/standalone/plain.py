"""Writes a model as C99 only, for any compiler."""

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tvm_qnn.io.templates import filled
from tvm_qnn.standalone.arrangement import Arrangement
from tvm_qnn.standalone.c99 import write_functions
from tvm_qnn.standalone.c99.source import SPECIAL, Source, c_array, c_number, c_type, in_comment
from tvm_qnn.standalone.program import Program


def code_in_c(arranged: Arrangement, prefix: str, told: Sequence[str] | None) -> Source:
    """Write the functions of a model.

    Args:
        arranged: the calls.
        prefix: the beginning of every name.
        told: a text about each call; None for the functions' names.
    """
    notes: dict[str, list[str]] = {}
    for number, call in enumerate(arranged.plan.calls):
        if call.function:
            function, _ = arranged.merged.calls[arranged.name_of(call)]
            note = told[number] if told is not None else str(call.function)
            lines = textwrap.wrap(in_comment(note), 96, subsequent_indent="  ")
            notes.setdefault(function, []).append("\n * ".join(lines))
    functions = arranged.merged.functions
    texts = {name: "\n * ".join(dict.fromkeys(notes[name])) for name in functions}
    return write_functions(prefix, functions, texts)


def weights_file(program: Program, facts: Mapping[str, Any], states: bytes) -> str:
    """Return the file with a model's constants.

    Args:
        program: the contents of the other files.
        facts: their facts, from ``facts_of``.
        states: the states before the first run.
    """
    arrays = {
        program.constant(number): each.numpy() for number, each in enumerate(program.plan.constants)
    }
    if states:
        arrays[program.initial] = np.frombuffer(states, np.uint8)
    text = "\n".join(_array(name, array) for name, array in arrays.items())
    has_special = SPECIAL.search(text) is not None
    return filled(
        "tvm_qnn.standalone", "weights.c", {**facts, "arrays": text, "has_special": has_special}
    )


def _array(name: str, array: np.ndarray) -> str:
    dtype = str(array.dtype)
    numbers = [c_number(value, dtype) for value in array.ravel().tolist()]
    return c_array(f"const {c_type(dtype)}", name, numbers)
