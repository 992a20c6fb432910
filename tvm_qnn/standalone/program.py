"""The contents of a standalone export's files, before they are written as C."""

from collections.abc import Sequence
from dataclasses import dataclass

from legalize.call_plan import Plan
from qnn_ops.dialect.tensor_info import Signature
from tvm_qnn.standalone.arrangement import Arrangement, state_size
from tvm_qnn.target.microcontrollers import is_plain_c

_C_TYPES = {"float16": "uint16_t", "float32": "float", "float64": "double", "bool": "uint8_t"}


@dataclass(frozen=True)
class Program:
    """The contents of the files.

    Attributes:
        prefix: the beginning of every name in C.
        signature: the inputs and outputs.
        arranged: the calls of a run, and the positions of its tensors.
        offsets: the offset of each constant, and then of the states before the first run.
        needs: the functions of other libraries that the object file calls; None if unknown.
        names: the layer of each call of a run; None if calls are named after their
            functions.
        code: the functions as C99; None if they are in an object file.
    """

    prefix: str
    signature: Signature
    arranged: Arrangement
    offsets: tuple[int, ...]
    needs: Sequence[str] | None
    names: Sequence[str] | None = None
    code: str | None = None

    @property
    def plan(self) -> Plan:
        """The calls of a run."""
        return self.arranged.plan

    @property
    def initial(self) -> str:
        """The name of the states before the first run in plain C."""
        return f"{self.prefix}_initial_state"

    def constant(self, number: int) -> str:
        """Return the name of a constant in plain C."""
        return f"{self.prefix}_constant_{number}"

    @property
    def state_offsets(self) -> tuple[int, ...]:
        """The offset of each state in the memory of all states."""
        first = len(self.plan.constants)
        return tuple(offset - self.offsets[first] for offset in self.offsets[first:])

    @property
    def state_size(self) -> int:
        """The bytes of all states; space for their new values follows them."""
        return state_size(self.signature, self.arranged.alignment)

    @property
    def parameters(self) -> dict[str, str]:
        """The parameters in C of the function that runs the model, by their names."""
        given = {"inputs": "const void *inputs[]", "outputs": "void *outputs[]"}
        keeps = {"state": "void *state"} if self.signature.states else {}
        return {**({} if self.arranged.arena else given), "workspace": "void *workspace", **keeps}

    @property
    def machine(self) -> str:
        """The target in a few words."""
        target = self.arranged.compiled.target
        if is_plain_c(target):
            return "any compiler of C99"
        attrs = target.attrs
        words = [attrs.get("mtriple"), attrs.get("mcpu"), *attrs.get("mattr", ())]
        return " ".join(str(word) for word in words if word) or "the machine that made it"


def c_type(dtype: str) -> str:
    """Return the type in C of a tensor's elements."""
    return _C_TYPES.get(dtype, f"{dtype}_t")
