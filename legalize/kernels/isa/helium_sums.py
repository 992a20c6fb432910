"""Sums of products with Helium, of any size, in assembly loops that LLVM would not generate.

The core counts down bytes, and the last iteration's vectors end with the last byte: nothing past
it is read, added or written. So rows need no zeros at their ends, and one loop serves all sizes.
"""

from tvm.script.ir_builder import tirx as T

from legalize.kernels.ir.vectors import Buffer, Index

SUMS = "tvm_qnn_sums_"
"""The prefix of the names of functions that write sums: see ``add_up``."""

PIXELS = 3
"""The number of pixels that are computed at a time, if there are several."""

FEW = {n: f"{SUMS}{n}" for n in range(1, 5)}
"""Functions of three pixels, by the number of vectors in a sum.

The weights of four channels have this order: for each vector those of the first and the third
channel, and then for each vector those of the second and the fourth. If a sum is a single vector,
only the sum's values of a pixel are read.
"""

MANY = f"{SUMS}many"
"""The function of three pixels and sums of any size: weights are rows in the same channel order."""

COLUMNS = f"{SUMS}columns"
"""The function of three neighbouring pixels, for windows of three columns.

Each iteration's data are vectors of five columns. The weights are ordered by pair of channels, as
in ``FEW``, then by iteration, then by column.
"""

ONE = {n: f"{SUMS}one_{n}" for n in (4, 2, 1)}
"""Functions of one pixel and four channels' weights, by the vectors of an iteration."""

ONE_ROWS = f"{SUMS}one"
"""The function of one pixel and sums of any size: weights are rows."""

TAPS = 3
"""The columns of a window for ``COLUMNS``."""

REACHED = PIXELS + TAPS - 1
"""The columns that the neighbouring pixels read together."""

FIRST = 5
"""The first register of the result: a register for each pixel holds four channels' sums."""

EVEN = ("r0", "r2", "r4", "r6", "r8", "r10")
"""The registers that accumulate products."""

OTHERS = ("r1", "r3", "r5", "r7", "r9", "r11", "r12")
"""The other registers of an assembler's lines."""

_TOTALS = {1: 4, 3: 6}  # registers of sums, by pixels


def _function(name: str, pixels: int, moved: int, read: int, lines: list[str], head: str) -> str:
    """Return a function of assembler lines.

    Operands are registers of sums, of moving pointers, of other pointers and of numbers. Products
    are added to registers of even numbers. In the end a vector holds four channels of each pixel.

    Args:
        name: the function's name.
        pixels: the number of pixels whose sums are computed.
        moved: the number of moving pointers.
        read: the number of further operands that are read.
        lines: the code.
        head: lines of LLVM that define ``%p0`` and so on: the moving pointers, then the others.
    """
    outputs = [f"={{q{FIRST + i}}}" for i in range(pixels)]
    # LLVM does not find this many registers by itself.
    others = [f"{{{each}}}" for each in OTHERS[: moved + read]]
    outputs += [f"=&{{{each}}}" for each in EVEN[: _TOTALS[pixels]]]
    outputs += [f"=&{each}" for each in others[:moved]]
    inputs = [*map(str, range(pixels + _TOTALS[pixels], len(outputs))), *others[moved:]]
    kept = [f"~{{{each}}}" for each in ("lr", "vpr", *(f"q{i}" for i in range(FIRST)), "memory")]
    kinds = [*["<4 x i32>"] * pixels, *["i32"] * (_TOTALS[pixels] + moved)]
    kind = f"{{ {', '.join(kinds)} }}"
    given = ", ".join(f"i32 %p{i}" for i in range(moved + read))
    text, codes = "\n".join(lines), ",".join([*outputs, *inputs, *kept])
    body = [head, f'  %all = call {kind} asm sideeffect "{text}", "{codes}"({given})']
    for i in range(pixels):
        body.append(f"  %s{i} = extractvalue {kind} %all, {i}")
        body.append(f"  %t{i} = getelementptr i32, ptr %sums, i32 {4 * i}")
        body.append(f"  store <4 x i32> %s{i}, ptr %t{i}, align 4")
    arguments = "ptr %sums, ptr %data, ptr %weights, i32 %depth, i32 %turns"
    return "\n".join([f"define void @{name}({arguments}) {{", *body, "  ret void", "}"])


