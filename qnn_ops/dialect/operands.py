"""The operands that operators declare: each states its dtypes and the number of its dimensions.

An operator's function annotates its tensors with these types. Its type rule sees only operands that
fit. A plain ``relax.Expr`` declares nothing.
"""

from typing import Annotated, NamedTuple, TypeAlias

from tvm import relax

from qnn_ops.dialect.checks import ACTIVATIONS, QUANTIZED


class Tensor(NamedTuple):
    """A declared operand.

    Attributes:
        dtypes: those that it may have; empty for any.
        rank: the number of its dimensions; None for any.
    """

    dtypes: tuple[str, ...]
    rank: int | None = None


_FLOAT32 = ("float32",)

Activations: TypeAlias = Annotated[relax.Expr, Tensor(ACTIVATIONS)]
Images: TypeAlias = Annotated[relax.Expr, Tensor(ACTIVATIONS, 4)]
Kernel: TypeAlias = Annotated[relax.Expr, Tensor(QUANTIZED, 4)]
WeightMatrix: TypeAlias = Annotated[relax.Expr, Tensor(QUANTIZED, 2)]
Quantized: TypeAlias = Annotated[relax.Expr, Tensor((*QUANTIZED, "int16", "int32"))]
Bytes: TypeAlias = Annotated[relax.Expr, Tensor(("uint8",), 2)]
Int32: TypeAlias = Annotated[relax.Expr, Tensor(("int32",))]
Floats: TypeAlias = Annotated[relax.Expr, Tensor(_FLOAT32)]
FloatVector: TypeAlias = Annotated[relax.Expr, Tensor(_FLOAT32, 1)]
FloatMatrix: TypeAlias = Annotated[relax.Expr, Tensor(_FLOAT32, 2)]
FloatImages: TypeAlias = Annotated[relax.Expr, Tensor(_FLOAT32, 4)]
