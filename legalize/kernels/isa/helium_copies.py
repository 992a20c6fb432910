"""Copies with Helium, and stores of some lanes, that LLVM would not generate.

The core counts down bytes, and the last iteration's vector ends with the last byte: nothing past
it is read or written. So one loop serves all sizes.
"""

from tvm.script.ir_builder import tirx as T

from legalize.kernels.ir.vectors import Buffer, Index, Vector
from legalize.kernels.isa.helium_sums import REACHED

COPY = "tvm_qnn_copy_rows"
"""A function that copies rows of bytes: see ``copy_rows``."""

FILL = "tvm_qnn_fill"
"""A function that writes a byte many times. It takes the address, the byte and the count."""

COPY_COLUMNS = "tvm_qnn_copy_columns"
"""A function that copies the data that ``COLUMNS`` reads: see ``copy_columns``."""

STORE = "tvm_qnn_store_"
"""The prefix of functions that write the first lanes of an int32x4 to an address."""


def _registers(outputs: int, moved: int, read: int) -> str:
    """Return an assembler's operands: outputs (the first are inputs too) and others."""
    names = [f"{{r{i}}}" for i in range(outputs + read)]
    return ",".join(
        [*(f"=&{each}" for each in names[:outputs]), *map(str, range(moved)), *names[outputs:]]
    )


COPIES_CODE = f"""
declare <4 x i1> @llvm.arm.mve.vctp32(i32)
declare void @llvm.masked.store.v4i8.p0(<4 x i8>, ptr, i32, <4 x i1>)
declare void @llvm.masked.store.v4i32.p0(<4 x i32>, ptr, i32, <4 x i1>)
define void @{STORE}bytes(ptr %to, <4 x i32> %values, i32 %count) {{
  %mask = call <4 x i1> @llvm.arm.mve.vctp32(i32 %count)
  %bytes = trunc <4 x i32> %values to <4 x i8>
  call void @llvm.masked.store.v4i8.p0(<4 x i8> %bytes, ptr %to, i32 1, <4 x i1> %mask)
  ret void
}}
define void @{STORE}words(ptr %to, <4 x i32> %values, i32 %count) {{
  %mask = call <4 x i1> @llvm.arm.mve.vctp32(i32 %count)
  call void @llvm.masked.store.v4i32.p0(<4 x i32> %values, ptr %to, i32 4, <4 x i1> %mask)
  ret void
}}
define void @{COPY}(ptr %to, ptr %from, i32 %count, i32 %rows, i32 %to_pitch, i32 %from_pitch,
    i32 %times, i32 %to_gap, i32 %from_gap) {{
  %all = call {{ ptr, ptr, i32, i32, i32, i32 }} asm sideeffect "4: mov $3, $10
1: dlstp.8 lr, $9
mov $4, $0
mov $5, $1
2: vldrb.u8 q0, [$5], #16
vstrb.8 q0, [$4], #16
letp lr, 2b
add $0, $11
add $1, $12
subs $3, #1
bne 1b
add $0, $13
add $1, $14
subs $2, #1
bne 4b", "{_registers(6, 3, 6)},~{{lr}},~{{cc}},~{{q0}},~{{memory}}"(
      ptr %to, ptr %from, i32 %times, i32 %count, i32 %rows, i32 %to_pitch, i32 %from_pitch,
      i32 %to_gap, i32 %from_gap)
  ret void
}}
define void @{COPY_COLUMNS}(
    ptr %to, ptr %from, i32 %columns, i32 %vectors, i32 %rows, i32 %to_pitch, i32 %from_pitch) {{
  %all = call {{ ptr, ptr, i32, i32, i32, i32, i32 }} asm sideeffect "1: mov $3, $0
mov $4, $1
mov $6, $10
2: dls lr, $11
mov $5, $3
3: vldrb.u8 q0, [$4], #16
vstrb.8 q0, [$5], #{16 * REACHED}
le lr, 3b
add $3, #16
subs $6, #1
bne 2b
add $0, $12
add $1, $13
subs $2, #1
bne 1b", "{_registers(7, 3, 4)},~{{lr}},~{{cc}},~{{q0}},~{{memory}}"(
      ptr %to, ptr %from, i32 %rows, i32 %columns, i32 %vectors, i32 %to_pitch, i32 %from_pitch)
  ret void
}}
define void @{FILL}(ptr %to, i32 %value, i32 %count) {{
  %end = call ptr asm sideeffect "vdup.8 q0, $2
dlstp.8 lr, $3
1: vstrb.8 q0, [$0], #16
letp lr, 1b", "=r,0,r,r,~{{lr}},~{{q0}},~{{memory}}"(ptr %to, i32 %value, i32 %count)
  ret void
}}
"""
"""The LLVM of the functions of this module."""


def copy_rows(
    to: Index,
    source: Index,
    count: Index,
    rows: Index,
    pitches: tuple[Index, Index],
    times: int = 1,
    gaps: tuple[Index, Index] = (0, 0),
) -> None:
    """Copy rows of bytes.

    Args:
        to: the first element to write.
        source: the first element to read.
        count: bytes of a row, above 0.
        rows: the number of rows, above 0.
        pitches: the distances between rows, of the target and of the source.
        times: how often all rows are copied.
        gaps: the distance from the end of the last row to the first row of the next time.
    """
    places = T.address_of(to), T.address_of(source)
    T.evaluate(T.call_extern("void", COPY, *places, count, rows, *pitches, times, *gaps))


def copy_columns(
    to: Index,
    source: Index,
    columns: Index,
    vectors: Index,
    rows: Index,
    pitches: tuple[Index, Index],
) -> None:
    """Copy columns of rows, each of some vectors, in the order in which ``COLUMNS`` reads them.

    Args:
        to: the first element to write.
        source: the first element to read.
        columns: columns in a row, above 0; they are consecutive.
        vectors: vectors in a column, above 0.
        rows: the number of rows, above 0.
        pitches: the distances between rows, of the target and of the source.
    """
    places = T.address_of(to), T.address_of(source)
    T.evaluate(T.call_extern("void", COPY_COLUMNS, *places, columns, vectors, rows, *pitches))


def fill(to: Index, value: int, count: Index) -> None:
    """Write a byte to ``count`` elements of a buffer, starting at ``to``; ``count`` is above 0."""
    T.evaluate(T.call_extern("void", FILL, T.address_of(to), T.int32(value), count))


def store_some(buffer: Buffer, start: Index, values: Vector, count: Index) -> None:
    """Write the first lanes of an int32x4, or all; a buffer of bytes gets their lowest bytes.

    Args:
        buffer: holds bytes or int32.
        start: the first element to write.
        values: the lanes.
        count: the number of lanes to write.
    """
    place = T.address_of(buffer[start])
    name = f"{STORE}{'words' if str(buffer.dtype) == 'int32' else 'bytes'}"
    T.evaluate(T.call_extern("void", name, place, values, count))
