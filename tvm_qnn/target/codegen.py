"""Makes a lowered module's machine code, on all processors of this machine."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import tvm
import tvm_ffi
from tvm import relax, tirx
from tvm.relax import vm_build
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T
from tvm_ffi import structural_walk

from legalize.lift import lift_constants
from legalize.passes.bodies import TAKES_POINTERS
from qnn_ops.errors import QnnError
from tvm_qnn.io.outputs import scratch
from tvm_qnn.io.steps import compile_step
from tvm_qnn.target.indices import wide_indices
from tvm_qnn.target.linker import find_linker, shared_library_linker
from tvm_qnn.target.objects import in_memory, write_object
from tvm_qnn.target.options import options_kept
from tvm_qnn.target.passes import ALWAYS_LEFT_OUT, PIPELINE, is_final, left_out, leveled
from tvm_qnn.target.processor import processors
from tvm_qnn.target.store import ObjectStore, function_key, passes_text
from tvm_qnn.target.target import requirements

# The number of parts that the functions are divided into. It does not depend on the number of
# processors, so that a model has the same parts, and the same code, on every machine.
_PARTS = 16

# The number of modules for functions that others call by name. A module takes some 20 ms beside its
# functions, but a change of one function compiles its whole module again.
_SHARES = 8

# TVM begins each function with checks of its arguments. They take longer to compile than most
# functions, and run at each call. This option leaves them out.
_UNCHECKED = {"tirx.disable_assert": True}

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
        if self.objects is None:
            _each(self._write, zip(self.kernels.values(), files, strict=True))
        else:
            for file, contents in zip(files, self.objects, strict=True):
                file.write_bytes(contents)
        return files

    def _loaded(self) -> Any:
        command = find_linker(None, requirements(self.target).platform)
        with scratch() as folder:
            library = str(folder / "kernels.so")
            shared_library_linker(command)(library, list(map(str, self.write_objects(folder))))
            return tvm_ffi.load_module(library, keep_module_alive=False)

    def _compile(self, name: str) -> None:
        with options_kept(self.target):
            self.kernels[name].get_function(name)

    def _write(self, part: tuple[Any, Path]) -> None:
        with options_kept(self.target):
            write_object(*part)


def compile_module(
    mod: tvm.IRModule,
    target: tvm.target.Target,
    pipeline: tvm.transform.Pass,
    store: ObjectStore | None = None,
) -> Compiled:
    """Compile a module without operators of the dialect.

    Args:
        mod: the module; the only parameters of ``main`` are the model's inputs.
        target: the target of the code.
        pipeline: turns Relax operators into calls of functions.
        store: finds and keeps objects of functions.
    """
    with target:
        inputs = len(mod["main"].params)
        mod, constants = lift_constants(pipeline(mod))
        outer = _reading(mod["main"], mod["main"].params[:inputs])
        builder = relax.ExecBuilder()
        functions = vm_build._filter_tir(vm_build._vmcodegen(builder, mod))
        context = tvm.transform.PassContext.current()

    def build(part: tvm.IRModule) -> Any:
        # A context belongs to a thread, and its instruments do not work in several threads at once.
        functions = list(part.functions.values())
        left = _left_out(functions[:1], target)  # the others leave out the same
        disabled = [*context.disabled_pass, *ALWAYS_LEFT_OUT, *left]
        levels = (context.required_pass, disabled)
        config = {**context.config, **({} if _is_outer(part) else _UNCHECKED)}
        passes = tvm.transform.PassContext(context.opt_level, *levels, config=config)
        with passes, target, options_kept(target):
            return tirx.build(part, target=leveled(functions, target), pipeline=PIPELINE)

    def _is_outer(part: tvm.IRModule) -> bool:
        return any(variable.name_hint in outer for variable in part.functions)

    # A model may compute nothing; the linker still needs a function.
    given = functions if functions is not None else _nothing()
    parts = _parts(given, outer, target, _PARTS if store is None else len(given.functions))
    compiled = Compiled(_serialized(builder.get()), tuple(constants), target, parts, build)
    if store is None:
        compile_step(len(given.functions))
        compiled.kernels  # noqa: B018 (errors of the compiler are the build's)
        return compiled
    return replace(compiled, objects=_objects(compiled, store, _is_outer))


def _objects(
    compiled: Compiled, store: ObjectStore, is_outer: Callable[[tvm.IRModule], bool]
) -> list[bytes]:
    """Return the objects of all parts: from the store, or compiled now."""
    passes = passes_text()
    keys = {
        name: function_key(
            part,
            leveled(list(part.functions.values()), compiled.target),
            f"{passes} {is_outer(part)}",
            is_outer(part),
        )
        for name, part in compiled.parts.items()
    }
    found = {name: store.find(key) for name, key in keys.items()}
    missing = [name for name, code in found.items() if code is None]

    if missing:
        compile_step(len(missing))

    def make(name: str) -> bytes:
        module = compiled.compile_part(compiled.parts[name])
        with scratch() as folder, options_kept(compiled.target):
            write_object(module, file := folder / "kernels.o")
            return file.read_bytes()

    made = dict(zip(missing, _each(make, missing), strict=True))
    store.keep({keys[name]: code for name, code in made.items()})
    return [found[name] or made[name] for name in keys]


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


def _parts(
    mod: tvm.IRModule, outer: set[str], target: tvm.target.Target, most: int
) -> dict[str, tvm.IRModule]:
    """Return the functions in modules, the largest first, by the name of one function of each.

    There are at most ``most`` modules for each kind of functions. Functions that others call by
    name are divided by their names into ``_SHARES`` modules: these do not depend on other
    functions.

    Functions of ``outer`` have modules of their own. All functions of a module leave out the same
    passes of TVM, and have the same level of LLVM.
    """
    variables = sorted(mod.functions, key=lambda variable: str(variable.name_hint))
    kinds: dict[Any, list[tvm.ir.GlobalVar]] = {}
    for variable in variables:
        name, left = str(variable.name_hint), _left_out([mod[variable]], target)
        # A name that ends in a digest decides the share, in any model.
        is_digest = TAKES_POINTERS in mod[variable].attrs
        share = int(name[-1], 16) % _SHARES if is_digest else _SHARES
        kind = (name not in outer, left, is_final(mod[variable]), share)
        kinds.setdefault(kind, []).append(variable)
    groups = [
        own[start::count]
        for (*_, share), own in sorted(kinds.items(), key=lambda item: item[0])
        for count in [1 if share < _SHARES else min(most, len(own))]
        for start in range(count)
    ]
    # Threads take one module after another. If a long one came last, it would run alone.
    groups.sort(key=lambda group: -sum(_length(mod[variable]) for variable in group))
    return {
        group[0].name_hint: tvm.IRModule(
            {variable: mod[variable] for variable in group}, attrs=mod.attrs
        )
        for group in groups
    }


def _length(function: tirx.PrimFunc) -> int:
    """Count the values and stores of a function. LLVM's time grows with them."""
    found: list[Any] = []
    kinds = (tirx.Bind, tirx.BufferStore)
    structural_walk(function.body, [(kind, found.append) for kind in kinds])
    return len(found)


def _left_out(functions: Sequence[tirx.PrimFunc], target: tvm.target.Target) -> tuple[str, ...]:
    """Return the names of passes to disable for a module of functions."""
    return (*left_out(*functions), *wide_indices(functions, target))


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
