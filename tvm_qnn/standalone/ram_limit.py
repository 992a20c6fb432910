"""Keep a model within some memory: find which layers run in strips, and of how many rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import tvm
from tvm import relax

from legalize.passes.in_strips import Choice, Strips
from legalize.passes.stems import Stem
from qnn_ops.errors import QnnError
from tvm_qnn.standalone.schedules import Schedule, peak, schedules

# Schedules that are planned in full; each takes as long as compiling the model. The last
# ones are those that take least.
_TRIES, _LAST = 8, 2


@dataclass(frozen=True)
class Fitted:
    """A model that keeps within a limit.

    Attributes:
        lowered: the module.
        schedule: what runs in strips; None: nothing does.
    """

    lowered: tvm.IRModule
    schedule: Schedule | None


def fit(
    lower: Callable[[Choice | None], tvm.IRModule],
    memory_of: Callable[[tvm.IRModule], int],
    limit: int,
) -> Fitted:
    """Find a schedule that keeps a model within some memory, with few products more.

    Schedules are estimated, and those that may do are planned in full, of few products first. What
    is missing from an estimate is learnt from those that do not keep within the limit; so once one
    does, those of fewer products are tried that were passed over, as long as they do.

    Args:
        lower: lowers the model, with layers in strips.
        memory_of: plans a lowered model's memory; returns the bytes.
        limit: the bytes that it may take.

    Raises:
        QnnError: if none is found; says the least that was.
    """
    pending: list[Schedule] = []
    estimates: list[int] = []

    def observe(function: relax.Function, stems: Sequence[Stem]) -> None:
        estimates.append(peak(function))
        pending.extend(schedules(function, stems))

    lowered = lower(observe)
    least = memory_of(lowered)
    if least <= limit:
        return Fitted(lowered, None)
    pending.sort(key=lambda each: (each.products, each.estimate))
    missing = least - estimates[0]
    found: Schedule | None = None
    for left in range(min(_TRIES, len(pending)), 0, -1):
        fitting = [each for each in pending if each.estimate + missing <= limit]
        if found or left <= _LAST or not fitting:
            fitting = sorted(pending, key=lambda each: each.estimate)
        chosen = fitting[0]
        lowered = lower(_always(chosen.strips))
        memory = memory_of(lowered)
        if memory <= limit:
            found = chosen
            pending = [each for each in pending if each.products < chosen.products]
        elif found:
            break
        else:
            pending.remove(chosen)
            least = min(least, memory)
            missing = max(missing, (missing + memory - chosen.estimate) // 2)
        if not pending:
            break
    if found:
        # What the caller keeps of lowering is of the last module.
        return Fitted(lowered if chosen is found else lower(_always(found.strips)), found)
    raise QnnError(
        f"the model may take {limit:,} bytes of memory, and the least for which a schedule was "
        f"found, with layers in strips, is {least:,}"
    )


def _always(strips: Strips) -> Choice:
    return lambda _function, _stems: strips
