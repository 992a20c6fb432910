"""Compiles TIR functions to machine code with C's calling convention that needs no runtime."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tvm
from tvm import tirx
from tvm_ffi import structural_map

from legalize.kernels.ir.tasks import NUM_THREADS
from legalize.kernels.isa.vectors import vectors_for
from legalize.kernels.kernel import IS_KERNEL
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

# TVM keeps smaller buffers of a function on the stack, and asks its runtime for larger ones.
_STACK = 1024

# The limit on small cores: more of the similar layers then keep their buffers in the same way.
_SMALL_STACK = 480
_SMALLEST_STACK = 96  # the limit on cores whose kernels have loops in assembly

_CALL = tvm.ir.Op.get("tirx.tvm_call_packed")
_C_CALLS = 2  # tvm::CallingConv: TVM does not wrap these functions for its runtime

# They expect wrapped functions; no 8- or 16-bit floats occur.
_WRAPPING = ["tirx.MakePackedAPI", "tirx.FP8StorageLegalize", "tirx.BF16StorageLegalize"]


@dataclass(frozen=True)
class Compiled:
    """Functions as loops by name, which LLVM compiles.

    Attributes:
        target: their target.
        functions: the loops.
        scratch: for each function the sizes in bytes of the blocks of memory that it takes as
            additional last arguments.
    """

    target: tvm.target.Target
    functions: dict[str, tirx.PrimFunc]
    scratch: dict[str, tuple[int, ...]]

    def leads(self, alignment: int) -> dict[str, dict[Pair, int]]:
        """Return for each function how its outputs may overlap its inputs; see ``overlap.leads``.

        Args:
            alignment: of tensors in bytes; tensors with larger elements do not overlap others.
        """
        return {name: leads(function, alignment) for name, function in self.functions.items()}

    @property
    def module(self) -> Any:
        """A module with LLVM's code of the functions, whose pointers lead to separate memory."""
        return self.module_of(self._with_ends({name: {"": ()} for name in self.functions}))

    def module_of(self, functions: Mapping[str, tirx.PrimFunc]) -> Any:
        """Return a module with LLVM's code.

        Args:
            functions: functions of ``merged``.
        """
        if saves_flash(self.target):
            functions = {name: self._rolled(function) for name, function in functions.items()}
        _, finalize, _ = tirx.get_tir_pipeline("s_tir")
        mod = finalize()(tvm.IRModule(dict(functions)))
        return tvm.get_global_func("target.build.llvm")(mod, self.target)

    def _rolled(self, function: tirx.PrimFunc) -> tirx.PrimFunc:
        core_has = has_loops(self.target)
        # LLVM makes vectors from loops outside of kernels.
        if core_has and IS_KERNEL not in function.attrs:
            return function
        return rolled(function, has_loops=core_has)

    def merged(self, variants: Mapping[str, Mapping[str, Sequence[int]]]) -> Merged:
        """Return the functions to compile; on Cortex-M, one for several similar functions.

        Args:
            variants: for each function and each end of a variant's name in C, the indices of the
                arguments that share memory. The first of them is a pointer to the memory. For each
                other one the function takes the number of elements before it.

        Returns:
            The functions by their names with these ends.
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
        functions: the functions by name.
        symbols: each function's name in C.
        target: the target.
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
    """Return the bytes from which on a function's buffers do not lie on the stack."""
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
    """Replace a call of the runtime by its result: there is one thread, and no error."""
    if not call.op.same_as(_CALL):
        return call
    numbers = {NUM_THREADS: 1, REFUSE_INDEX: 0}
    found = numbers.get(call.args[0].value)
    return call if found is None else tirx.IntImm("int32", found)


def _with_pointers(
    function: tirx.PrimFunc, members: Sequence[int], stack: int
) -> tuple[tirx.PrimFunc, tuple[int, ...]]:
    """Rewrite a function to take pointers for buffers and for its own large ones; return its sizes.

    Args:
        function: a lowered function.
        members: the indices of the arguments that share memory.
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
    # If a parameter is itself a buffer, TVM assumes that no other pointer leads to its memory, even
    # if the function has no "noalias". LLVM then lifts loads out of loops, and spills them.
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
