"""Makes a lowered module's machine code, on all processors of this machine."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

import tvm
import tvm_ffi
from tvm import relax
from tvm.relax import vm_build
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from legalize.lift import lift_constants
from legalize.passes.bodies import TAKES_POINTERS
from legalize.passes.set_aside import set_aside
from qnn_ops.errors import QnnError
from tvm_qnn.io.outputs import scratch
from tvm_qnn.io.steps import compile_step
from tvm_qnn.target.ahead import Objects
from tvm_qnn.target.linker import find_linker, shared_library_linker
from tvm_qnn.target.objects import in_memory, object_of
from tvm_qnn.target.options import options_kept
from tvm_qnn.target.parts import TAKES_INPUTS, PartCompiler, parts_of
from tvm_qnn.target.processor import processors
from tvm_qnn.target.target import requirements

_In = TypeVar("_In")
_Out = TypeVar("_Out")


@dataclass(frozen=True)
class Compiled:
    """The machine code of a module.

    Attributes:
        bytecode: for TVM's virtual machine; its ``main`` takes the constants after the inputs.
        constants: tensors.
        target: the target of the functions that the bytecode calls.
        parts: the functions, in modules that are compiled separately. The key of a module is the
            name of one of its functions.
        compile_part: makes an LLVM module of a part.
        objects: the parts' objects, if there is a store of objects; None: made when needed.
    """

    bytecode: bytes
    constants: tuple[Any, ...]
    target: tvm.target.Target
    parts: Mapping[str, tvm.IRModule]
    compile_part: Callable[[tvm.IRModule], Any]
    objects: Sequence[bytes] | None = None

    @cached_property
    def kernels(self) -> dict[str, Any]:
        """The LLVM modules of the parts, by the same keys."""
        return dict(zip(self.parts, _each(self.compile_part, self.parts.values()), strict=True))

    def runnable(self) -> list[Any]:
        """Return modules of the kernels as machine code in memory.

        This links and loads the objects. If the system does not allow that, it compiles the parts
        in memory; if functions call others by name, all parts are one module.
        """
        every = [each for part in self.parts.values() for each in part.functions_items()]
        are_linked = any(TAKES_POINTERS in function.attrs for _, function in every)
        if self.objects is not None or are_linked:
            with suppress(QnnError, OSError, RuntimeError):
                return [self._loaded()]
        if are_linked:
            return [self.compile_part(tvm.IRModule(dict(every)))]
        self.make_runnable()
        return list(self.kernels.values())

    def make_runnable(self) -> None:
        """Turn the kernels into machine code in memory now, and not at their first call."""
        _each(self._compile, self.kernels)

    def write_objects(self, folder: Path) -> list[Path]:
        """Write the kernels as object files for a linker."""
        files = [folder / f"kernels{i}.o" for i in range(len(self.parts))]
        for file, contents in zip(files, self._machine_code, strict=True):
            file.write_bytes(contents)
        return files

    @cached_property
    def _machine_code(self) -> Sequence[bytes]:
        made = self.objects
        return _each(self._object_of, self.kernels) if made is None else made

    @cached_property
    def _locks(self) -> dict[str, Lock]:
        return {name: Lock() for name in self.parts}

    def _loaded(self) -> Any:
        command = find_linker(None, requirements(self.target).platform)
        with scratch() as folder:
            library = str(folder / "kernels.so")
            shared_library_linker(command)(library, list(map(str, self.write_objects(folder))))
            return tvm_ffi.load_module(library, keep_module_alive=False)

    def _compile(self, name: str) -> None:
        with options_kept(self.target):
            self.kernels[name].get_function(name)

    def _object_of(self, name: str) -> bytes:
        # A thread that an interruption left behind may still write the module. If two threads write
        # it, LLVM corrupts the memory.
        with self._locks[name], options_kept(self.target):
            return object_of(self.kernels[name])


def compile_module(
    mod: tvm.IRModule,
    target: tvm.target.Target,
    pipeline: tvm.transform.Pass,
    objects: Objects | None = None,
) -> Compiled:
    """Compile a module without operators of the dialect.

    Args:
        mod: the module; the only parameters of ``main`` are the model's inputs.
        target: the target of the code.
        pipeline: turns Relax operators into calls of functions.
        objects: compiles the functions to objects; None: they are kept as LLVM modules.
    """
    mod, aside = set_aside(mod, {} if objects is None else objects.codes)
    codes = tvm.IRModule(aside)
    parts = parts_of(codes, target) if objects is None else objects.parts_of(codes)
    with target:
        inputs = len(mod["main"].params)
        mod, constants = lift_constants(pipeline(mod))
        outer = _reading(mod["main"], mod["main"].params[:inputs])
        builder = relax.ExecBuilder()
        functions = vm_build._filter_tir(vm_build._vmcodegen(builder, mod))
    # A model may compute nothing; the linker still needs a function.
    given = functions if functions is not None else _nothing()
    for variable in given.functions:
        if variable.name_hint in outer:
            given[variable] = given[variable].with_attr(TAKES_INPUTS, True)
    others = parts_of(given, target, apart=objects is not None)
    parts |= others
    compiled = Compiled(
        _serialized(builder.get()), tuple(constants), target, parts, PartCompiler(target)
    )
    if objects is not None:
        objects.started(others)
        return replace(compiled, objects=objects.finish(parts))
    compile_step(len(given.functions) + len(aside))
    compiled.kernels  # noqa: B018 (errors of the compiler are the build's)
    return compiled


def _nothing() -> tvm.IRModule:
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("nothing")
        T.func_attr({"global_symbol": "nothing"})
        T.evaluate(0)
    return tvm.IRModule({"nothing": builder.get()})


def _reading(main: relax.Function, inputs: Iterable[Any]) -> set[str]:
    """Return the names of functions that main calls with an input, or with a view of an input.

    Only these need checks: the arguments of all others come from this code or the virtual machine.
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


def _serialized(executable: relax.VMExecutable) -> bytes:
    with scratch() as folder, in_memory([file := folder / "bytecode"]):
        executable.mod.write_to_file(str(file), "")
        return file.read_bytes()


def _each(function: Callable[[_In], _Out], items: Iterable[_In]) -> list[_Out]:
    """Map in threads, which is faster: TVM and LLVM do not hold Python's lock."""
    pool = ThreadPoolExecutor(processors())
    try:
        return list(pool.map(function, items))
    finally:
        # After an error or an interruption, no further item begins.
        pool.shutdown(wait=True, cancel_futures=True)
