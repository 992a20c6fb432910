"""A lowered model as calls of functions, with an address in memory for each tensor.

Open sizes become numbers, and tensors that are parts of others share their memory.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from math import prod
from typing import Any

import numpy as np
import tvm
from tvm import relax

from legalize.call_plan import Call, Input, NotCallsError, Output, Place, Plan, Temporary, plan_of
from legalize.image_rows import JOINS, TAKES
from legalize.memory_plan import ALIGNMENT, Layout, lay_out, lay_out_over
from legalize.passes.bodies import is_view
from legalize.pipeline import calls_pipeline
from qnn_ops.dialect.signature import bounds_of, signature_of, with_signature, without_bounds
from qnn_ops.dialect.tensor_info import OpenSize, Signature, TensorInfo
from qnn_ops.errors import QnnError
from tvm_qnn.standalone.functions import Compiled, compile_functions
from tvm_qnn.standalone.merging import Merged
from tvm_qnn.target.microcontrollers import alignment_of

_LONGEST = 40

OVER = "_over"
"""The end of the C name of a function whose tensors overlap in memory."""


@dataclass(frozen=True)
class Arrangement:
    """The calls of a run, and the positions of its tensors in memory.

    Attributes:
        plan: the calls.
        compiled: the functions.
        symbols: the functions' names in C, by their names in the plan.
        alignment: the alignment of every pointer, in bytes.
        layout: the position of each temporary tensor.
        arena: the inputs and outputs, if they lie in the workspace; otherwise None.
    """

    plan: Plan
    compiled: Compiled
    symbols: Mapping[str, str]
    alignment: int
    layout: Layout
    arena: Arena | None

    @property
    def workspace(self) -> int:
        """The bytes of memory that a run needs beside its inputs, outputs and states."""
        return max(self.layout.size, self.alignment)

    @cached_property
    def shared(self) -> dict[str, tuple[int, ...]]:
        """The arguments that share memory in some call of a function, by the function's name."""
        found: dict[str, set[int]] = {}
        for call in self.plan.calls:
            if call.function and (members := self._overlap(call)):
                found[call.function] = found.get(call.function, set()) | members
        return {name: tuple(sorted(members)) for name, members in found.items()}

    def _overlap(self, call: Call) -> set[int]:
        """Return the indices of the arguments that overlap with others."""
        sizes, offsets = self.plan.temporaries, self.layout.offsets
        spans = {
            i: (offsets[place.number], offsets[place.number] + sizes[place.number])
            for i, place in enumerate(call.arguments)
            if isinstance(place, Temporary)
        }
        return {
            number
            for i, j in combinations(spans, 2)
            if max(spans[i][0], spans[j][0]) < min(spans[i][1], spans[j][1])
            and call.arguments[i] != call.arguments[j]
            for number in (i, j)
        }

    def members_of(self, call: Call) -> tuple[int, ...]:
        """Return the indices of a call's arguments that its function takes as one memory."""
        members = self.shared.get(call.function or "", ())
        places = [call.arguments[i] for i in members]
        # The variant for shared memory serves every call whose tensors lie in the workspace.
        return members if all(isinstance(place, Temporary) for place in places) else ()

    @cached_property
    def merged(self) -> Merged:
        """The functions to compile: see ``Compiled.merged``."""
        return self.compiled.merged(self.variants)

    def name_of(self, call: Call) -> str:
        """Return the name of a call's function, with its end."""
        return f"{call.function}{OVER if self.members_of(call) else ''}"

    @property
    def variants(self) -> dict[str, dict[str, tuple[int, ...]]]:
        """The variants to compile: see ``Compiled.merged``."""
        found: dict[str, dict[str, tuple[int, ...]]] = {}
        for call in self.plan.calls:
            if call.function:
                members = self.members_of(call)
                found.setdefault(call.function, {})[OVER if members else ""] = members
        return found


@dataclass(frozen=True)
class Arena:
    """Inputs and outputs that lie in the workspace.

    Attributes:
        inputs: the index of each input's temporary tensor.
        outputs: the index of each output's temporary tensor.
    """

    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


