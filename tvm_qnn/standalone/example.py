"""Writes programs beside an exported model: one runs it on files, one checks its outputs."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from string import Template

import numpy as np
import tvm

from tvm_qnn.standalone.c99 import c_array
from tvm_qnn.standalone.program import Program
from tvm_qnn.target.microcontrollers import is_plain_c


def example(program: Program) -> str:
    """Return the program that runs a model on files."""
    return _filled("main.c", program)


def _texts(program: Program) -> dict[str, str]:
    """Return a program's texts about its compiler, the model's memory, and the model's calls."""
    m, signature, arena = program.macro, program.signature, program.arranged.arena
    ends = {"input": range(len(signature.inputs)), "output": range(len(signature.outputs))}
    names = {kind: [f"{kind}{i}" for i in numbers] for kind, numbers in ends.items()}
    macros = {kind: [f"{m}_{kind.upper()}_{i}" for i in each] for kind, each in ends.items()}
    sizes = {kind: [f"{macro}_SIZE" for macro in each] for kind, each in macros.items()}
    blocks, arguments = {"workspace": f"{m}_WORKSPACE_SIZE"}, ["workspace"]
    if arena is None:
        for kind, each in names.items():
            blocks.update(zip(each, sizes[kind], strict=True))
        arguments = ["inputs", "outputs", *arguments]
    else:
        for kind, each in macros.items():
            names[kind] = [f"(char *)workspace + {macro}_OFFSET" for macro in each]
    if signature.states:
        blocks["state"] = f"{m}_STATE_SIZE"
        arguments.append("state")
    declared = "static _Alignas({m}_ALIGNMENT) unsigned char {name}[{size}];"
    if program.code is not None:
        declared = "static int64_t {name}[({size} + 7) / 8];"
    lines = [declared.format(m=m, name=name, size=size) for name, size in blocks.items()]
    return {
        "prefix": program.prefix,
        "macro": m,
        "compiler": compiler(program.target),
        "units": " ".join(program.units),
        "declarations": "\n".join(lines),
        "arguments": ", ".join(arguments),
        "begin": f"  if ({program.prefix}_reset(state)) return 1;\n" if signature.states else "",
        **{f"{kind}s": ", ".join(each) for kind, each in names.items()},
        **{f"{kind}_sizes": ", ".join(each) for kind, each in sizes.items()},
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
    columns = {
        "given": [*zip(*(vector.inputs for vector in vectors), strict=True)],
        "wanted": [*zip(*(vector.outputs for vector in vectors), strict=True)],
    }
    arrays = {
        kind: [_array(f"{kind}{number}", each) for number, each in enumerate(tensors)]
        for kind, tensors in columns.items()
    }
    return _filled(
        "test.c",
        program,
        vectors=len(vectors),
        arrays="".join(text for each in arrays.values() for text in each),
        **{kind: ", ".join(f"{kind}{i}" for i in range(len(arrays[kind]))) for kind in arrays},
    )


def _filled(template: str, program: Program, **texts: object) -> str:
    """Return a file of the folder ``templates`` with texts about a model in it."""
    text = (files("tvm_qnn.standalone") / "templates" / template).read_text("utf-8")
    return Template(text).substitute(_texts(program), **texts)


def _array(name: str, tensors: Sequence[np.ndarray]) -> str:
    contents = b"".join(np.asarray(tensor, order="C").tobytes() for tensor in tensors)
    return c_array("static const unsigned char", name, [*map(str, contents)])
