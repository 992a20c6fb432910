"""One model, built for one target, run or emulated, and its instructions read."""

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from qnn_ops.arrays import Array
from qnn_ops.errors import QnnError
from tests.support import bochs
from tests.support.arm import Core
from tests.support.arm_models import run_lowered
from tests.support.bochs_models import run_module
from tests.support.machine_code import assembly, write_objects
from tests.targets.models import Loaded, Model
from tests.targets.processors import Row
from tvm_qnn import Library, build


@dataclass
class Outcome:
    """What became of a model for a target.

    Attributes:
        model: its name.
        target: the row's name.
        compiled: whether there is machine code.
        ran: whether this processor ran it.
        emulated: whether an emulator did.
        refused: the reason, if tvm-qnn says that it cannot be.
        problem: what is wrong, if anything is.
        seconds: of the processor's time.
    """

    model: str
    target: str
    compiled: bool = False
    ran: bool = False
    emulated: bool = False
    refused: str | None = None
    problem: str | None = None
    seconds: float = 0.0

    def fields(self) -> dict[str, Any]:
        """For the log."""
        return asdict(self)


def try_target(model: Model, loaded: Loaded, row: Row, *, emulate: bool) -> Outcome:
    """Build a model for a target and find out all that can be found out here.

    Args:
        model: which one.
        loaded: its module, input and expected outputs.
        row: the target.
        emulate: whether to run code in an emulator if this processor cannot run it.
    """
    outcome, start = Outcome(model.name, row.name), _seconds()
    try:
        _try(outcome, model, loaded, row, emulate)
    except Exception as error:  # as much of a finding as a wrong number
        outcome.problem = f"{type(error).__name__}: {error}"[:2000]
    outcome.seconds = round(_seconds() - start, 2)
    return outcome


def _seconds() -> float:
    """Of the processor's time, that this process and what it started have taken."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _try(outcome: Outcome, model: Model, loaded: Loaded, row: Row, emulate: bool) -> None:
    try:
        library = build(loaded.mod, row.target, loaded.params)
    except QnnError as error:
        outcome.refused = str(error)
        return
    inputs = [_input(loaded, number, info.name) for number, info in enumerate(library.inputs)]
    problems: list[str | None] = []
    if library.metadata.why_not_here() is None:
        result: Any = library.run(*inputs)
        results = list(result.values()) if isinstance(result, dict) else [result]
        outcome.ran = True
        problems.append(loaded.differs(results))
    else:
        write_objects(library)
    outcome.compiled = True
    faults = row.faults(assembly(library), multiplies=model.multiplies, has_all=model.has_all)
    if not outcome.ran and emulate:
        emulated = _emulated(library, inputs, row)
        if emulated is not None:
            outcome.emulated = True
            problems.append(loaded.differs(emulated))
    found = [problem for problem in (*problems, *faults) if problem]
    outcome.problem = "; ".join(found) or None


def _input(loaded: Loaded, number: int, name: str) -> Array:
    given: Any = loaded.inputs
    return np.asarray(given[name] if isinstance(given, dict) else given[number])


def _emulated(library: Library, inputs: Sequence[Array], row: Row) -> Sequence[Array] | None:
    """Return an emulator's results; None where there is none for the target or the model."""
    assert library._origin is not None
    lowered = library._origin.lowered
    assert lowered is not None
    if isinstance(row.emulator, Core) and row.emulator.machine.missing is None:
        return run_lowered(lowered, library.metadata, row.emulator, inputs)
    is_x86 = isinstance(row.emulator, bochs.Processor) and bochs.missing() is None
    if isinstance(row.emulator, bochs.Processor) and is_x86 and len(library.outputs) == 1:
        return [run_module(row.emulator, lowered, inputs)]
    return None