def arrange(
    lowered: tvm.IRModule,
    signature: Signature,
    target: tvm.target.Target,
    prefix: str,
    *,
    arena: bool = False,
) -> Arrangement:
    """Read the calls of a model, and plan its memory.

    Args:
        lowered: the model, lowered by ``legalize.lower``.
        signature: its inputs and outputs.
        target: the target that it was lowered for.
        prefix: the beginning of the functions' names in C.
        arena: whether inputs and outputs also lie in the workspace, and an output may overlap an
            input that its call reads last: the least memory, for some more instructions.

    Raises:
        QnnError: if the model has something that only TVM's runtime can run.
    """
    with target:
        mod = calls_pipeline(target)(lowered)
    try:
        plan = plan_of(mod, is_view)
    except NotCallsError as error:
        raise QnnError(
            f"the model cannot be exported without TVM's runtime: it needs {error.what}; "
            "export it as .so instead"
        ) from error
    functions = {call.function: mod[call.function] for call in plan.calls if call.function}
    # The name of a fused function names everything in it, so cut it.
    symbols = {name: f"{prefix}_{i}_{name[:_LONGEST]}" for i, name in enumerate(functions)}
    compiled = compile_functions(functions, symbols, target)
    alignment = alignment_of(target) or ALIGNMENT
    plan = with_parts(_with_scratch(plan, compiled.scratch), functions, alignment)
    arranged = Arrangement(plan, compiled, symbols, alignment, lay_out(plan, alignment), None)
    return in_arena(arranged, signature) if arena else arranged


def in_arena(arranged: Arrangement, signature: Signature) -> Arrangement:
    """Return the same calls with inputs and outputs in the workspace; see ``arrange``.

    Args:
        arranged: an arrangement with inputs and outputs beside the workspace.
        signature: the model's inputs and outputs.
    """
    compiled, alignment = arranged.compiled, arranged.alignment
    plan, places = _with_arena(arranged.plan, signature)
    plan = with_parts(plan, compiled.functions, alignment)
    leads = compiled.leads(alignment)
    layout = lay_out_over(plan, alignment, leads, given=places.inputs, wanted=places.outputs)
    return Arrangement(plan, compiled, arranged.symbols, alignment, layout, places)


def _with_scratch(plan: Plan, scratch: Mapping[str, Sequence[int]]) -> Plan:
    """Return the plan with the functions' own memory as their last arguments.

    Args:
        plan: the plan without it.
        scratch: the size in bytes of each block of memory that a function needs.
    """
    temporaries = list(plan.temporaries)
    calls = []
    for call in plan.calls:
        sizes = scratch.get(call.function, ()) if call.function else ()
        blocks = range(len(temporaries), len(temporaries) + len(sizes))
        temporaries += sizes
        calls.append(Call(call.function, (*call.arguments, *map(Temporary, blocks))))
    return replace(plan, calls=tuple(calls), temporaries=tuple(temporaries))


def size_of(info: TensorInfo) -> int:
    """Count the bytes of a tensor."""
    return prod(info.shape) * np.dtype(info.dtype).itemsize


