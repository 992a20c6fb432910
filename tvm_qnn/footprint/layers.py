"""Finds the layers of a run: calls that belong together, and the operators that they compute.

The lowering reports the calls, their bytes, and the channels that are left out of the model.
"""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import tvm

from frontends.builder import Imported
from frontends.formats import Source
from frontends.summary import OperatorInfo, TensorNote
from legalize.call_plan import Constant
from legalize.memory_plan import lives_of
from legalize.passes.drop_constant_channels import DropConstantChannels
from legalize.passes.live_channels import LiveChannels, layer_of
from qnn_ops.dialect.registry import spec_of
from tvm_qnn.footprint.instructions import estimated_instructions
from tvm_qnn.profile.lowered import LAST_PASS, KeptModule, LoweredCall, candidates, lowered_calls
from tvm_qnn.standalone.arrangement import Arrangement
from tvm_qnn.standalone.export import code_of
from tvm_qnn.standalone.image import write_object
from tvm_qnn.standalone.symbols import loaded_sections
from tvm_qnn.target.options import options_kept


@dataclass(frozen=True)
class Remains:
    """The parts of operators that are computed, by the operators' numbers.

    Attributes:
        left_out: the indices of the channels that are left out of an operator's result.
        shares: the part of an operator's products that remains.
    """

    left_out: Mapping[int, tuple[int, ...]]
    shares: Mapping[int, Fraction]


def remains_of(mod: tvm.IRModule, operators: Mapping[str, int]) -> Remains:
    """Find what is left out of a module.

    Args:
        mod: the module before channels are left out.
        operators: an operator's number by the name of the variable that holds its result.
    """
    live = LiveChannels(mod["main"])
    left_out: dict[int, tuple[int, ...]] = {}
    shares: dict[int, Fraction] = {}
    products = remaining = Fraction(0)
    for block in mod["main"].body.blocks:
        for binding in block.bindings:
            kept = live.kept.get(binding.var)
            if (layer := layer_of(binding.value)) is not None:
                read = None if layer.is_depthwise else live.kept.get(binding.value.args[0])
                count = layer.rows.size * prod(spec_of(binding.var).shape[:-1])
                products += count
                remaining += count * _share(kept) * _share(read)
            if (operator := operators.get(binding.var.name)) is None:
                continue
            if kept is not None:
                left_out[operator] = tuple(np.flatnonzero(~kept).tolist())
            if products:
                shares[operator] = remaining / products
            products = remaining = Fraction(0)
    return Remains(left_out, shares)


def _share(kept: np.ndarray | None) -> Fraction:
    return Fraction(1) if kept is None else Fraction(int(kept.sum()), kept.size)


COPY = "memcpy"
"""The name that stands for a function where a tensor is copied."""


@dataclass(frozen=True)
class Step:
    """A call of a function.

    Attributes:
        function: the function's name; ``COPY`` for a copy.
        operators: the numbers of the operators to which the call may belong.
        constant_bytes: bytes of the constants that no earlier call reads.
        function_bytes: bytes of the function's code, 0 if an earlier call has it; None if they
            are unknown.
        workspace: bytes of the workspace that are in use.
        instructions: an estimate of the call's instructions; None without one.
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
        arranged: the arrangement of a run, with inputs and outputs beside the workspace.
        lowered: the calls of the lowered function.
        constants: the bytes of each constant.
        code: the bytes of each section of the machine code; each function has one. None if they are
            unknown.
        instructions: estimates of a call's instructions by function; a function may have none.
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
    """Compile the functions of a model; return the bytes that are loaded, by section.

    Returns:
        The sizes; None if object files are not ELF.
    """
    with tempfile.TemporaryDirectory() as folder, options_kept(arranged.compiled.target):
        file = Path(folder) / "code.o"
        write_object(file, code_of(arranged), "no_constants", b"", arranged.alignment)
        return loaded_sections(file.read_bytes())


@dataclass(frozen=True)
class Layer:
    """A part of a run.

    Attributes:
        name: the name of the operator's first output in the file, or of the function if there is
            no operator. If operators cannot be told apart, the last one's.
        code: the operator's kind, as "CONV_2D", or several joined by +; empty without an operator.
        shape: the shape of the operator's first output in the file.
        calls: their numbers in a run, as the hook of a C export reports them.
        functions: the functions that are called, in order.
        macs: products that it adds up.
        left_out: the channels that are left out since they are one number for every input, by the
            name of the operator's first output.
        constant_bytes: weights, biases and factors as they lie in flash. Constants that an earlier
            layer reads, too, count there.
        function_bytes: the functions' machine code, counted in the same way; None if unknown.
        workspace: bytes of the workspace that are in use while it runs.
        estimated_instructions: an estimate of a run's instructions; None without one.
    """

    name: str
    code: str
    shape: tuple[int, ...]
    calls: tuple[int, ...]
    functions: tuple[str, ...]
    macs: int
    left_out: Mapping[str, tuple[int, ...]]
    constant_bytes: int
    function_bytes: int | None
    workspace: int
    estimated_instructions: int | None


_Key: TypeAlias = "tuple[frozenset[int], int]"
"""The operators of a layer; a layer without operators also has its call's number, from 1."""


