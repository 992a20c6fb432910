import pytest

from benchmarks.arm_loops import AARCH64
from benchmarks.loops.assembly import Dialect, loops, name_of
from benchmarks.x86_loops import X86_64

ARM = """\
f:
\tmov\tw1, #8
.LBB0_1:                                // outer
\tmov\tx2, x0
.LBB0_2:                                // inner
.Ltmp3:
\tsmull\tv0.8h, v1.8b, v2.8b
\tcbz\tw3, .LBB0_4
\tsdot\tv0.4s, v1.16b, v2.4b[1]
\tsubs\tx2, x2, #1
\tb.ne\t.LBB0_2
.LBB0_4:
\tstr\tq0, [x3]
\tsubs\tw1, w1, #1
\tb.gt\t.LBB0_1
\tb\t.LBB0_5
.LBB0_5:
\tret
"""
X86 = """\
f:
\tmovl\t$8, %ecx
\t.p2align\t4
.LBB0_1:                                # outer
\tmovq\t%rdi, %rdx
.LBB0_2:                                # inner
.Ltmp3:
\t{vex}\tvpdpbusd\t(%rdi), %ymm0, %ymm1   # 32-byte Folded Reload
\tje\t.LBB0_5
\tdecq\t%rdx
\tjne\t.LBB0_2
\tvmovdqu\t%ymm1, (%rsi)
\tdecl\t%ecx
\tjne\t.LBB0_1
\tretq
.LBB0_5:
\tincq\t%rsi
\tjmp\t.LBB0_2
"""


@pytest.mark.parametrize(
    ("assembly", "dialect", "inner", "outer"),
    [
        (ARM, AARCH64, "smull cbz sdot subs b.ne", "mov str subs b.gt"),
        (X86, X86_64, "vpdpbusd je decq jne", "movq vmovdqu decl jne"),
    ],
    ids=["aarch64", "x86_64"],
)
def test_loops_have_their_own_instructions(
    assembly: str, dialect: Dialect, inner: str, outer: str
) -> None:
    found = loops(assembly, dialect)
    assert [loop.label for loop in found] == [".LBB0_2", ".LBB0_1"]
    assert [list(map(name_of, loop.own)) for loop in found] == [inner.split(), outer.split()]


def test_instructions_count_by_their_names() -> None:
    inner, outer = loops(X86, X86_64)
    assert inner.count("vpdpbusd") == 1
    assert outer.count("vpdpbusd") == 0


def test_labels_and_directives_have_no_name() -> None:
    assert [name_of(line) for line in (".LBB0_2:", "\t.p2align\t4", "")] == ["", "", ""]
