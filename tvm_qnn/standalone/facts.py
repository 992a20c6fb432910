"""Writes a model's files from templates, which name facts about the model."""

import json
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import tvm

from qnn_ops.dialect.tensor_info import TensorInfo
from tvm_qnn.io.templates import filled
from tvm_qnn.standalone.arrangement import size_of
from tvm_qnn.standalone.calls import call_facts
from tvm_qnn.standalone.program import Program, c_type
from tvm_qnn.target.microcontrollers import is_plain_c

VERSION = "1.0.0"
"""The version of every package; a publisher of a model replaces it with the model's own."""

_FILES = {".h": "model.h", ".hpp": "model.hpp", ".c": "model.c", "_main.c": "main.c"}
"""The templates of the files that every export has, by the ends of the files' names."""

_OF_EVERY_C = {"memcpy", "memset", "memmove", "memcmp"}

SPECIAL = re.compile(r"\b(NAN|INFINITY)\b")
"""Finds macros of C's math.h."""


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
        **call_facts(program),
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


def in_comment(text: str) -> str:
    """Return a text that neither ends a comment of C nor begins one, and is on one line.

    Spaces replace what continues lines or is not printed, and separate ``*`` from ``/``.
    """
    plain = "".join(each if each.isprintable() and each != "\\" else " " for each in text)
    # ??/ is a backslash in C99.
    return re.sub(r"(?<=[*?])(?=/)|(?<=/)(?=\*)", " ", plain)


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
