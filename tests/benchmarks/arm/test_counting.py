import shutil
from pathlib import Path

import pytest

from benchmarks.arm.counting import CLASSES, build_plugin, by_function, count, tool
from tests.support.arm import AARCH64
from tests.support.errors import fails
from tvm_qnn.io.command import call

# What each class has in a run of the program.
EXPECTED = {
    "dot product": 3 * 10,
    "matrix": 10,
    "widening multiply": 4 * 10,
    "vector load": 2 * 10,
    "vector store": 10,
}
PROGRAM = """\
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <unistd.h>
static char memory[64];
__attribute__((noinline)) static void work(void) {
  for (int i = 0; i < 10; i++)
    __asm__ volatile(
        ".arch armv8.2-a+dotprod+i8mm\\n"
        "sdot v0.4s, v1.16b, v2.16b\\n"
        "udot v0.4s, v1.16b, v2.4b[1]\\n"
        "usdot v0.4s, v1.16b, v2.16b\\n"
        "smmla v0.4s, v1.16b, v2.16b\\n"
        "smull v0.8h, v1.8b, v2.8b\\n"
        "umlal2 v0.8h, v1.16b, v2.16b\\n"
        "smlal v0.4s, v1.4h, v2.h[3]\\n"
        "smull2 v0.4s, v1.8h, v2.h[3]\\n"
        "ldr q3, [%0]\\n"
        "ld1r {v4.4s}, [%0]\\n"
        "str q3, [%0]\\n" ::"r"(memory)
        : "v0", "v3", "v4", "memory");
}
int main(void) {
  for (long run = 0; run < 2; run++) {
    syscall(SYS_getpriority, 0x716e6e00L, 2 * run);
    work();
    syscall(SYS_getpriority, 0x716e6e00L, 2 * run + 1);
  }
}
"""


@pytest.mark.arm
@pytest.mark.skipif(AARCH64.missing is not None, reason=f"cannot emulate: {AARCH64.missing}")
@pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler cc on the path")
def test_instructions_are_counted_by_class_and_function(tmp_path: Path) -> None:
    source, program = tmp_path / "program.c", tmp_path / "program"
    source.write_text(PROGRAM)
    call([tool(AARCH64.compiler), "-O2", "-static", "-o", program, source])
    plugin = build_plugin(tmp_path)
    emulator = [tool(AARCH64.emulator), "-cpu", "max"]
    counts = count(plugin, emulator, [program], profile=True)
    assert {name: counts.classes[name] for name in EXPECTED} == EXPECTED
    assert counts.classes["branch"] >= 10
    # Ten rounds of 11 instructions and their loop counter, and two system calls.
    assert 10 * 13 <= counts.total <= 10 * 13 + 60
    functions = by_function(f"{AARCH64.triple}-nm", program, counts)
    assert next(iter(functions)) == "work"
    assert sum(functions.values()) == counts.total
    assert count(plugin, emulator, [program], profile=False).classes == counts.classes
    assert set(counts.classes) == set(CLASSES)


def test_what_is_missing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    fails(r"needs qemu-aarch64, .*: apt install qemu-user", tool, "qemu-aarch64")
