"""What a lowering tells of a model's layers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import tvm

from frontends.builder import Imported
from frontends.formats import Source
from frontends.summary import OperatorInfo, TensorNote
from tvm_qnn.footprint.channels import WholeModule, remains_of
from tvm_qnn.footprint.instructions import estimated_instructions
from tvm_qnn.footprint.layers import Layer, layers_of
from tvm_qnn.footprint.steps import steps_of
from tvm_qnn.profile.lowered import LoweredModule, lowered_calls
from tvm_qnn.standalone.arrangement import Arrangement


class Follower:
    """Follows the lowering of a model in ``context``, and says which layers its calls are.

    Args:
        source: the model's file.
        imported: what it gave.
        shapes: of inputs by name, where they are not the file's.
    """

    def __init__(
        self, source: Source, imported: Imported, shapes: Mapping[str, Sequence[int]] | None
    ) -> None:
        self.operators = {info.index: info for info in source.summary("", shapes).operators}
        self._results = imported.results
        self._whole: Any = WholeModule()
        self._lowered: Any = LoweredModule()

    def context(self) -> tvm.transform.PassContext:
        """Return what is entered for the lowering, which must be the last one in it."""
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
        """Return of each call of a run its layer's name."""
        names = {
            call: layer.name
            for layer in self.layers(arranged, [0] * len(arranged.plan.constants), None)
            for call in layer.calls
        }
        return [names[call] for call in range(len(arranged.plan.calls))]

    def notes(self, arranged: Arrangement) -> list[str]:
        """Return of each call of a run its operator, with the types and scales of its tensors."""
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
