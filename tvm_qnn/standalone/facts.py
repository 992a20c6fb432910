"""Writes a model's files from templates, which name facts about the model."""

import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import numpy as np
import tvm

from legalize.call_plan import Call, Constant, Input, Output, Place, Temporary
from qnn_ops.dialect.tensor_info import TensorInfo
from tvm_qnn.io.templates import filled
from tvm_qnn.standalone.arrangement import size_of
from tvm_qnn.standalone.c99.source import SPECIAL, c_string, in_comment
from tvm_qnn.standalone.program import Program, c_type
from tvm_qnn.target.microcontrollers import is_plain_c

VERSION = "1.0.0"
"""The version of every package; a publisher of a model replaces it with the model's own."""

_FILES = {".h": "model.h", ".hpp": "model.hpp", ".c": "model.c", "_main.c": "main.c"}
"""The templates of the files that every export has, by the ends of the files' names."""

_MOST_CALLS = 100  # of a function, which then stays below 300 lines

_OF_EVERY_C = {"memcpy", "memset", "memmove", "memcmp"}


def files(facts: Mapping[str, Any]) -> dict[str, str]:
    """Return the headers, the support code and the program that runs a model on files, by name.

    Args:
        facts: the model's facts, from ``facts_of``.
    """
    return {
        f"{facts['prefix']}{end}": filled("tvm_qnn.standalone", name, facts)
        for end, name in _FILES.items()
    }


def facts_of(program: Program) -> dict[str, Any]:
    """Return the facts of every file."""
    prefix, m, signature = program.prefix, program.prefix.upper(), program.signature
    arena = program.arranged.arena
    inputs = [*_tensors(program, "input", signature.inputs, arena.inputs if arena else ())]
    outputs = [*_tensors(program, "output", signature.outputs, arena.outputs if arena else ())]
    tensors = [*inputs, *outputs]
    blocks = [{"block": "workspace", "length": f"{m}_WORKSPACE_SIZE"}, *([] if arena else tensors)]
    if signature.states:
        blocks.append({"block": "state", "length": f"{m}_STATE_SIZE"})
    ends = {
        f"{kind}_{fact}s": ", ".join(each[fact] for each in infos)
        for kind, infos in (("input", inputs), ("output", outputs))
        for fact in ("place", "member", "length")
    }
    constants = {
        program.constant(number): c_type(str(each.dtype))
        for number, each in enumerate(program.plan.constants)
    }
    constants |= {program.initial: "uint8_t"} if signature.states else {}
    return {
        "prefix": prefix,
        "macro": m,
        "machine": program.machine,
        "compiler": compiler(program.arranged.compiled.target),
        "units": f"{prefix}.c {prefix}{'.o' if program.code is None else '_weights.c'}",
        "needs": _needs(program),
        "is_plain": program.code is not None,
        "has_arena": arena is not None,
        "has_state": bool(signature.states),
        "alignment": program.arranged.alignment,
        "workspace": program.arranged.workspace,
        "state_bytes": 2 * program.state_size,
        "state_size": program.state_size,
        "parameters": ", ".join(program.parameters.values()),
        "arguments": ", ".join(program.parameters),
        "argument_names": [{"argument": name} for name in program.parameters],
        "member_arguments": ", ".join(
            f"{name}_" if name in ("workspace", "state") else name for name in program.parameters
        ),
        "tensors": tensors,
        "blocks": blocks,
        "input_count": len(inputs),
        "output_count": len(outputs),
        "code": program.code,
        "calls_maths": program.code is not None
        and bool(program.needs or SPECIAL.search(program.code)),
        "constants": [{"type": kind, "constant": name} for name, kind in constants.items()],
        "state_offset": next(iter(program.offsets[len(program.plan.constants) :]), None),
        **ends,
        **_call_facts(program),
        **_package_facts(program),
    }


def _tensors(
    program: Program, kind: str, infos: Sequence[TensorInfo], places: Sequence[int]
) -> Iterator[dict[str, Any]]:
    """Yield the facts of inputs or outputs.

    Args:
        program: the model.
        kind: "input" or "output".
        infos: their descriptions.
        places: their temporary tensors, if they lie in the workspace.
    """
    for number, info in enumerate(infos):
        tensor = f"{program.prefix.upper()}_{kind.upper()}_{number}"
        block, offset = f"{kind}{number}", f"{tensor}_OFFSET"
        yield {
            "kind": kind,
            "number": number,
            "tensor": tensor,
            "typedef": f"{tensor.lower()}_t",
            "name": in_comment(info.name),
            "type": c_type(info.dtype),
            "shape": ", ".join(map(str, info.shape)),
            "size": size_of(info),
            "count": prod(info.shape),
            "is_quantized": info.scale is not None,
            "scale": repr(info.scale),
            "zero_point": info.zero_point,
            "offset": program.arranged.layout.offsets[places[number]] if places else None,
            "block": block,
            "length": f"{tensor}_SIZE",
            "place": f"(char *)workspace + {offset}" if places else block,
            "member": f"workspace_ + {offset}" if places else f"{block}_",
        }


def _package_facts(program: Program) -> dict[str, Any]:
    sentence = f"The quantized model {program.prefix}, compiled by tvm-qnn for {program.machine}."
    core = str(program.arranged.compiled.target.attrs.get("mcpu", ""))
    return {
        "version": VERSION,
        "sentence": sentence,
        "sentence_in_xml": escape(sentence),
        "sentence_in_json": json.dumps(sentence),
        "needs_maths": program.needs is None or bool(set(program.needs) - _OF_EVERY_C),
        "core": core,
        # The packs of devices name their cores so: Cortex-M0+, Cortex-M4.
        "core_in_xml": quoteattr(core.replace("plus", "+").title()),
    }


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


def _call_facts(program: Program) -> dict[str, Any]:
    """Return the calls of a run, and the functions that they call.

    Many calls are in several functions, the parts.
    """
    calls = [
        {
            "call_number": number,
            "layer": c_string(_layer(program, number, call)),
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
