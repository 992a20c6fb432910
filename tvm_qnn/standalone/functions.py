"""TIR functions as machine code with C's calling convention, in need of no runtime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tvm
from tvm import tirx
from tvm_ffi import structural_map

from legalize.kernels.ir.tasks import NUM_THREADS
from legalize.kernels.kernel import IS_KERNEL
from legalize.kernels.table import vectors_for
from qnn_ops.errors import REFUSE_INDEX
from tvm_qnn.io.steps import compile_step
from tvm_qnn.standalone.merging import Merged, apart, merge
from tvm_qnn.standalone.overlap import leads, size_of_buffer
from tvm_qnn.standalone.rolling import rolled
from tvm_qnn.standalone.shared import with_shared_memory
from tvm_qnn.standalone.uses import Pair
from tvm_qnn.target.indices import wide_indices
from tvm_qnn.target.microcontrollers import has_loops, saves_flash
from tvm_qnn.target.passes import on_cpu

# TVM keeps smaller buffers of a function on the stack, and asks its runtime for the others.
_STACK = 1024

# On small cores from these bytes on, so that more of the layers alike keep them in one place.
_SMALL_STACK = 480
_SMALLEST_STACK = 96  # where a kernel's loops are an assembler's

_CALL = tvm.ir.Op.get("tirx.tvm_call_packed")
_C_CALLS = 2  # tvm::CallingConv: what TVM passes over when it wraps functions for its runtime

# They take functions for their wrapped form; no 8- or 16-bit floats occur.
_WRAPPING = ["tirx.MakePackedAPI", "tirx.FP8StorageLegalize", "tirx.BF16StorageLegalize"]


@dataclass(frozen=True)
class Compiled:
    """Functions as loops, which LLVM makes code of, by name.

    Attributes:
        target: what they are for.
        functions: the loops.
        scratch: of each the sizes in bytes of the blocks of memory that it takes as further, last
            arguments.
    """

    target: tvm.target.Target
    functions: dict[str, tirx.PrimFunc]
    scratch: dict[str, tuple[int, ...]]

    def leads(self, alignment: int) -> dict[str, dict[Pair, int]]:
        """Return of each function how its outputs may lie over its inputs; see ``overlap.leads``.

        Args:
            alignment: of tensors in bytes; those of larger elements do not lie over others.
        """
        return {name: leads(function, alignment) for name, function in self.functions.items()}

    @property
    def module(self) -> Any:
        """A module that has LLVM's code, of functions that take pointers to separate memory."""
        return self.module_of(self._with_ends({name: {"": ()} for name in self.functions}))

    def module_of(self, functions: Mapping[str, tirx.PrimFunc]) -> Any:
        """Return a module that has LLVM's code.

        Args:
            functions: that ``merged`` has.
        """
        if saves_flash(self.target):
            functions = {name: self._rolled(function) for name, function in functions.items()}
        _, finalize, _ = tirx.get_tir_pipeline("s_tir")
        mod = finalize()(tvm.IRModule(dict(functions)))
        return tvm.get_global_func("target.build.llvm")(mod, self.target)

    def _rolled(self, function: tirx.PrimFunc) -> tirx.PrimFunc:
        core_has = has_loops(self.target)
        # Of loops that are no kernel's LLVM makes vectors.
        if core_has and IS_KERNEL not in function.attrs:
            return function
        return rolled(function, has_loops=core_has)

    def merged(self, variants: Mapping[str, Mapping[str, Sequence[int]]]) -> Merged:
        """Return the functions that are to have code; on Cortex-M, one for several alike.

        Args:
            variants: of each function the arguments that share their memory, by the end of the
                variant's name in C. The first of them is a pointer to it; for each other one the
                function takes how many elements behind that it begins.

        Returns:
            Functions by their names with those ends.
        """
        functions = self._with_ends(variants)
        return merge(functions) if saves_flash(self.target) else apart(functions)

    def _with_ends(
        self, variants: Mapping[str, Mapping[str, Sequence[int]]]
    ) -> dict[str, tirx.PrimFunc]:
        functions, stack = {}, _stack_of(self.target)
        for name, each in variants.items():
            for end, members in each.items():
                function, _ = _with_pointers(self.functions[name], members, stack)
                symbol = f"{function.attrs['global_symbol']}{end}"
                functions[f"{name}{end}"] = function.with_attr("global_symbol", symbol)
        return functions


