"""The calls of a run, and the bytes that each of them takes."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from legalize.call_plan import Constant
from legalize.memory_plan import lives_of
from tvm_qnn.profile.lowered import LoweredCall, candidates
from tvm_qnn.standalone.arrangement import Arrangement
from tvm_qnn.standalone.export import code_of
from tvm_qnn.standalone.image import write_object
from tvm_qnn.standalone.symbols import loaded_sections
from tvm_qnn.target.options import options_kept

COPY = "memcpy"
"""What stands for a function where a tensor is copied."""


@dataclass(frozen=True)
class Step:
    """A call of a function.

    Attributes:
        function: its name; ``COPY`` for a copy.
        operators: the numbers of those to which it may belong.
        constant_bytes: of the constants that no earlier call reads.
        function_bytes: of the function's machine code, if no earlier call has it; None where it is
            not known.
        workspace: bytes of the workspace that are in use.
        instructions: an estimate of how many it takes; None where there is none.
    """

    function: str
    operators: frozenset[int]
    constant_bytes: int
    function_bytes: int | None
    workspace: int
    instructions: int | None


def steps_of(
    arranged: Arrangement,
    lowered: Sequence[LoweredCall],
    constants: Sequence[int],
    code: dict[str, int] | None,
    instructions: Mapping[str, int],
) -> Iterator[Step]:
    """Yield the calls of a run.

    Args:
        arranged: has them, with inputs and outputs beside the workspace.
        lowered: the calls of the lowered function.
        constants: the bytes of each constant.
        code: those of each section of the machine code; each function has one. None where
            they are not known.
        instructions: estimates of how many a call of a function takes, where there are any.
    """
    plan = arranged.plan
    lives = lives_of(plan)
    owners = iter(candidates([call.function for call in plan.calls if call.function], lowered))
    known: set[int] = set()
    called: set[str] = set()
    for number, call in enumerate(plan.calls):
        read = {each.number for each in call.arguments if isinstance(each, Constant)} - known
        known |= read
        size = None if code is None else 0
        if code is not None and call.function and call.function not in called:
            size = code.get(f".text.{arranged.symbols[call.function]}", 0)
        called.add(call.function or COPY)
        living = [n for n, (first, last) in lives.items() if first <= number <= last]
        yield Step(
            call.function or COPY,
            frozenset(n for n in next(owners) if n is not None) if call.function else frozenset(),
            sum(constants[n] for n in read),
            size,
            sum(plan.temporaries[n] for n in living),
            instructions.get(call.function or COPY),
        )


def code_sections(arranged: Arrangement) -> dict[str, int] | None:
    """Compile the functions of a model; return the bytes of what is loaded, by section.

    Returns:
        The sizes; None where object files are not in the format ELF.
    """
    with tempfile.TemporaryDirectory() as folder, options_kept(arranged.compiled.target):
        file = Path(folder) / "code.o"
        write_object(file, code_of(arranged), "no_constants", b"", arranged.alignment)
        return loaded_sections(file.read_bytes())