def state_size(signature: Signature, alignment: int) -> int:
    """Count the bytes of all states; each begins at a multiple of an alignment."""
    return sum(-(-size_of(info) // alignment) * alignment for info in signature.states)


def _with_arena(plan: Plan, signature: Signature) -> tuple[Plan, Arena]:
    """Return the plan with inputs and outputs as temporary tensors, but not the states."""
    ends = (Input, signature.inputs), (Output, signature.outputs)
    places: list[Place] = [kind(n) for kind, infos in ends for n in range(len(infos))]
    first = len(plan.temporaries)
    known = {place: Temporary(first + n) for n, place in enumerate(places)}
    calls = [
        Call(call.function, tuple(known.get(place, place) for place in call.arguments))
        for call in plan.calls
    ]
    sizes = [size_of(info) for _, infos in ends for info in infos]
    numbers = tuple(range(first, first + len(sizes)))
    count = len(signature.inputs)
    arena = Arena(numbers[:count], numbers[count:])
    temporaries = (*plan.temporaries, *sizes)
    return replace(plan, calls=tuple(calls), temporaries=temporaries), arena


def check_sizes(signature: Signature) -> None:
    """Check that all of a model's sizes are known: a plan of memory needs them.

    Raises:
        QnnError: if sizes are open; the message names them.
    """
    if found := signature.open_sizes:
        raise QnnError(
            f"C code needs every size as a number: give shape_dict those of {', '.join(found)}"
        )


def with_parts(plan: Plan, functions: Mapping[str, Any], alignment: int) -> Plan:
    """Return the plan without copies from one temporary tensor to a part of another.

    Args:
        plan: the calls.
        functions: the functions by name.
        alignment: of each tensor in bytes; a part that would begin elsewhere is still copied.
    """
    sizes, parts = plan.temporaries, dict(plan.parts)
    calls = []
    for call in plan.calls:
        found = _parts_of(call, functions, sizes)
        is_free = not any(number in parts or start % alignment for number, _, start in found)
        if found and is_free:
            parts |= {number: (home, start) for number, home, start in found}
        else:
            calls.append(call)
    return replace(plan, calls=tuple(calls), parts={n: _home(n, parts) for n in parts})


def _parts_of(
    call: Call, functions: Mapping[str, Any], sizes: Sequence[int]
) -> list[tuple[int, int, int]]:
    """Return the tensors that a call makes parts of others: index, index of the whole, offset."""
    attrs = functions[call.function].attrs if call.function else {}
    numbers = [place.number for place in call.arguments if isinstance(place, Temporary)]
    if len(numbers) < len(call.arguments):
        return []
    if TAKES in attrs:
        whole, part = numbers
        return [(part, whole, int(attrs[TAKES]))]
    if JOINS not in attrs or len({*numbers}) < len(numbers):
        return []
    *pieces, whole = numbers
    starts = [sum(sizes[number] for number in pieces[:i]) for i in range(len(pieces))]
    return [(number, whole, start) for number, start in zip(pieces, starts, strict=True)]


def _home(number: int, parts: Mapping[int, tuple[int, int]]) -> tuple[int, int]:
    """Return the outermost tensor that contains a tensor, and the offset in it."""
    start = 0
    while number in parts:
        number, offset = parts[number]
        start += offset
    return number, start


class LargestSizeWarning(UserWarning):
    """C code uses the largest number for each size that a model leaves open."""


def at_largest(mod: tvm.IRModule) -> tvm.IRModule:
    """Return a model with the largest number for each open size.

    Raises:
        QnnError: a size has no largest number; the message names all sizes.

    Warns:
        LargestSizeWarning: once, if a size is open.
    """
    signature = signature_of(mod)
    ends = {name: high for name, (_, high) in bounds_of(mod["main"]).items() if high is not None}
    opened = {size for info in signature.inputs for size in info.shape if type(size) is OpenSize}
    if not opened:
        return mod
    if any(size.value(ends) is None for size in opened):
        check_sizes(signature)

    def sized(info: TensorInfo) -> TensorInfo:
        return replace(info, shape=tuple(map(number, info.shape)))

    def number(size: int) -> int:
        return int(size.value(ends) or size) if isinstance(size, OpenSize) else size

    mod = relax.transform.BindSymbolicVars(ends, "main")(mod)
    signature = replace(
        signature,
        inputs=tuple(map(sized, signature.inputs)),
        outputs=tuple(map(sized, signature.outputs)),
    )
    mod = tvm.IRModule(mod.functions, attrs=mod.attrs)
    mod["main"] = with_signature(without_bounds(mod["main"]), signature)
    chosen = ", ".join(f"{name} is {high}" for name, high in ends.items())
    warnings.warn(f"C code takes the largest sizes: {chosen}", LargestSizeWarning, stacklevel=3)
    return mod
