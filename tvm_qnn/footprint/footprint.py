"""The memory, flash and products that a model takes."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from frontends.formats import read_model
from legalize.memory_plan import lives_of
from tvm_qnn.build import lower_model, lower_within
from tvm_qnn.footprint.cores import CORES, check_core, compiled_sizes, counted_instructions
from tvm_qnn.footprint.layers import Follower, Layer, code_sections
from tvm_qnn.io.interrupts import interruptible
from tvm_qnn.standalone.arrangement import Arrangement, arrange, in_arena, size_of, state_size
from tvm_qnn.standalone.export import export_standalone, pack_constants
from tvm_qnn.standalone.schedules import Schedule
from tvm_qnn.target.target import TargetLike, parse_target

_PREFIX = "model"


@dataclass(frozen=True)
class Block:
    """A tensor in the workspace.

    Attributes:
        offset: in bytes.
        size: in bytes.
        first: the index of the call that writes it; -1 for an input.
        last: the index of the last call that reads it; for an output, that of the run's last call.
    """

    offset: int
    size: int
    first: int
    last: int


@dataclass(frozen=True)
class Footprint:
    """A model's needs as C files, in bytes and products, without the stack and the C code.

    Attributes:
        target: the target that it was compiled for.
        layers: in the order of a run.
        model_macs: products of the model in the file, including channels that are left out.
        shared_bytes: flash that belongs to no layer: constants that several functions read, first
            values of states.
        constant_bytes: all constants.
        function_bytes: the machine code of all functions; None if it is unknown, as for files that
            are not ELF.
        workspace: the workspace's size that the header states.
        arena_workspace: the same, with inputs and outputs in the workspace.
        inputs: all inputs.
        outputs: all outputs.
        states: all states, which are kept between two runs; 0 without states.
        blocks: the tensors in the workspace, with inputs and outputs in it.
        strips: the number of layers that run in strips, of strips, of rows in a strip, and of
            products that are computed more than once; None without strips.
        core: the core whose compiler compiled plain C; None without one.
        copied_bytes: constants that a program copies to RAM.
        counted_instructions: the instructions of a run on zeros, on the core's emulated board; None
            without a board, or for several inputs or outputs.
    """

    target: str
    layers: tuple[Layer, ...]
    model_macs: int
    shared_bytes: int
    constant_bytes: int
    function_bytes: int | None
    workspace: int
    arena_workspace: int
    inputs: int
    outputs: int
    states: int
    blocks: tuple[Block, ...]
    strips: Mapping[str, int] | None
    core: str | None = None
    copied_bytes: int = 0
    counted_instructions: int | None = None

    @property
    def macs(self) -> int:
        """The products that a run adds up."""
        repeated = 0 if self.strips is None else self.strips["repeated_macs"]
        return sum(layer.macs for layer in self.layers) + repeated

    @property
    def estimated_instructions(self) -> int | None:
        """An estimate of a run's instructions; None if a layer has no estimate."""
        layers = [layer.estimated_instructions for layer in self.layers]
        known = [count for count in layers if count is not None]
        return sum(known) if len(known) == len(layers) else None

    @property
    def flash(self) -> int | None:
        """The bytes of constants and machine code; None if these are unknown."""
        return None if self.function_bytes is None else self.constant_bytes + self.function_bytes

    @property
    def ram(self) -> int:
        """The bytes of workspace, inputs, outputs, states, and constants that are copied."""
        return self.workspace + self.inputs + self.outputs + self.states + self.copied_bytes

    @property
    def arena_ram(self) -> int:
        """As ``ram``, with inputs and outputs in the workspace."""
        return self.arena_workspace + self.states + self.copied_bytes


def footprint(
    model: Any,
    target: TargetLike = "host",
    *,
    params: str | os.PathLike[str] | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
    semantics: str | None = None,
    ram_limit: int | None = None,
    core: str | None = None,
) -> Footprint:
    """Compile a model's functions, plan its memory, and report its needs; nothing is linked.

    Args:
        model: as ``frontends.formats.read_model`` takes it: a path, a file's contents, an object.
        target: as for ``tvm_qnn.build``.
        params: the file of an MXNet model's parameters; by default the one beside the symbol.
        shapes: shapes of inputs by name, in place of the file's.
        semantics: the framework whose results are meant, as for ``from_tflite`` and ``from_mxnet``.
        ram_limit: as ``export_c`` takes it.
        core: for plain C, the core whose compiler compiles it: a key of ``CORES``.

    Raises:
        QnnError: the model, target or core does not fit, the core's compiler is missing, or the
            model has something that only TVM's runtime can run.
    """
    parsed = parse_target(target)
    if core is not None:
        check_core(core, parsed)
    source = read_model(model, params, semantics)
    imported = source.convert(shapes)
    follower = Follower(source, imported, shapes)
    with follower.context():
        if ram_limit is None:
            mod, signature = lower_model(imported.mod, parsed, imported.params)
            strips = None
        else:
            fitted, signature = lower_within(imported.mod, parsed, imported.params, ram_limit)
            mod, strips = fitted.lowered, _told(fitted.schedule)
    with interruptible():
        arranged = arrange(mod, signature, parsed, _PREFIX)
        arena = in_arena(arranged, signature)
        code = code_sections(arranged) if core is None else None
    constants, offsets = pack_constants(arranged, signature)
    sizes = [end - start for start, end in pairwise([*offsets, len(constants)])]
    layers = follower.layers(arranged, sizes, code)
    counted = None
    if core is None:
        held, own = len(constants), None if code is None else sum(code.values())
    else:

        def write(folder: Path) -> None:
            export_standalone(mod, signature, parsed, folder / _PREFIX)

        own, held = compiled_sizes(core, write)
        if len(signature.inputs) == len(signature.outputs) == 1:
            counted = counted_instructions(core, write, size_of(signature.inputs[0]))
        layers = tuple(replace(layer, estimated_instructions=None) for layer in layers)
    total = held + (own or 0)
    return Footprint(
        target=str(parsed),
        layers=layers,
        model_macs=sum(operator.macs for operator in follower.operators.values()),
        shared_bytes=total
        - sum(layer.constant_bytes + (layer.function_bytes or 0) for layer in layers),
        constant_bytes=held,
        function_bytes=own,
        workspace=arranged.workspace,
        arena_workspace=arena.workspace,
        inputs=sum(map(size_of, signature.inputs)),
        outputs=sum(map(size_of, signature.outputs)),
        states=2 * state_size(signature, arranged.alignment),
        blocks=tuple(_blocks(arena)),
        strips=strips,
        core=core,
        copied_bytes=held if core is not None and CORES[core].copies_constants else 0,
        counted_instructions=counted,
    )


def _blocks(arranged: Arrangement) -> Iterator[Block]:
    """Yield the tensors of a workspace, inputs and outputs included."""
    plan, ends = arranged.plan, arranged.arena
    last = len(plan.calls) - 1
    for number, (begin, end) in lives_of(plan).items():
        is_input = ends is not None and number in ends.inputs
        is_output = ends is not None and number in ends.outputs
        yield Block(
            arranged.layout.offsets[number],
            plan.temporaries[number],
            -1 if is_input else begin,
            last if is_output else end,
        )


def _told(schedule: Schedule | None) -> dict[str, int] | None:
    if schedule is None:
        return None
    return {
        "layers": schedule.layers,
        "count": schedule.count,
        "rows": schedule.strips.rows,
        "repeated_macs": schedule.products,
    }