def named(**values: str) -> str:
    """Return lines of LLVM that name numbers made of pointers and sums."""
    return "\n".join(f"  %{name} = {value}" for name, value in values.items())


def _into_lanes(half: int) -> list[str]:
    """Return lines that move two channels' sums to two lanes of each pixel's vector."""
    lanes = ("[2]", "[0]") if half == 0 else ("[3]", "[1]")
    return [
        f"vmov q{FIRST + i}{lanes[0]}, q{FIRST + i}{lanes[1]}, ${3 + i}, ${6 + i}" for i in range(3)
    ]


def few_sums(steps: int, d: int, w: int, *, is_held: bool = False) -> list[str]:
    """Return unrolled lines for four channels' sums of up to four vectors.

    Args:
        steps: the vectors.
        d: the operand of the first pixel.
        w: the operand of the weights, which the lines advance.
        is_held: whether the data are in registers already.
    """
    lines, end = [], 64 * steps
    for half in range(2):
        for step in range(steps):
            name = "vmlav" if step == 0 else "vmlava"
            reads = [f"vldrb.u8 q{i}, [${d + i}, #{16 * step}]" for i in range(3)]
            for q in range(2):
                place = 16 * (2 * (half * steps + step) + q)
                at = f"[${w}, #{place - end}]" if place else f"[${w}], #{end}"
                lines.append(f"vldrw.u32 q{3 + q}, {at}")
                for i in range(3):
                    lines.extend(reads[i : i + 1] if q == 0 and not is_held else ())
                    lines.append(f"{name}.s8 ${3 + 3 * q + i}, q{i}, q{3 + q}")
        lines.extend(_into_lanes(half))
    return lines


def _few(steps: int) -> str:
    """Return a function of three pixels and sums of up to four vectors.

    For a single vector, only existing lanes of the data are read.
    """
    lines = []
    if steps == 1:
        lines = ["vctp.8 $14", "vpsttt", *(f"vldrbt.u8 q{i}, [${11 + i}]" for i in range(3))]
    lines += few_sums(steps, 11, 9, is_held=steps == 1)
    head = named(
        p0="ptrtoint ptr %weights to i32",
        p1="ptrtoint ptr %data to i32",
        p2="add i32 %p1, %depth",
        p3="add i32 %p2, %depth",
        p4="add i32 %depth, 0",
    )
    return _function(FEW[steps], 3, 1, 4, lines, head)


def _many() -> str:
    """Return a function of three pixels and sums of any size."""
    d, w, depth = 9, 12, 19
    lines = []
    for half in range(2):
        lines += [f"dlstp.8 lr, ${depth}", *(f"mov ${3 + i}, #0" for i in range(6))]
        lines.append(f"1: vldrb.u8 q0, [${d}], #16")
        for q in range(2):
            lines.append(f"vldrb.u8 q{3 + q}, [${w + q}], #16")
            for i in range(3):
                lines.extend([f"vldrb.u8 q{i}, [${d + i}], #16"] if q == 0 and i else ())
                lines.append(f"vmlava.s8 ${3 + 3 * q + i}, q{i}, q{3 + q}")
        lines += ["letp lr, 1b", *_into_lanes(half)]
        if half == 0:
            # The pointers are past whole vectors.
            lines += [f"add $3, ${depth}, #15", "bic $3, $3, #15"]
            lines += [f"sub ${each}, ${each}, $3" for each in (d, d + 1, d + 2, w + 1)]
            lines += [f"add ${w}, ${w + 1}, ${depth}", f"add ${w + 1}, ${w}, ${depth}"]
    head = named(
        p0="ptrtoint ptr %data to i32",
        p1="add i32 %p0, %depth",
        p2="add i32 %p1, %depth",
        p3="ptrtoint ptr %weights to i32",
        p4="add i32 %p3, %depth",
        p5="add i32 %depth, 0",
    )
    return _function(MANY, 3, 5, 1, lines, head)


