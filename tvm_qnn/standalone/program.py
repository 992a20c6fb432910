"""What the files of a standalone export are written from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import tvm

from legalize.call_plan import Plan
from qnn_ops.dialect.tensor_info import Signature
from tvm_qnn.standalone.arrangement import Arrangement, state_size
from tvm_qnn.target.microcontrollers import is_plain_c

_C_TYPES = {"float16": "uint16_t", "float32": "float", "float64": "double", "bool": "uint8_t"}


@dataclass(frozen=True)
class Program:
    """The contents of the files.

    Attributes:
        prefix: what every name in C begins with.
        signature: the inputs and outputs.
        target: what the code is for.
        arranged: the calls of a run, and where its tensors lie.
        offsets: where each constant begins, and behind them the states before the first run.
        needs: the functions of other libraries that the object calls; None: not known.
        names: of the layers to which the calls of a run belong; None where a call is named after
            its function.
        code: its functions as C99; None where an object file has them.
    """

    prefix: str
    signature: Signature
    target: tvm.target.Target
    arranged: Arrangement
    offsets: tuple[int, ...]
    needs: Sequence[str] | None
    names: Sequence[str] | None = None
    code: str | None = None

    @property
    def alignment(self) -> int:
        """Of every pointer, in bytes."""
        return self.arranged.alignment

    @property
    def plan(self) -> Plan:
        """The calls of a run."""
        return self.arranged.plan

    @property
    def units(self) -> tuple[str, ...]:
        """The files that a program is linked of, beside its own."""
        ends = (".c", ".o") if self.code is None else (".c", "_weights.c")
        return tuple(f"{self.prefix}{end}" for end in ends)

    @property
    def macro(self) -> str:
        """The beginning of every macro."""
        return self.prefix.upper()

    @property
    def weights(self) -> str:
        """The name of the constants."""
        return weights(self.prefix)

    @property
    def state_offsets(self) -> tuple[int, ...]:
        """Where each state begins in the memory of all."""
        first = len(self.plan.constants)
        return tuple(offset - self.offsets[first] for offset in self.offsets[first:])

    @property
    def state_size(self) -> int:
        """The bytes of all states; behind them their new values are written."""
        return state_size(self.signature, self.alignment)

    @property
    def arguments(self) -> str:
        """The arguments of the function that runs the model, in C."""
        given = [] if self.arranged.arena else ["const void *inputs[]", "void *outputs[]"]
        keeps = ["void *state"] if self.signature.states else []
        return ", ".join([*given, "void *workspace", *keeps])

    @property
    def machine(self) -> str:
        """The target in a few words."""
        if is_plain_c(self.target):
            return "any compiler of C99"
        attrs = self.target.attrs
        words = [attrs.get("mtriple"), attrs.get("mcpu"), *attrs.get("mattr", ())]
        return " ".join(str(word) for word in words if word) or "the machine that made it"


def weights(prefix: str) -> str:
    """Return the name of the constants in C."""
    return f"{prefix}_weights"


def constant(prefix: str, number: int) -> str:
    """Return the name of a constant in plain C."""
    return f"{prefix}_constant_{number}"


def initial(prefix: str) -> str:
    """Return the name of the states before the first run in plain C."""
    return f"{prefix}_initial_state"


def c_type(dtype: str) -> str:
    """Return the type in C of a tensor's elements."""
    return _C_TYPES.get(dtype, f"{dtype}_t")
