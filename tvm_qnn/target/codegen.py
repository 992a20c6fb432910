"""Machine code of a lowered module, made on all processors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import tvm
from tvm import relax, tirx
from tvm.relax import vm_build
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from legalize.lift import lift_constants
from tvm_qnn.io.outputs import scratch
from tvm_qnn.io.steps import compile_step
from tvm_qnn.target.indices import wide_indices
from tvm_qnn.target.objects import in_memory, write_object
from tvm_qnn.target.options import options_kept
from tvm_qnn.target.passes import ALWAYS_LEFT_OUT, left_out
from tvm_qnn.target.processor import processors

# How many parts the functions are divided into. Not by the number of processors: the same model
# makes the same parts, and so the same code, everywhere.
_PARTS = 16

# TVM begins each function with checks of its arguments, which take longer to compile than most
# functions and run at each call. This leaves them out.
_UNCHECKED = {"tirx.disable_assert": True}

_In = TypeVar("_In")
_Out = TypeVar("_Out")


@dataclass(frozen=True)
class Compiled:
    """The machine code of a module.

    Attributes:
        bytecode: of TVM's virtual machine; ``main`` takes the constants after its inputs.
        constants: tensors.
        kernels: LLVM modules of the functions that the bytecode calls, by the name of one of them.
        target: what they are for.
    """

    bytecode: bytes
    constants: tuple[Any, ...]
    kernels: Mapping[str, Any]
    target: tvm.target.Target

    def make_runnable(self) -> None:
        """Turn the kernels into machine code in memory, which their first call does else."""
        _each(self._compile, self.kernels)

    def write_objects(self, folder: Path) -> list[Path]:
        """Write the kernels as object files for a linker."""
        files = [folder / f"kernels{i}.o" for i in range(len(self.kernels))]
        parts = zip(self.kernels.values(), files, strict=True)
        _each(self._write, parts)
        return files

    def _compile(self, name: str) -> None:
        with options_kept(self.target):
            self.kernels[name].get_function(name)

    def _write(self, part: tuple[Any, Path]) -> None:
        with options_kept(self.target):
            write_object(*part)


def compile_module(
    mod: tvm.IRModule, target: tvm.target.Target, pipeline: tvm.transform.Pass
) -> Compiled:
    """Compile a module in which no operator of the dialect is left.

    Args:
        mod: with ``main``, which has no parameters but the model's inputs.
        target: of the code.
        pipeline: what turns Relax operators into calls of functions.
    """
    with target:
        inputs = len(mod["main"].params)
        mod, constants = lift_constants(pipeline(mod))
        outer = _reading(mod["main"], mod["main"].params[:inputs])
        builder = relax.ExecBuilder()
        functions = vm_build._filter_tir(vm_build._vmcodegen(builder, mod))
        context = tvm.transform.PassContext.current()

    def build(part: tvm.IRModule) -> Any:
        # Contexts belong to threads; instruments are not for several of them at once.
        left = _left_out(next(iter(part.functions.values())), target)
        disabled = [*context.disabled_pass, *ALWAYS_LEFT_OUT, *left]
        levels = (context.required_pass, disabled)
        is_outer = any(variable.name_hint in outer for variable in part.functions)
        config = {**context.config, **({} if is_outer else _UNCHECKED)}
        passes = tvm.transform.PassContext(context.opt_level, *levels, config=config)
        with passes, target, options_kept(target):
            return tirx.build(part, target=target)

    # Where nothing is to be computed, there is something to link all the same.
    module = functions if functions is not None else _nothing()
    compile_step(len(module.functions))
    parts = _parts(module, outer, target)
    kernels = dict(zip(parts, _each(build, parts.values()), strict=True))
    return Compiled(_serialized(builder.get()), tuple(constants), kernels, target)


def _nothing() -> tvm.IRModule:
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("nothing")
        T.func_attr({"global_symbol": "nothing"})
        T.evaluate(0)
    return tvm.IRModule({"nothing": builder.get()})


def _reading(main: relax.Function, inputs: Iterable[Any]) -> set[str]:
    """Return the functions that main calls with one of its inputs, or with another view of one.

    All that the others get was made here or by the virtual machine: it fits.
    """
    outside = set(inputs)
    names = set()
    for binding in (each for block in main.body.blocks for each in block.bindings):
        if outside.isdisjoint(relax.analysis.free_vars(binding.value)):
            continue
        outside.add(binding.var)
        operator = getattr(binding.value, "op", None)
        if isinstance(operator, tvm.ir.GlobalVar):
            names.add(str(operator.name_hint))
    return names


def _parts(
    mod: tvm.IRModule, outer: set[str], target: tvm.target.Target
) -> dict[str, tvm.IRModule]:
    """Return the functions in modules of about the same size, by the name of a function of each.

    No function calls another, only main does. Those of ``outer`` share modules with no others. The
    functions of a module leave out the same passes of TVM's.
    """
    variables = sorted(mod.functions, key=lambda variable: str(variable.name_hint))
    kinds: dict[Any, list[tvm.ir.GlobalVar]] = {}
    for variable in variables:
        kind = (variable.name_hint not in outer, _left_out(mod[variable], target))
        kinds.setdefault(kind, []).append(variable)
    groups = [
        kinds[kind][start::_PARTS]
        for kind in sorted(kinds)
        for start in range(min(_PARTS, len(kinds[kind])))
    ]
    return {
        group[0].name_hint: tvm.IRModule(
            {variable: mod[variable] for variable in group}, attrs=mod.attrs
        )
        for group in groups
    }


def _left_out(function: tirx.PrimFunc, target: tvm.target.Target) -> tuple[str, ...]:
    """Return the names of passes to disable for a function, as for all of its module."""
    return (*left_out(function), *wide_indices([function], target))


def _serialized(executable: relax.VMExecutable) -> bytes:
    with scratch() as folder, in_memory([file := folder / "bytecode"]):
        executable.mod.write_to_file(str(file), "")
        return file.read_bytes()


def _each(function: Callable[[_In], _Out], items: Iterable[_In]) -> list[_Out]:
    """Map in threads, which gains: TVM and LLVM leave Python's lock alone."""
    pool = ThreadPoolExecutor(processors())
    try:
        return list(pool.map(function, items))
    finally:
        # After an error or an interruption, what has not begun is not begun any more.
        pool.shutdown(wait=True, cancel_futures=True)
