from tvm.script.ir_builder import tirx as T

from legalize.kernels.ir.vectors import instruction
from tests.support.errors import fails


def test_unknown_functions_are_named() -> None:
    lanes = T.broadcast(T.int32(1), 4)
    fails(
        "LLVM has no function llvm.x86.no.such", instruction, "int32x4", "llvm.x86.no.such", lanes
    )