def _columns() -> str:
    """Return a function of three pixels that share columns."""
    d, w, start, turns = 9, 10, 13, 14
    lines = []
    for half in range(2):
        for name in ("vmlav", "vmlava"):
            if name == "vmlava":
                lines.append(f"wls lr, ${turns}, 2f")
            mark = "1: " if name == "vmlava" else ""
            lines.append(f"{mark}vldrw.u32 q0, [${d}], #{16 * REACHED}")
            for i in (1, 2):
                lines.append(f"vldrw.u32 q{i}, [${d}, #{16 * (i - REACHED)}]")
            for n in range(2 * TAPS):
                tap, q = divmod(n, 2)
                if n == 0:
                    lines.append(f"vldrw.u32 q3, [${w}], #{16 * 2 * TAPS}")
                else:
                    lines.append(f"vldrw.u32 q{3 + q}, [${w}, #{16 * (n - 2 * TAPS)}]")
                if tap and q == 0:
                    place = f"[${d}, #{16 * (tap + 2 - REACHED)}]"
                    lines.append(f"vldrw.u32 q{tap - 1}, {place}")
                each = name if tap == 0 else "vmlava"
                lines += [
                    f"{each}.s8 ${3 + 3 * q + i}, q{(i + tap) % 3}, q{3 + q}" for i in range(3)
                ]
            lines.extend(["le lr, 1b"] if name == "vmlava" else ())
        lines += ["2:", *_into_lanes(half)]
        lines.extend([f"mov ${d}, ${start}"] if half == 0 else ())
    head = named(
        d="ptrtoint ptr %data to i32",
        p0="add i32 %d, 0",
        p1="ptrtoint ptr %weights to i32",
        p2="add i32 %d, 0",
        p3="sub i32 %turns, 1",
    )
    return _function(COLUMNS, 3, 2, 2, lines, head)


def _one(each: int) -> str:
    """Return a function of a pixel with ``each`` vectors in an iteration; 0: sums of any size."""
    d, w = 5, 6
    whole = each > 0
    lines = [f"{'dls' if whole else 'dlstp.8'} lr, ${9 if whole else 15}"]
    lines += [f"mov ${1 + q}, #0" for q in range(4)]
    for step in range(max(each, 1)):
        lines.append(f"{'' if step else '1: '}vldrb.u8 q0, [${d}], #16")
        for q in range(4):
            place = f"[${w}], #16" if whole else f"[${w + q}], #16"
            lines.append(f"vldr{'w.u32' if whole else 'b.u8'} q{1 + q}, {place}")
            lines.append(f"vmlava.s8 ${1 + q}, q0, q{1 + q}")
    lines.append(f"le{'' if whole else 'tp'} lr, 1b")
    lines += [
        f"vmov q{FIRST}[2], q{FIRST}[0], $1, $3",
        f"vmov q{FIRST}[3], q{FIRST}[1], $2, $4",
    ]
    numbers = {"p0": "ptrtoint ptr %data to i32", "p1": "ptrtoint ptr %weights to i32"}
    if whole:
        numbers["p2"] = "add i32 %turns, 0"
        return _function(ONE[each], 1, 2, 1, lines, named(**numbers))
    numbers.update({f"p{2 + q}": f"add i32 %p{1 + q}, %depth" for q in range(3)})
    numbers["p5"] = "add i32 %depth, 0"
    return _function(ONE_ROWS, 1, 5, 1, lines, named(**numbers))


SUMS_CODE = "\n".join(
    [*map(_few, FEW), _many(), _columns(), *(_one(each) for each in (4, 2, 1, 0))]
)
"""The LLVM of the functions of this module."""


def add_up(
    name: str, sums: Buffer, data: Index, weights: Index, depth: Index, turns: Index
) -> None:
    """Write sums of products of int8 for four channels, pixel by pixel.

    Args:
        name: the function's name.
        sums: int32; the function writes them.
        data: the first value of the first pixel.
        weights: the first channel's weights.
        depth: the distance between pixels and the number of products of a sum, above 0.
        turns: iterations of the function's loop, above 0.
    """
    start, data, weights = (T.address_of(each) for each in (sums[0], data, weights))
    T.evaluate(T.call_extern("void", name, start, data, weights, depth, turns))
