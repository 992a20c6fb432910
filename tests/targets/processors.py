"""The targets of the matrix: their emulators, and the instructions that code must have."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tests.support.arm import AARCH64, ARMV7, RISCV64, Core
from tests.support.bochs import PROCESSORS, Processor
from tvm_qnn.target.target import NAMES

_X86 = "llvm -mtriple=x86_64-linux-gnu"
_WIDE = r"%[yz]mm"
_MASKED = r"%zmm|%xmm(1[6-9]|[23]\d)|\{%k"
_BYTE_TABLES = r"\tvperm([it]2)?b\t"
_TILES = r"\ttdp"
_MATRICES = r"\t(us?|s)mmla\t"
_PRODUCTS_OF_4 = rf"\t(us|su|u|s)dot\t|{_MATRICES}"
_SCALABLE = r"\b[zp]\d+\.[bhsd]\b|\tptrue\t"
_NEON = r"\bq\d+\b|\tv(ld|st)[1-4]\.|\tv\w+\.[isu]?(8|16)\t"

_NEON_LOADS = r"\tv(ld|st)1\."  # Helium shares the names of NEON's registers
_RISCV_VECTORS = r"\tvset|\tv\w+\.[vxwmi]"


@dataclass(frozen=True)
class Row:
    """A target of the matrix.

    Attributes:
        name: in the table.
        target: as ``parse_target`` takes it.
        products: regular expressions of instructions that multiply, of which code for
            convolutions has at least one; and all of them is what the network of all kernels has.
        lacks: of what the target lacks, which no code for it has.
        emulator: that runs its code, where it is installed.
    """

    name: str
    target: str
    products: Sequence[str] = ()
    lacks: Sequence[str] = ()
    emulator: Core | Processor | None = None

    def faults(self, assembly: str, *, multiplies: bool, has_all: bool) -> list[str]:
        """Name the faults in the instructions of a model.

        Args:
            assembly: of all its functions.
            multiplies: whether it has convolutions or dense layers that have kernels.
            has_all: whether it has every kernel.
        """
        found = [pattern for pattern in self.products if re.search(pattern, assembly)]
        missing = [pattern for pattern in self.products if pattern not in found]
        faults = []
        if missing and (has_all or (multiplies and not found)):
            faults.append(f"no instruction like {' or '.join(missing)!r}")
        for pattern in self.lacks:
            if match := re.search(rf"^.*({pattern}).*$", assembly, re.MULTILINE):
                faults.append(f"an instruction that it lacks: {match[0].strip()!r}")
        return faults


def _aarch64(name: str, cpu: str, products: Sequence[str], lacks: Sequence[str]) -> Row:
    target = name if name in NAMES else f"aarch64 -mcpu={name}"
    return Row(name, target, products, lacks, Core(cpu, AARCH64, target))


def _bare(name: str, lacks: str = _NEON) -> Row:
    return Row(name, name, (), (lacks,))


_NEON_ROW = ((r"\tsmlal2?\t", r"\tsadalp\t"), (_PRODUCTS_OF_4, _SCALABLE))
_DOT_ROW = ((r"\tsdot\t",), (_MATRICES, _SCALABLE))
_RV64 = "llvm -mtriple=riscv64-linux-gnu -mattr=+m,+a,+f,+d,+c"
_PAIRS, _BYTES = (r"\tv?pmaddwd\t",), r"\t({vex}\s+)?vpdpbusd\t"

_ROWS = (
    Row("x86-sse4.1", "x86-sse4.1", _PAIRS, (_WIDE, r"\tv[a-z]"), PROCESSORS["nehalem"]),
    Row("x86-avx2", "x86-avx2", _PAIRS, (_MASKED, _BYTES, _TILES), PROCESSORS["haswell"]),
    Row("x86-avx-vnni", "x86-avx-vnni", (_BYTES,), (_MASKED, _TILES)),
    Row(
        "x86-avx512",
        "x86-avx512",
        (r"\tvpmaddwd\t.*%zmm",),
        (_BYTES, _BYTE_TABLES, _TILES),
        PROCESSORS["skylake-avx512"],
    ),
    Row(
        "x86-avx512-vnni",
        "x86-avx512-vnni",
        (_BYTES + ".*%zmm",),
        (_BYTE_TABLES, _TILES),
        PROCESSORS["cascadelake"],
    ),
    Row("x86-amx", "x86-amx", (_BYTES + ".*%zmm", r"\ttdpbusd\t")),
    Row(
        "icelake-server",
        f"{_X86} -mcpu=icelake-server",
        (_BYTES + ".*%zmm", _BYTE_TABLES),
        (_TILES,),
        PROCESSORS["icelake-server"],
    ),
    Row("znver4", f"{_X86} -mcpu=znver4", (_BYTES + ".*%zmm", _BYTE_TABLES), (_TILES,)),
    _aarch64("aarch64", "cortex-a72", *_NEON_ROW),
    _aarch64("aarch64-dotprod", "cortex-a76", *_DOT_ROW),
    _aarch64("aarch64-i8mm", "max,sme=off", (r"\tsmmla\t", r"\tsdot\t"), (_SCALABLE,)),
    _aarch64("cortex-a53", "cortex-a53", *_NEON_ROW),
    _aarch64("cortex-a72", "cortex-a72", *_NEON_ROW),
    _aarch64("cortex-a76", "cortex-a76", *_DOT_ROW),
    _aarch64("cortex-x2", "max,sme=off", (r"\tsmmla\t", r"\tsdot\t"), ()),
    Row(
        "armv7-neon",
        "armv7-neon",
        (r"\tvmull\.s8\t", r"\tvpadal\.s16\t"),
        (r"\tv[us]dot\.",),
        Core("cortex-a15", ARMV7, "armv7-neon"),
    ),
    Row(
        "armv7",
        "llvm -mtriple=armv7l-linux-gnueabihf -mattr=-neon",
        (),
        (_NEON,),
        Core("cortex-a15", ARMV7, "llvm -mtriple=armv7l-linux-gnueabihf -mattr=-neon"),
    ),
    *(_bare(name) for name in ("cortex-m0plus", "cortex-m3", "cortex-m4", "cortex-m7")),
    *(_bare(name) for name in ("cortex-m33", "cortex-m7+hardfloat")),
    *(_bare(name, _NEON_LOADS) for name in ("cortex-m55", "cortex-m85", "cortex-m55+hardfloat")),
    _bare("riscv32", _RISCV_VECTORS),
    Row("riscv64", _RV64, (), (_RISCV_VECTORS,), Core("rv64", RISCV64, _RV64)),
    _bare("wasm32", r"\bv128|\b[if]\d+x\d+"),
)

ROWS: Mapping[str, Row] = {row.name: row for row in _ROWS}
"""All that ``tvm_qnn.target.target`` names, and others; x86-avx-vnni is alderlake, and x86-amx is
sapphirerapids."""
