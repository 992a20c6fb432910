"""Whole tiles of convolutions with Helium: sums, and the outputs made from them.

The assembler lines keep more in registers than LLVM would. They serve most layers.
"""

from dataclasses import dataclass

from tvm.script.ir_builder import tirx as T

from legalize.kernels.ir.vectors import Index
from legalize.kernels.isa.helium_sums import EVEN, FIRST, OTHERS, few_sums, named

TILE = "tvm_qnn_tile_"
"""The prefix of the names of functions from ``tile_of``."""

MOST_RIGHT = 24
"""``Outputs.right`` is less than this."""


@dataclass(frozen=True)
class Outputs:
    """The rescaling of a channel's sums to int8 of the full range, by the epilogue's constants.

    Attributes:
        left: the left shift of sums in bits.
        right: the right shift of outputs in bits, from 1 to 23.
        has_signs: whether a channel's constants are a multiplier, two addends and a bias;
            otherwise a multiplier and an addend.
    """

    left: int
    right: int
    has_signs: bool


def _finished(outputs: Outputs, f: int, to: int, pitch: int) -> list[str]:
    """Return the lines that rescale and store four channels of three pixels."""
    rows = 4 if outputs.has_signs else 2
    first = 1 if outputs.has_signs else 3  # the first register of constants
    lines = [f"vldrw.u32 q{first}, [${f}], #{16 * rows}"]
    for n in range(1, rows):
        lines.append(f"vldrw.u32 q{first + n}, [${f}, #{16 * (n - rows)}]")
    for i in range(3):
        q = f"q{FIRST + i}"
        raise_ = [f"vshl.s32 {q}, {q}, #{outputs.left}"] if outputs.left else []
        if outputs.has_signs:
            lines += [f"vadd.i32 {q}, {q}, q4", f"vcmp.s32 lt, {q}, zr", "vpsel q0, q3, q2"]
        addend = "q0" if outputs.has_signs else "q4"
        lines += [*raise_, f"vmulh.s32 {q}, {q}, q{first}", f"vadd.i32 {q}, {q}, {addend}"]
        lines += [f"vqshl.s32 {q}, {q}, #{MOST_RIGHT - outputs.right}", f"vshr.s32 {q}, {q}, #24"]
    lines += [f"add $3, ${to}, ${pitch}", f"vstrb.32 q{FIRST}, [${to}], #4"]
    lines += [f"vstrb.32 q{FIRST + 1}, [$3]", f"add $3, ${pitch}", f"vstrb.32 q{FIRST + 2}, [$3]"]
    return lines


def tile_of(steps: int, outputs: Outputs) -> tuple[str, str]:
    """Return the name of a function that computes three pixels whole, and its LLVM.

    Args:
        steps: the vectors of a sum; see ``FEW``.
        outputs: how sums become outputs.
    """
    name = f"{TILE}{steps}_{outputs.left}_{outputs.right}{'_signs' * outputs.has_signs}"
    w, f, to, d, pitch = 9, 10, 11, 17, 20
    lines = []
    is_held = steps == 1 and not outputs.has_signs
    reads = ["vpsttt", *(f"vldrbt.u8 q{i}, [${d + i}]" for i in range(3))]
    if steps == 1:
        lines += [f"sub $3, ${d + 1}, ${d}", "vctp.8 $3", *(reads if is_held else ())]
    lines.append("1:")
    if steps == 1 and not is_held:
        lines += [f"sub $3, ${d + 1}, ${d}", "vctp.8 $3", *reads]
    lines += few_sums(steps, d, w, is_held=steps == 1)
    lines += [*_finished(outputs, f, to, pitch), "le lr, 1b"]
    head = named(
        p0="ptrtoint ptr %weights to i32",
        p1="ptrtoint ptr %fields to i32",
        p2="ptrtoint ptr %to to i32",
        p3="add i32 %groups, 0",
        p4="ptrtoint ptr %data to i32",
        p5="add i32 %p4, %depth",
        p6="add i32 %p5, %depth",
        p7="add i32 %pitch, 0",
    )
    # Bytes of words can be stored only to addresses in low registers.
    first, *others = (f"{{{each}}}" for each in OTHERS)
    moved = [*others[:2], first, "{lr}"]
    vectors = (f"{{q{FIRST + i}}}" for i in range(3))
    written = [*vectors, *(f"{{{each}}}" for each in EVEN), *moved]
    codes = [*(f"=&{each}" for each in written), *(str(9 + i) for i in range(4)), *others[2:]]
    codes += [*(f"~{{q{i}}}" for i in range(FIRST)), "~{vpr}", "~{memory}"]
    kind = "{ " + ", ".join([*["<4 x i32>"] * 3, *["i32"] * 10]) + " }"
    given = ", ".join(f"i32 %p{i}" for i in range(8))
    text = "\n".join(["dls lr, lr", *lines])
    return name, (
        f"define void @{name}(ptr %to, ptr %data, i32 %depth, ptr %weights, ptr %fields, "
        f"i32 %groups, i32 %pitch) {{\n{head}\n"
        f'  %all = call {kind} asm sideeffect "{text}", "{",".join(codes)}"({given})\n'
        "  ret void\n}\n"
    )


def compute_tile(
    name: str,
    to: Index,
    data: Index,
    depth: Index,
    weights: Index,
    fields: Index,
    groups: Index,
    pitch: Index,
) -> None:
    """Compute all channels of three pixels.

    Args:
        name: from ``tile_of``, whose LLVM the function must contain.
        to: the first output.
        data: the first value of the first pixel.
        depth: the distance between pixels; if less than a vector, also each pixel's values.
        weights: the first weight.
        fields: the first of the epilogue's constants, of four channels each.
        groups: the number of groups of four channels, above 0.
        pitch: the distance between the outputs of pixels.
    """
    first, second, third, fourth = map(T.address_of, (to, data, weights, fields))
    T.evaluate(T.call_extern("void", name, first, second, depth, third, fourth, groups, pitch))
