"""Depthwise convolutions with Helium, in assembly loops that LLVM would not generate.

A function computes all channels in one or two rows of outputs. It keeps in registers what LLVM
would spill, and reads sizes as numbers.
"""

from dataclasses import dataclass

from tvm.script.ir_builder import tirx as T

from legalize.kernels.ir.vectors import Buffer, Index
from legalize.kernels.isa.helium import FOUR, SIZE

CHANNELS = "tvm_qnn_channels_"
"""The prefix of the names of functions from ``channels_of``."""

SPREAD = "tvm_qnn_spread"
"""A function that copies a row of all channels: see ``spread``."""

MOST_ACROSS = 31
"""The largest stride that keeps an iteration's offsets small enough."""

NUMBERS = (
    *("first", "more", "back", "up", "next", "on", "step", "left"),
    *("taps", "mask", "apart", "below", "pixels", "channels", "multiplier"),
)
"""The names of the numbers that ``convolve`` reads, in order.

``first`` iterations of a channel, then ``more`` after a step back by ``back`` bytes of the data and
``up`` bytes of the outputs. ``next`` and ``on`` lead from there to the next channel. ``step``:
bytes between the outputs of iterations. ``left``: the left shift of sums in bits, one fewer if
products are doubled. ``taps``: the index of the weight in each of a register's first four bytes.
``mask``: the bytes of a register that have a weight. ``apart``: bytes between outputs. ``below``:
bytes to the row below, in the upper half. ``pixels``: a register's bytes of pixels that a row has.
``channels``: a count, which falls to 0. ``multiplier``: the common multiplier of all channels.
"""

# Registers: sums, data, outputs, weights, the channels' fields, and numbers.
_SUMS, _DATA, _TO, _WEIGHTS, _FIELDS = ("r0", "r2", "r4", "r6"), "r1", "r3", "r11", "r12"
_ADDEND, _STEP, _LEFT, _MORE, _NUMBERS = "r8", "r9", "r10", "r5", "r7"


@dataclass(frozen=True)
class Kind:
    """The properties on which a function's code depends.

    Attributes:
        windows: rows of outputs, 1 or 2.
        across: the stride in a row.
        taps: weights of a channel.
        right: the right shift of outputs in bits, from 2 to 24.
        doubles: whether products may be doubled: sums are shifted, and have one addend.
        has_multipliers: whether each channel has its own multiplier.
        has_lefts: whether each channel has its own left shift.
        has_signs: whether negative sums have another addend.
        has_bias: whether sums begin with a bias.
        low: the lower bound of the outputs.
        high: the upper bound.
    """

    windows: int
    across: int
    taps: int
    right: int
    doubles: bool
    has_multipliers: bool
    has_lefts: bool
    has_signs: bool
    has_bias: bool
    low: int
    high: int

    @property
    def rows(self) -> int:
        """How many numbers a channel has: multiplier, addends, shift and bias."""
        own = self.has_multipliers, self.has_signs, self.has_lefts, self.has_bias
        return 1 + sum(own)


def _one(register: str, name: str, how: str = "ldr") -> str:
    """Return the line that reads or writes one of ``NUMBERS``."""
    return f"{how} {register}, [{_NUMBERS}, #{4 * NUMBERS.index(name)}]"


def _pair(first: str, second: str, name: str) -> str:
    """Return the line that reads two of ``NUMBERS``."""
    return f"ldrd {first}, {second}, [{_NUMBERS}, #{4 * NUMBERS.index(name)}]"


def _begun(kind: Kind) -> list[str]:
    """Return the lines that come before the first channel."""
    lines = [
        *("mov r0, #0", "vidup.u32 q6, r0, #1", "mov r0, #0x01010101"),
        *("vmul.i32 q5, q6, r0", _one("r0", "taps"), "vadd.i32 q5, q5, r0"),
    ]
    lines += [_pair("r0", "r2", "apart"), "vmul.i32 q6, q6, r0"]
    lines.extend(["vadd.i32 q6, q6, r2"] if kind.windows == 2 else ())
    if not kind.has_multipliers:
        lines += [_one("r0", "multiplier"), "vdup.32 q7, r0"]
    return [*lines, _pair(_STEP, _LEFT, "step")]


def _field(kind: Kind, row: int) -> str:
    """Return the address of a channel's number; the pointer is past the channel's numbers."""
    return f"[{_FIELDS}, #{4 * (row - kind.rows)}]"


