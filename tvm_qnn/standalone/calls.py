"""The facts about the calls of a run that the templates of an export's files name."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from legalize.call_plan import Call, Constant, Input, Output, Place, Temporary
from tvm_qnn.standalone.arrangement import size_of
from tvm_qnn.standalone.program import Program

_MOST_CALLS = 100  # of a function, which then stays below 300 lines


def call_facts(program: Program) -> dict[str, Any]:
    """Return the calls of a run, and the functions that they call.

    Many calls are in several functions, the parts.
    """
    calls = [
        {
            "call_number": number,
            "layer": _c_string(_layer(program, number, call)),
            "call": _call(program, call),
        }
        for number, call in enumerate(program.plan.calls)
    ]
    begins = range(0, len(calls), _MOST_CALLS) if len(calls) > _MOST_CALLS else ()
    return {
        "calls": calls,
        "call_count": len(calls),
        "parts": [
            {
                "part": f"{program.prefix}_run_from_{begin}",
                "calls": calls[begin : begin + _MOST_CALLS],
            }
            for begin in begins
        ],
        "callees": [{"symbol": name, "types": types} for name, types in _callees(program)],
    }


def _layer(program: Program, number: int, call: Call) -> str:
    """Return the name of a call's layer."""
    if program.names is not None:
        return program.names[number]
    return program.arranged.symbols[call.function] if call.function else "memcpy"


def _callees(program: Program) -> Iterator[tuple[str, str]]:
    """Yield the functions of an object file, with the types of their parameters."""
    found = {}
    for call in program.plan.calls:
        if call.function:
            shifts = program.arranged.members_of(call)[1:]
            kinds = [
                "int32_t" if i in shifts else "const void *" for i in range(len(call.arguments))
            ]
            kinds += ["int32_t"] * len(_numbers(program, call))
            found[_symbol(program, call)] = ", ".join(kinds)
    yield from found.items()


def _c_string(text: str) -> str:
    """Write a text as a string in C; question marks are escaped, so that none begins a trigraph."""

    def written(byte: int) -> str:
        is_plain = 0x20 <= byte < 0x7F and byte not in b'"\\?'
        return chr(byte) if is_plain else f"\\{byte:03o}"

    return f'"{"".join(map(written, text.encode(errors="replace")))}"'


def _call(program: Program, call: Call) -> str:
    arguments = [_pointer(program, place) for place in call.arguments]
    if call.function:
        arguments = [_shift(program, call, i) or text for i, text in enumerate(arguments)]
        arguments += map(str, _numbers(program, call))
        return f"{_symbol(program, call)}({', '.join(arguments)})"
    to = call.arguments[0]
    if isinstance(to, Temporary):
        size = program.plan.temporaries[to.number]
    else:
        results = (*program.signature.outputs, *program.signature.states)
        size = size_of(results[to.number])
    return f"memcpy({', '.join(arguments)}, {size})"


def _symbol(program: Program, call: Call) -> str:
    arranged = program.arranged
    name, _ = arranged.merged.calls[arranged.name_of(call)]
    return str(arranged.merged.functions[name].attrs["global_symbol"])


def _numbers(program: Program, call: Call) -> tuple[int, ...]:
    """Return the numbers that a call's function takes after its pointers."""
    _, numbers = program.arranged.merged.calls[program.arranged.name_of(call)]
    return numbers


def _shift(program: Program, call: Call, number: int) -> str | None:
    """Return an argument's distance in elements from the first member; None if it is no member."""
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
        return program.constant(place.number)
    if isinstance(place, Constant):
        return f"constants + {program.offsets[place.number]}"
    return f"memory + {program.arranged.layout.offsets[place.number]}"
