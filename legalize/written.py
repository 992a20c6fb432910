"""Functions whose arguments and loops are written one by one."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import prod
from typing import Any

from tvm import tirx
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from legalize.loop_functions import storing_function
from qnn_ops.dialect.sizes import is_open


class Writing:
    """A function that is being written."""

    def __init__(self, frame: Any, attrs: dict[str, Any]) -> None:
        """Begin with the frame of TVM's builder, and the function's attributes."""
        self._frame = frame
        self._attrs = attrs

    def get(self) -> tirx.PrimFunc:
        """Return the function, once it is written."""
        body = tirx.stmt_seq(*self._frame.stmts)
        return storing_function(self._frame.args, body).with_attrs(self._attrs)


@contextmanager
def new_function(name: str, *, noalias: bool = True) -> Iterator[Writing]:
    """Write a function, which stores something, inside of the block.

    Args:
        name: of the function.
        noalias: whether LLVM is told that no two buffers overlap.

    Yields:
        What has the function after the block.
    """
    with IRBuilder() as builder:
        frame = T.prim_func(s_tir=True)
        # At this frame's end TVM would look for schedulable blocks in all of the body.
        frame.__enter__()
        yield Writing(frame, {"global_symbol": name, "tirx.noalias": noalias, "s_tir": True})
        # A declared buffer's frame ends with the frame around it.
        for inner in builder.frames[1:2]:
            inner.__exit__(None, None, None)


def flat(buffer: Any, dtype: str | None = None) -> Any:
    """Return a buffer as one with a single dimension, of another dtype if one is given."""
    size = prod(int(each) if isinstance(each, tirx.IntImm) else each for each in buffer.shape)
    return T.decl_buffer((size,), dtype or str(buffer.dtype), data=buffer.data)


def own_sizes(shape: Sequence[Any], own: dict[str, Any]) -> tuple[Any, ...]:
    """Return a shape whose open sizes are variables of the function that is being written.

    Args:
        shape: the shape of one of the function's tensors.
        own: the variables, by the open sizes that they stand for. New ones are added.
    """
    return tuple(
        own.setdefault(str(size), tirx.Var("size", "int64")) if is_open([size]) else size
        for size in shape
    )


def arguments(**kinds: tuple[Sequence[Any], str]) -> list[Any]:
    """Declare a function's arguments by name, each of a shape and a dtype.

    Returns:
        The arguments as buffers with a single dimension.
    """
    declared = [T.arg(name, T.buffer(*kind)) for name, kind in kinds.items()]
    return [each if len(each.shape) == 1 else flat(each) for each in declared]