def _opened(kind: Kind) -> list[str]:
    """Return the lines that read a channel's weights and numbers."""
    size, lines = 4 * kind.rows, [_one("r0", "mask"), "vmsr p0, r0"]
    lines += ["vpst", f"vldrbt.u8 q1, [{_WEIGHTS}, q5]", f"add {_WEIGHTS}, #{kind.taps}"]
    lines += [_one("r0", "pixels"), "vmsr p0, r0"]
    if kind.windows == 2:
        lines += ["vshl.i32 q2, q1, #8", "vsri.32 q2, q1, #24"]
    if not kind.has_multipliers:
        return [*lines, f"ldr {_ADDEND}, [{_FIELDS}], #{size}"]
    if kind.rows == 2:
        lines.append(f"ldrd r0, {_ADDEND}, [{_FIELDS}], #{size}")
    else:
        lines += [f"ldr r0, [{_FIELDS}], #{size}", f"ldr {_ADDEND}, {_field(kind, 1)}"]
    return [*lines, "vdup.32 q7, r0"]


def _summed(kind: Kind) -> list[str]:
    """Return the lines that compute an iteration's sums: the upper window's in q3, then q4."""
    lines, width = [], 4 * kind.across
    for half in range(2):
        for pixel, sums in ((half, _SUMS[:2]), (half + 2, _SUMS[2:])):
            place = (
                f"[{_DATA}, #{(pixel - FOUR) * width}]" if pixel else f"[{_DATA}], #{FOUR * width}"
            )
            lines.append(f"vldrw.u32 q0, {place}")
            lines += [f"vmlav.s8 {sums[n]}, q0, q{1 + n}" for n in range(kind.windows)]
        for n in range(kind.windows):
            lanes = f"q{3 + n}[{half + 2}], q{3 + n}[{half}]"
            lines.append(f"vmov {lanes}, {_SUMS[n]}, {_SUMS[2 + n]}")
    return lines


def _scaled(kind: Kind) -> list[str]:
    """Return the lines that turn sums into outputs, before their last shift."""
    lines, totals = [], [f"q{3 + n}" for n in range(kind.windows)]
    if kind.has_bias:
        lines.append(f"ldr r0, {_field(kind, kind.rows - 1)}")
        lines += [f"vadd.i32 {q}, {q}, r0" for q in totals]
    if kind.has_lefts:
        lines.append(f"ldr {_LEFT}, {_field(kind, kind.rows - 1 - kind.has_bias)}")
        lines.extend([f"sub {_LEFT}, #1"] if kind.doubles else ())
    if kind.has_signs:
        lines.append(f"ldr r2, {_field(kind, kind.has_multipliers + 1)}")
    for q in totals:
        if kind.has_signs:
            lines.append(f"vcmp.s32 lt, {q}, zr")
        lines.append(f"vshl.s32 {q}, {_LEFT}")
        if kind.doubles:
            lines.append(f"vqdmlash.s32 {q}, q7, {_ADDEND}")
            continue
        lines.append(f"vmulh.s32 {q}, {q}, q7")
        if kind.has_signs:
            lines += ["vpste", f"vaddt.i32 {q}, {q}, r2", f"vadde.i32 {q}, {q}, {_ADDEND}"]
        else:
            lines.append(f"vadd.i32 {q}, {q}, {_ADDEND}")
    return lines


def _stored(kind: Kind) -> list[str]:
    """Return the lines that store outputs as bytes."""
    first = min(kind.right - 1, SIZE)
    lines = [f"vqshrnb.s32 q3, q3, #{first}"]
    lines.extend([f"vqshrnt.s32 q3, q4, #{first}"] if kind.windows == 2 else ())
    lines.append(f"vqshrnb.s16 q3, q3, #{kind.right - first}")
    for name, bound, end in (("vmax", kind.low, -128), ("vmin", kind.high, 127)):
        lines.extend(
            [f"vmov.i8 q0, #{bound & 255}", f"{name}.s8 q3, q3, q0"] if bound != end else ()
        )
    # Comparisons of sums have overwritten the predicate.
    lines.extend([_one("r0", "pixels"), "vmsr p0, r0"] if kind.has_signs else ())
    return [*lines, "vpst", f"vstrbt.{32 // kind.windows} q3, [{_TO}, q6]", f"add {_TO}, {_STEP}"]


