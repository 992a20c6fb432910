"""Custom operators with a user's own rules."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from flatbuffers import flexbuffers
from tvm import relax

from frontends.tflite.converters.context import Context, Operand, per_tensor
from frontends.tflite.model import Tensor
from frontends.tflite.operators import OPERATORS, Row
from frontends.tflite.options.custom import PREFIX, RAW, RUNTIME_ERRORS, is_foreign
from qnn_ops.errors import QnnError


@dataclass(frozen=True)
class CustomCall:
    """A custom operator of a file; a rule returns its expressions.

    Attributes:
        inputs: the operands. Each has ``expr``, the expression of its value, its ``shape``, and
            ``quantization``, its scale and zero point. ``tensor`` is the file's tensor.
        outputs: the file's tensors of the results, with ``dtype`` and ``shape``.
        options: the options as bytes of the file.
    """

    inputs: tuple[Operand, ...]
    outputs: tuple[Tensor, ...]
    options: bytes

    def quantization(self, index: int = 0) -> tuple[float, int]:
        """Return scale and zero point of a result, as the file states them.

        Raises:
            QnnError: if it has none, or several.
        """
        return per_tensor(self.outputs[index])

    def settings(self) -> dict[str, Any]:
        """Read the options as a flexbuffers map, as most operators write them.

        Raises:
            QnnError: if they are none.
        """
        try:
            found = flexbuffers.Loads(bytearray(self.options)) if self.options else {}
        except RUNTIME_ERRORS as error:
            raise QnnError(f"its options are no flexbuffers map ({error})") from error
        if not isinstance(found, dict):
            raise QnnError(f"its options are a {type(found).__name__}, no flexbuffers map")
        return found


CustomRule = Callable[[CustomCall], "relax.Expr | list[relax.Expr]"]
"""Returns the expression of the operator's output, or a list if it has several."""


def custom(name: str) -> Callable[[CustomRule], CustomRule]:
    """Decorate a function that computes a custom operator.

    The function gets a ``CustomCall``. It returns the expression of the result, of Relax or of the
    dialect's operators, or a list of expressions. A later function for the same name replaces it.

    Args:
        name: of the operator in files.

    Raises:
        QnnError: if tvm-qnn has a rule for this operator itself.
    """
    code = PREFIX + name
    if not is_foreign(code) and code not in RAW:
        raise QnnError(f"custom: tvm-qnn imports {name!r} itself")

    def decorate(rule: CustomRule) -> CustomRule:
        def convert(ctx: Context) -> relax.Expr | list[relax.Expr]:
            outputs = [ctx.output(index) for index in range(len(ctx.operator.outputs))]
            if not hasattr(ctx.options, "content"):
                raise QnnError("its file was read before its rule was given")
            return rule(CustomCall(tuple(ctx.inputs()), tuple(outputs), ctx.options.content))

        RAW.add(code)
        OPERATORS[code] = Row(data=convert)
        return rule

    return decorate