def layers_of(
    steps: Sequence[Step], operators: Mapping[int, OperatorInfo], remains: Remains
) -> Iterator[Layer]:
    """Yield the layers, in the order of a run; every product of the model is in one of them.

    Args:
        steps: the calls.
        operators: the file's operators by number.
        remains: the parts of them that are computed.
    """
    keys = [(step.operators, 0 if step.operators else 1 + n) for n, step in enumerate(steps)]
    homes = _homes(keys, operators, remains)
    for key in dict.fromkeys(keys):
        calls = tuple(n for n, other in enumerate(keys) if other == key)
        own = [steps[n] for n in calls]
        computed = sorted(number for number, home in homes.items() if home == key)
        described = [operators[number] for number in computed or sorted(key[0])]
        functions = tuple(step.function for step in own)
        sizes = [step.function_bytes for step in own if step.function_bytes is not None]
        spent = [step.instructions for step in own if step.instructions is not None]
        yield Layer(
            described[-1].name if described else functions[0],
            " + ".join(operator.code for operator in described),
            described[-1].outputs[0].shape if described and described[-1].outputs else (),
            calls,
            functions,
            sum(round(operators[n].macs * remains.shares.get(n, 1)) for n in computed),
            {
                operators[number].name: remains.left_out[number]
                for number in computed
                if number in remains.left_out
            },
            sum(step.constant_bytes for step in own),
            sum(sizes) if len(sizes) == len(own) else None,
            max(step.workspace for step in own),
            sum(spent) if len(spent) == len(own) else None,
        )


def _homes(
    keys: Sequence[_Key], operators: Mapping[int, OperatorInfo], remains: Remains
) -> dict[int, _Key]:
    """Return the layer of each operator that has one."""
    homes: dict[int, _Key] = {}
    # A call of a single operator is certain; a call of several only settles the remaining ones.
    for key in sorted(keys, key=lambda key: len(key[0]) != 1):
        for number in key[0] - homes.keys():
            homes[number] = key
    readers: dict[int, int] = {}
    for number, operator in sorted(operators.items()):
        for tensor in operator.inputs:
            readers.setdefault(tensor.index, number)
    # A kernel may compute an operator together with its reader.
    for number, operator in sorted(operators.items(), reverse=True):
        if number in homes or not (operator.macs or number in remains.left_out):
            continue
        reader = number
        while reader not in homes and (outputs := operators[reader].outputs):
            later = readers.get(outputs[0].index, reader)
            if later <= reader:
                break
            reader = later
        homes[number] = homes.get(reader, keys[-1])
    return homes


class Follower:
    """Follows the lowering of a model in ``context``, and assigns its calls to layers.

    Args:
        source: the model's file.
        imported: the result of its import.
        shapes: shapes of inputs by name, in place of the file's.
    """

    def __init__(
        self, source: Source, imported: Imported, shapes: Mapping[str, Sequence[int]] | None
    ) -> None:
        self.operators = {info.index: info for info in source.summary("", shapes).operators}
        self._results = imported.results
        self._whole: Any = KeptModule(before=DropConstantChannels().info.name)
        self._lowered: Any = KeptModule(after=LAST_PASS)

    def context(self) -> tvm.transform.PassContext:
        """Return a context for the lowering. The model's lowering must be the last one in it."""
        return tvm.transform.PassContext(opt_level=2, instruments=[self._whole, self._lowered])

    def layers(
        self, arranged: Arrangement, constants: Sequence[int], code: dict[str, int] | None
    ) -> tuple[Layer, ...]:
        """Return the layers, in the order of a run.

        Args:
            arranged: the calls.
            constants: the bytes of each constant.
            code: as ``steps_of`` takes it.
        """
        lowered = lowered_calls(self._lowered.mod, self._results)
        instructions = estimated_instructions(self._lowered.mod, arranged.compiled.target)
        steps = steps_of(arranged, lowered, constants, code, instructions)
        return tuple(
            layers_of([*steps], self.operators, remains_of(self._whole.mod, self._results))
        )

    def names(self, arranged: Arrangement) -> list[str]:
        """Return the layer's name for each call of a run."""
        names = {
            call: layer.name
            for layer in self.layers(arranged, [0] * len(arranged.plan.constants), None)
            for call in layer.calls
        }
        return [names[call] for call in range(len(arranged.plan.calls))]

    def notes(self, arranged: Arrangement) -> list[str]:
        """Return for each call of a run its operator, with types and scales of its tensors."""
        known = {info.name: info for info in self.operators.values()}
        return [_note(name, known.get(name)) for name in self.names(arranged)]


def _note(name: str, info: OperatorInfo | None) -> str:
    if info is None:
        return name
    read, made = (", ".join(map(_tensor, each)) for each in (info.inputs, info.outputs))
    return f"{info.code} {name}: {read} -> {made}"


def _tensor(note: TensorNote) -> str:
    text = f"{note.dtype} {[*note.shape]}"
    if len(note.scales) == 1:
        return f"{text} scale {note.scales[0]:.6g} zero point {note.zero_points[0]}"
    return f"{text} {len(note.scales)} scales" if note.scales else text