def channels_of(kind: Kind) -> tuple[str, str]:
    """Return the name of a function that convolves all channels in a row or two, and its LLVM.

    Args:
        kind: the properties on which its code depends.
    """
    numbers = [kind.windows, kind.across, kind.taps]
    flags = kind.doubles, kind.has_multipliers, kind.has_lefts, kind.has_signs, kind.has_bias
    bits = sum(flag << n for n, flag in enumerate(flags))
    numbers += [kind.right, bits, kind.low, kind.high]
    name = CHANNELS + "_".join(f"{each}".replace("-", "n") for each in numbers)
    lines = [
        *_begun(kind),
        "1:",
        *_opened(kind),
        _pair("lr", _MORE, "first"),
        "2:",
        *_summed(kind),
        *_scaled(kind),
        *_stored(kind),
        *("le lr, 2b", f"cbz {_MORE}, 3f"),
        *(_pair("r0", "r2", "back"), f"sub {_DATA}, r0", f"sub {_TO}, r2"),
        *(f"mov lr, {_MORE}", f"mov {_MORE}, #0", "b 2b"),
        *("3:", _pair("r0", "r2", "next"), f"add {_DATA}, r0", f"add {_TO}, r2"),
        *(_one("r0", "channels"), "subs r0, #1", _one("r0", "channels", "str"), "bne 1b"),
    ]
    moved = [_TO, _DATA, _WEIGHTS, _FIELDS]
    codes = [*(f"=&{{{each}}}" for each in moved), *map(str, range(len(moved)))]
    others = [*_SUMS, _ADDEND, _STEP, _LEFT, _MORE, "lr", "cc", "vpr", "memory"]
    codes += [f"{{{_NUMBERS}}}", *(f"~{{{each}}}" for each in others)]
    codes += [f"~{{q{i}}}" for i in range(8)]
    text = "\n".join(lines)
    return name, (
        f"define void @{name}(ptr %to, ptr %data, ptr %weights, ptr %fields, ptr %numbers, "
        f"i32 %count) {{\n  %all = call {{ ptr, ptr, ptr, ptr }} asm sideeffect "
        f'"{text}", "{",".join(codes)}"(ptr %to, ptr %data, ptr %weights, ptr %fields, '
        "ptr %numbers)\n  ret void\n}\n"
    )


def convolve(
    name: str,
    to: Index,
    data: Index,
    weights: Index,
    fields: Index,
    numbers: Buffer,
    count: int,
) -> None:
    """Convolve all channels.

    Args:
        name: from ``channels_of``, whose LLVM the function must contain.
        to: the first output.
        data: the first of the columns that this output depends on.
        weights: the first channel's weights.
        fields: the first of the epilogue's constants.
        numbers: int32, as ``NUMBERS`` names them.
        count: outputs that are written, from the first one to the last one.
    """
    places = map(T.address_of, (to, data, weights, fields, numbers[0]))
    T.evaluate(T.call_extern("void", name, *places, T.int32(count)))


_SPREAD_LINES = """mov r8, r6
cmp r3, r4
itt hs
movhs r1, r2
movhs r6, #0
mov r2, #0
vidup.u16 q1, r2, #1
vmul.i16 q1, q1, r7
1: mov r3, r1
mov r4, r0
dls lr, r5
2: vldrb.s16 q0, [r3]
add r3, r6
vstrb.16 q0, [r4, q1]
adds r4, #4
le lr, 2b
subs r8, #8
ble 3f
mov r2, #8
cmp r8, #8
it lt
movlt r2, r8
mla r0, r2, r7, r0
cmp r6, #0
it ne
addne r1, r2
b 1b
3:"""

_SPREAD_MOVED = ("r0", "r1", "r2", "r3", "r4", "r6")
_SPREAD_CODES = [
    *(f"=&{{{each}}}" for each in _SPREAD_MOVED),
    *map(str, range(len(_SPREAD_MOVED))),
    *("{r5}", "{r7}", "~{r8}", "~{lr}", "~{cc}", "~{q0}", "~{q1}", "~{memory}"),
]

SPREAD_CODE = f"""
define void @{SPREAD}(ptr %to, ptr %from, ptr %other, i32 %row, i32 %rows, i32 %columns,
    i32 %channels, i32 %pitch) {{
  %all = call {{ ptr, ptr, ptr, i32, i32, i32 }} asm sideeffect
      "{_SPREAD_LINES}", "{",".join(_SPREAD_CODES)}"(
      ptr %to, ptr %from, ptr %other, i32 %row, i32 %rows, i32 %channels, i32 %columns, i32 %pitch)
  ret void
}}
"""
"""The LLVM of the function that ``spread`` calls."""


def spread(
    to: Index,
    source: Index,
    other: Index,
    row: Index,
    rows: Index,
    columns: Index,
    channels: Index,
    pitch: Index,
) -> None:
    """Copy a row of bytes, so that a channel's bytes lie four apart.

    Args:
        to: the destination of the first channel's first byte.
        source: the first byte.
        other: the first of eight bytes that all pixels get if the row does not exist.
        row: the row's number.
        rows: the number of rows.
        columns: pixels in a row, above 0.
        channels: 8 or more.
        pitch: the distance between channels, of 16 bits.
    """
    places = map(T.address_of, (to, source, other))
    T.evaluate(T.call_extern("void", SPREAD, *places, row, rows, columns, channels, pitch))
