"""Turn each fused chain of elementwise blocks into one loop."""

from collections.abc import Sequence
from typing import Any

import tvm
from tvm import s_tir, tirx
from tvm.ir.expr import TensorLoad
from tvm_ffi import WalkResult, structural_walk

from legalize.loop_functions import nodes_in
from legalize.passes.tir_blocks import is_elementwise, is_one, tir_block_pass

# TVM's simplifier takes minutes for expressions of ten times this size.
_LARGEST_TEXT = 6000

# Each further nested shift doubles or trebles its time: 2 s for 8 shifts, over 20 s for 10.
_MOST_SHIFTS = 6


def InlineElementwise() -> tvm.transform.Pass:
    """Inline, in every TIR function, the elementwise blocks whose elements are read once.

    TVM's fusion puts the blocks of a chain into one function, but each block keeps its own loop and
    buffer. The many blocks of a requantization then run at the speed of memory.

    Some blocks keep their buffer:

    * blocks whose elements are read more than once, by broadcasting, a convolution or a pooling,
      unless they are copies;
    * blocks that narrow to 8 bits: they end an operator's arithmetic. A block that is read twice is
      inlined twice, so a chain of operators would grow without bound;
    * blocks so large, or with so many nested shifts, that compiling them would take long;
    * blocks with variables of their own that are read at several points: TIR has each variable
      once;
    * blocks that are read backwards, if they are also read through quotients or remainders, or the
      other way around: TVM's simplifier gets remainders of a falling index wrong.
    """
    return tir_block_pass(_inline, "InlineElementwise", _may_be_inlined, least=2)


def _inline(schedule: s_tir.Schedule, block: Any) -> None:
    tir_block = schedule.get(block)
    if not _may_be_inlined(tir_block):
        return
    readers = [schedule.get(reader) for reader in schedule.get_consumers(block)]
    if (
        readers
        and (_is_copy(tir_block) or all(_reads_once(reader, tir_block) for reader in readers))
        and len(str(tir_block.body)) <= _LARGEST_TEXT
        and _has_few_shifts(tir_block.body)
        and (not _has_variables(tir_block) or _loads(readers, tir_block) == 1)
        and not _divides_backwards([tir_block, *readers])
    ):
        schedule.compute_inline(block)


def _may_be_inlined(tir_block: Any) -> bool:
    """Tell whether the block is elementwise, and does not narrow a value of more bits."""
    if not is_elementwise(tir_block):
        return False
    value = tir_block.body.value
    return not (isinstance(value, tirx.Cast) and str(value.ty) in ("int8", "uint8"))


def _has_few_shifts(tree: Any) -> bool:
    """Tell whether few right shifts are nested in each other. Most trees have few at all."""
    return len(nodes_in(tree, tirx.RShift)) <= _MOST_SHIFTS or _nested_shifts(tree) <= _MOST_SHIFTS


def _nested_shifts(tree: Any) -> int:
    """Return the depth of nested right shifts."""
    outermost: list[Any] = []

    def find(shift: Any) -> WalkResult:
        outermost.append(shift)
        return WalkResult.SKIP  # otherwise inner shifts would be walked for each outer one

    structural_walk(tree, (tirx.RShift, find), order="pre")
    inside = (max(_nested_shifts(shift.a), _nested_shifts(shift.b)) for shift in outermost)
    return max((1 + depth for depth in inside), default=0)


def _has_variables(tir_block: Any) -> bool:
    return bool(nodes_in(tir_block.body, tirx.Let))


def _loads(readers: Sequence[Any], tir_block: Any) -> int:
    """Count the readers' loads of the buffer that a block writes."""
    (written,) = tir_block.writes
    return sum(
        load.source.same_as(written.source)
        for reader in readers
        for load in nodes_in(reader.body, TensorLoad)
    )


def _is_copy(tir_block: Any) -> bool:
    """Tell whether the block copies each element to the same index, as an empty padding does."""
    value = tir_block.body.value
    if not isinstance(value, TensorLoad) or len(value.indices) != len(tir_block.body.indices):
        return False
    pairs = zip(value.indices, tir_block.body.indices, strict=True)
    return all(_is_plain(read) and read.same_as(written) for read, written in pairs)


def _reads_once(reader: Any, tir_block: Any) -> bool:
    """Tell whether each of the reader's instances reads its own element, judging by indices."""
    axes = {axis.var for axis in reader.iter_vars if not is_one(axis.dom.extent)}
    (written,) = tir_block.writes
    indices = [
        [part.min for part in access.region]
        for access in reader.reads
        if access.source.same_as(written.source)
    ]
    # An elementwise reader that computes an index pads, slices or resizes; the windows of a
    # reduction that does so overlap.
    may_compute = is_elementwise(reader)
    return all(
        axes <= _variables(index) and (may_compute or all(map(_is_plain, index)))
        for index in indices
    )


def _variables(index: Sequence[Any]) -> set[Any]:
    return {variable for part in index for variable in tirx.analysis.undefined_vars(part)}


def _is_plain(index: Any) -> bool:
    return isinstance(index, (tirx.Var, tirx.IntImm))


def _divides_backwards(tir_blocks: Sequence[Any]) -> bool:
    """Tell whether these blocks together have a falling index and a division.

    An index falls by a difference or a negative factor.
    """
    indices = [part.min for block in tir_blocks for access in block.reads for part in access.region]
    divides = bool(nodes_in(indices, tirx.FloorDiv, tirx.FloorMod))
    is_negative = any(each.value < 0 for each in nodes_in(indices, tirx.IntImm))
    return divides and (is_negative or bool(nodes_in(indices, tirx.Sub)))
