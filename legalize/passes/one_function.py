"""Make one function of all the functions that a small model calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
import tvm
from tvm import relax, s_tir, tirx
from tvm.relax.analysis import has_reshape_pattern
from tvm.tirx.buffer import decl_buffer

from legalize.kernels.kernel import IS_KERNEL

# Beyond these, calls cost little beside what they do, and one function takes long to compile.
_MOST_CALLS = 24
_MOST_WEIGHTS = 1 << 20
_ALIGNMENT = 64

# Makes no instruction; LLVM keeps nothing that it knows of memory in registers across it.
_BARRIER = "qnn_barrier"
_BARRIER_CODE = f"""
define linkonce_odr hidden void @{_BARRIER}() alwaysinline {{
  call void asm sideeffect "", "~{{memory}}"()
  ret void
}}
"""


def OneFunction() -> tvm.transform.Pass:
    """Replace the calls of ``main`` by one call, where they are few and their work is little.

    A call through TVM's virtual machine takes as long as some ten thousand multiplications: it
    makes tensors, and checks each argument. The one function has the bodies of all in a row.
    Temporary tensors have places in one block of memory, and share them where one is not needed
    any more when the other begins; constants are one block, too. Between two bodies stands a
    barrier, so that LLVM compiles each as if it stood alone: where it puts what one writes into
    the shuffles of the next, its selection of instructions may go on without end.

    ``main`` must allocate and call only, as ``CallTIRRewrite`` leaves it; else it stays.
    """

    def rewrite(mod: tvm.IRModule, _context: tvm.transform.PassContext) -> tvm.IRModule:
        reader = _Reader(mod)
        calls = reader.read(mod["main"])
        if calls is None or len(calls) < 2:
            return mod
        return _joined(mod, reader, calls)

    return tvm.transform.module_pass(rewrite, opt_level=0, name="OneFunction")


@dataclass(frozen=True)
class _Call:
    """A function, and the variables or constants that it takes."""

    function: tirx.PrimFunc
    arguments: tuple[Any, ...]


@dataclass
class _Reader:
    """Follows the variables of main to the tensors whose memory they name."""

    mod: tvm.IRModule
    same: dict[Any, Any] = field(default_factory=dict)

    def root(self, value: Any) -> Any:
        """Return the variable that was allocated, or a parameter, or a constant."""
        while value in self.same:
            value = self.same[value]
        return value

    def read(self, main: relax.Function) -> list[_Call] | None:
        """Return the calls in order; None if main does anything else, or too much."""
        calls: list[_Call] = []
        for binding in (each for block in main.body.blocks for each in block.bindings):
            value = binding.value
            if isinstance(value, relax.Var | relax.Tuple):
                self.same[binding.var] = value
            elif not isinstance(value, relax.Call):
                return None
            elif isinstance(value.op, tvm.ir.GlobalVar):
                function = self.mod[value.op]
                if not isinstance(function, tirx.PrimFunc) or not _is_plain(function):
                    return None
                calls.append(_Call(function, tuple(value.args)))
            elif _name(value) == "relax.reshape":
                self.same[binding.var] = value.args[0]
            elif _name(value) != "relax.builtin.alloc_tensor":
                return None
        calls = [call for call in calls if not self._is_view(call, main)]
        results = [self.root(result) for result in self.results(main)]
        inner = {self.root(call.arguments[-1]) for call in calls}
        constants = [arg for call in calls for arg in call.arguments if not _is_variable(arg)]
        has_own_results = len(set(results)) == len(results) and inner.issuperset(results)
        is_small = len(calls) <= _MOST_CALLS and sum(map(_bytes, constants)) <= _MOST_WEIGHTS
        return calls if has_own_results and is_small else None

    def results(self, main: relax.Function) -> list[Any]:
        """Return the variables that main returns, one by one."""
        result = main.body.body
        while isinstance(result, relax.Var) and isinstance(result.ty, relax.TupleType):
            result = self.same[result]
        return list(result.fields) if isinstance(result, relax.Tuple) else [result]

    def _is_view(self, call: _Call, main: relax.Function) -> bool:
        """Take a call that only copies as another name of what it copies."""
        # The place of a lookup along an axis of size 1 is an argument, too, that nothing reads.
        if len(call.arguments) != 2 or IS_KERNEL in call.function.attrs:
            return False
        if not has_reshape_pattern(call.function):
            return False
        source, copy = map(self.root, call.arguments)
        if not _is_variable(source) or source in main.params:
            return False
        self.same[copy] = source
        return True


def _joined(mod: tvm.IRModule, reader: _Reader, calls: Sequence[_Call]) -> tvm.IRModule:
    main = mod["main"]
    results = reader.results(main)
    roots = [reader.root(result) for result in results]
    arguments = [tuple(map(reader.root, call.arguments)) for call in calls]
    places, size = _places(arguments, {*main.params, *roots})
    offsets, block = _constant_block(arguments)

    memory = decl_buffer((size,), "uint8", "memory")
    constants = decl_buffer((block.size,), "uint8", "constants")
    types = {parameter: parameter.ty for parameter in main.params}
    types |= {root: result.ty for root, result in zip(roots, results, strict=True)}
    whole = {root: decl_buffer(list(ty.shape), ty.dtype, "tensor") for root, ty in types.items()}

    def pointer(argument: Any) -> Any:
        if argument in whole:
            return whole[argument].data
        if _is_variable(argument):
            return tirx.address_of(memory[places[argument]])
        return tirx.address_of(constants[offsets[argument.value]])

    body: list[Any] = []
    for call, values in zip(calls, arguments, strict=True):
        # A function's variables are its own: what is called twice is copied.
        function = s_tir.renew_defs(call.function)
        for parameter, value in zip(function.params, values, strict=True):
            body.append(tirx.DeclBuffer(parameter, data=pointer(value)))
        body += [function.body, tirx.Evaluate(tirx.call_extern("void", _BARRIER))]
    bodies = tirx.SeqStmt(body)
    with_code = tirx.AttrStmt(
        tirx.IntImm("int32", 0), "pragma_import_llvm", tvm.ir.StringImm(_BARRIER_CODE), bodies
    )
    block_of_all = s_tir.SBlock([], [], [], "root", with_code)
    inputs = [whole[parameter] for parameter in main.params]
    outputs = [whole[root] for root in roots]
    # Places are used again for other tensors: nothing may be taken for distinct by its name.
    attrs = {"tirx.noalias": False, "s_tir": True, IS_KERNEL: True}
    function = tirx.PrimFunc(
        [*inputs, constants, memory, *outputs], s_tir.SBlockRealize([], True, block_of_all)
    ).with_attrs(attrs)
    return _with_one_call(mod, function, block, size, results)


def _with_one_call(
    mod: tvm.IRModule,
    function: tirx.PrimFunc,
    constants: np.ndarray[Any, Any],
    memory: int,
    results: Sequence[Any],
) -> tvm.IRModule:
    main = mod["main"]
    builder = relax.BlockBuilder()
    kept = {
        variable: other
        for variable, other in mod.functions_items()
        if not isinstance(other, tirx.PrimFunc) and variable.name_hint != "main"
    }
    with builder.function("main", list(main.params)):
        variable = builder.add_func(function, "model")

        def allocate(shape: Any, dtype: str) -> relax.Expr:
            return builder.emit(
                relax.op.builtin.alloc_tensor(relax.ShapeExpr(list(shape)), dtype, 0)
            )

        outputs = [allocate(result.ty.shape, str(result.ty.dtype)) for result in results]
        block = relax.const(constants, "uint8")
        scratch = allocate([memory], "uint8")
        builder.emit(relax.Call(variable, [*main.params, block, scratch, *outputs]))
        is_tuple = isinstance(main.body.body.ty, relax.TupleType)
        builder.emit_func_output(relax.Tuple(outputs) if is_tuple else outputs[0])
    joined = builder.get()
    joined["main"] = joined["main"].with_attrs(dict(main.attrs))
    joined.update(tvm.IRModule(kept))
    return joined


def _places(arguments: Sequence[tuple[Any, ...]], own: set[Any]) -> tuple[dict[Any, int], int]:
    """Give each temporary tensor an offset; the large ones first, each the lowest that is free."""
    times: dict[Any, tuple[int, int]] = {}
    for number, values in enumerate(arguments):
        for value in values:
            if _is_variable(value) and value not in own:
                times[value] = (times.get(value, (number, number))[0], number)
    offsets: dict[Any, int] = {}
    total = _ALIGNMENT
    for value in sorted(times, key=_bytes, reverse=True):
        first, last = times[value]
        taken = sorted(
            (offset, offset + _bytes(other))
            for other, offset in offsets.items()
            if times[other][0] <= last and first <= times[other][1]
        )
        offset = 0
        for start, stop in taken:
            if offset + _bytes(value) <= start:
                break
            offset = max(offset, _aligned(stop))
        offsets[value] = offset
        total = max(total, _aligned(offset + _bytes(value)))
    return offsets, total


def _constant_block(
    arguments: Sequence[tuple[Any, ...]],
) -> tuple[dict[Any, int], np.ndarray[Any, Any]]:
    """Return the constants in one array of bytes, and the offset of each tensor."""
    offsets: dict[Any, int] = {}
    parts: list[bytes] = []
    size = 0
    for value in (value for values in arguments for value in values):
        if not _is_variable(value) and value.value not in offsets:
            data = np.ascontiguousarray(value.value.numpy()).tobytes()
            offsets[value.value] = size
            parts.append(data.ljust(_aligned(len(data)), b"\0"))
            size += len(parts[-1])
    parts.append(bytes(_ALIGNMENT))  # there is always something
    return offsets, np.frombuffer(b"".join(parts), np.uint8)


def _is_plain(function: tirx.PrimFunc) -> bool:
    """Tell whether all that it takes are tensors that begin where their memory does."""
    types = [parameter.ty for parameter in function.params]
    return all(
        isinstance(ty, tirx.BufferType)
        and isinstance(ty.elem_offset, tirx.IntImm)
        and ty.elem_offset.value == 0
        for ty in types
    )


def _is_variable(value: Any) -> bool:
    return isinstance(value, relax.Var)


def _name(call: relax.Call) -> str:
    return str(call.op.name) if isinstance(call.op, tvm.ir.Op) else ""


def _bytes(value: Any) -> int:
    shape = [int(extent) for extent in value.ty.shape]
    return prod(shape) * np.dtype(str(value.ty.dtype)).itemsize


def _aligned(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT
