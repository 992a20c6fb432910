"""VAR_HANDLE, READ_VARIABLE, ASSIGN_VARIABLE and CALL_ONCE."""

from tvm import relax

from frontends.tflite.converters.context import Context
from frontends.tflite.model import handles_of, variable_of
from frontends.tflite.operators import MOVED, converter
from qnn_ops.dialect.registry import spec_of
from qnn_ops.errors import QnnError


@converter("CALL_ONCE", "VAR_HANDLE", micro=MOVED)
def convert_handle(_ctx: Context) -> list[relax.Expr]:
    """Compute nothing: import resolves names and computes first values."""
    return []


@converter("READ_VARIABLE", micro=MOVED)
def convert_read(ctx: Context) -> relax.Expr:
    """Return a variable's value."""
    return ctx.values.variables[_known(ctx)]


@converter("ASSIGN_VARIABLE", micro=MOVED)
def convert_assignment(ctx: Context) -> list[relax.Expr]:
    """Assign a value to a variable."""
    key, value = _known(ctx), ctx.input(1)
    known = spec_of(ctx.values.variables[key])
    if spec_of(value.expr) != known:
        raise QnnError(
            f"the variable {key[1]!r} is {known.dtype} of shape {known.shape}, and is assigned "
            f"{value.dtype} of shape {value.shape}"
        )
    ctx.values.variables[key] = value.expr
    return []


def _known(ctx: Context) -> tuple[str, str]:
    key = variable_of(ctx.operator, handles_of(ctx.model))
    if key not in ctx.values.variables:
        raise QnnError(f"the variable {key[1]!r} is none of the main subgraph's")
    return key