def compile_functions(
    functions: Mapping[str, tirx.PrimFunc], symbols: Mapping[str, str], target: tvm.target.Target
) -> Compiled:
    """Compile functions that take a pointer for each of their tensors, and run in one thread.

    Args:
        functions: by name.
        symbols: the name of each in C.
        target: what to compile for.
    """
    compile_step(len(functions))
    mod = tvm.IRModule({name: _prepared(f, symbols[name]) for name, f in functions.items()})
    mod = tirx.transform.BindTarget(target.with_host(target))(mod)
    pipeline, _, _ = tirx.get_tir_pipeline("s_tir")
    disabled = [*_WRAPPING, *wide_indices(functions.values(), target)]
    config = {"tirx.disable_vectorize": not vectors_for(target)}
    with tvm.transform.PassContext(disabled_pass=disabled, config=config):
        mod = pipeline(mod)
    return Compiled(
        target,
        {name: mod[name] for name in functions},
        {name: _with_pointers(mod[name], (), _stack_of(target))[1] for name in functions},
    )


def _stack_of(target: tvm.target.Target) -> int:
    """Return of how many bytes on a function's buffers do not lie on the stack."""
    if not saves_flash(target):
        return _STACK
    return _SMALLEST_STACK if has_loops(target) else _SMALL_STACK


def _prepared(function: tirx.PrimFunc, symbol: str) -> tirx.PrimFunc:
    body = structural_map(function.body, [(tirx.For, _serial), (tvm.ir.Call, _alone)])
    attrs = {"global_symbol": symbol, "calling_conv": _C_CALLS}
    return function.with_body(body).with_attrs(attrs)


def _serial(loop: tirx.For) -> tirx.For:
    if loop.kind != tirx.ForKind.PARALLEL:
        return loop
    return tirx.For(loop.loop_var, loop.min, loop.extent, tirx.ForKind.SERIAL, loop.body)


def _alone(call: tvm.ir.Call) -> Any:
    """Return what stands for a call of the runtime: there is one thread, and no error."""
    if not call.op.same_as(_CALL):
        return call
    numbers = {NUM_THREADS: 1, REFUSE_INDEX: 0}
    found = numbers.get(call.args[0].value)
    return call if found is None else tirx.IntImm("int32", found)


def _with_pointers(
    function: tirx.PrimFunc, members: Sequence[int], stack: int
) -> tuple[tirx.PrimFunc, tuple[int, ...]]:
    """Rewrite a function to take pointers for buffers, its own large ones too; and their sizes.

    Args:
        function: lowered.
        members: the arguments that share their memory.
        stack: the bytes from which on a buffer is large.
    """
    body, buffers = function.body, list(function.params)
    shifts: Mapping[int, tirx.Var] = {}
    if members:
        body, buffers[members[0]], shifts = with_shared_memory(function, members)
    parameters = [
        shifts[i] if i in shifts else tirx.Var(f"argument_{i}", "handle")
        for i in range(len(buffers))
    ]
    # TVM takes the memory of a buffer that is a parameter itself for nobody else's, also where the
    # function has no "noalias"; LLVM then lifts loads out of loops, and spills them.
    declared = [
        tirx.DeclBuffer(buffer, data=tirx.reinterpret("handle", pointer))
        for i, (buffer, pointer) in enumerate(zip(buffers, parameters, strict=True))
        if i not in shifts
    ]
    sizes: list[int] = []

    def lift(allocation: tirx.AllocBuffer) -> tirx.Stmt:
        size = size_of_buffer(allocation.buffer)
        if size < stack:
            return allocation
        sizes.append(size)
        parameters.append(tirx.Var(f"scratch_{len(sizes)}", "handle"))
        return tirx.DeclBuffer(allocation.buffer, data=parameters[-1])

    body = structural_map(body, (tirx.AllocBuffer, lift))
    body = on_cpu(tirx.SeqStmt([*declared, body]))
    return tirx.PrimFunc(parameters, body, None, function.attrs), tuple(sizes)
