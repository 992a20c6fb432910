"""Keeps a model within some memory: chooses layers to run in strips, and the rows of a strip."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import tvm
from tvm import relax

from legalize.passes.in_strips import Choice, Strips
from legalize.passes.stems import Stem
from qnn_ops.errors import QnnError
from tvm_qnn.standalone.schedules import Schedule, peak, schedules

# The number of schedules that are planned in full; each takes as long as compiling the model. The
# last ones are those with the least estimated memory.
_TRIES, _LAST = 8, 2


@dataclass(frozen=True)
class Fitted:
    """A model that does not exceed a limit of memory.

    Attributes:
        lowered: the module.
        schedule: the layers in strips; None if there are none.
    """

    lowered: tvm.IRModule
    schedule: Schedule | None


def fit(
    lower: Callable[[Choice | None], tvm.IRModule],
    memory_of: Callable[[tvm.IRModule], int],
    limit: int,
) -> Fitted:
    """Find a schedule that keeps a model within some memory, with few additional products.

    Schedules have estimates of their memory. Promising ones are planned in full, beginning with the
    fewest products. One that exceeds the limit corrects all estimates. Once one fits, schedules of
    fewer products that seemed too large are tried, until one exceeds the limit.

    Args:
        lower: lowers the model with layers in strips.
        memory_of: plans a lowered model's memory; returns the bytes.
        limit: the most bytes of memory.

    Raises:
        QnnError: if no schedule fits; the message has the least memory that was found.
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
        # The caller has observed the last lowering, so the last one must be that of the result.
        return Fitted(lowered if chosen is found else lower(_always(found.strips)), found)
    raise QnnError(
        f"the model may take {limit:,} bytes of memory, and the least for which a schedule was "
        f"found, with layers in strips, is {least:,}"
    )


def _always(strips: Strips) -> Choice:
    return lambda _function, _stems: strips
