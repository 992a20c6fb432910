"""The layers of a run: the calls that belong together, and the operators that they compute."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from frontends.summary import OperatorInfo
from tvm_qnn.footprint.channels import Remains
from tvm_qnn.footprint.steps import Step


@dataclass(frozen=True)
class Layer:
    """A part of a run.

    Attributes:
        name: of the operator's first output in the file; of the function, where it belongs to no
            operator. Of several operators that cannot be told apart, the last one's.
        code: of the operator, as "CONV_2D", or of several with + between; empty if there is none.
        shape: of the operator's first output in the file.
        calls: their numbers in a run, as the hook of a C export tells them.
        functions: those that are called, in order.
        macs: products that it adds up.
        left_out: the channels that are one number for every input, and are left out, by the name of
            the operator's first output.
        constant_bytes: weights, biases and what rescales, as they lie in flash. What an earlier
            layer has, too, is counted there.
        function_bytes: of the functions' machine code, likewise; None where it is not known.
        workspace: bytes of the workspace that are in use while it runs.
        estimated_instructions: how many a run takes, about; None where there is no estimate.
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
"""The operators of a layer, and for one that has none the number of its call, from 1."""


def layers_of(
    steps: Sequence[Step], operators: Mapping[int, OperatorInfo], remains: Remains
) -> Iterator[Layer]:
    """Yield the layers, in the order of a run; every product of the model is in one of them.

    Args:
        steps: the calls.
        operators: of the file, by their numbers.
        remains: what is left of them.
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
            _shape(described[-1]) if described else (),
            calls,
            functions,
            sum(macs_left(operators[number], remains) for number in computed),
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


def macs_left(operator: OperatorInfo, remains: Remains) -> int:
    """Count the products of an operator that remain."""
    return round(operator.macs * remains.shares.get(operator.index, 1))


def _homes(
    keys: Sequence[_Key], operators: Mapping[int, OperatorInfo], remains: Remains
) -> dict[int, _Key]:
    """Return the layer of each operator that has one."""
    homes: dict[int, _Key] = {}
    # Calls of one operator each say where it is; others tell of what is not found otherwise.
    for key in sorted(keys, key=lambda key: len(key[0]) != 1):
        for number in key[0] - homes.keys():
            homes[number] = key
    readers: dict[int, int] = {}
    for number, operator in sorted(operators.items()):
        for tensor in operator.inputs:
            readers.setdefault(tensor.index, number)
    # A kernel may compute an operator with the one that reads it.
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


def _shape(operator: OperatorInfo) -> tuple[int, ...]:
    return operator.outputs[0].shape if operator.outputs else ()
