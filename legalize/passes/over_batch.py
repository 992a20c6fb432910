"""Let the function of one item run for each item of a batch."""

from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
import tvm
from tvm import relax, tirx
from tvm.tirx.buffer import decl_buffer

from legalize.call_plan import Constant, Input, Output, Place, plan_of
from legalize.kernels.kernel import IS_KERNEL
from legalize.loop_functions import storing_function
from legalize.memory_plan import ALIGNMENT, lay_out, pack
from legalize.passes.bodies import copied, is_view, with_barrier
from legalize.passes.one_function import (
    named_functions,
    names_of,
    results_of,
    with_call,
    writer_of,
)
from legalize.passes.one_item import BATCH
from qnn_ops.dialect.registry import view_of


def OverBatch() -> tvm.transform.Pass:
    """Replace a ``main`` of one item that has ``BATCH`` by a loop over the items of a batch.

    Each item takes the same memory for its temporary tensors.
    """

    def rewrite(mod: tvm.IRModule, _context: tvm.transform.PassContext) -> tvm.IRModule:
        batch = (mod["main"].attrs or {}).get(BATCH)
        return mod if batch is None else _over(mod, tirx.Var(str(batch), "int64"))

    return tvm.transform.module_pass(rewrite, opt_level=0, name="OverBatch")


@dataclass(frozen=True)
class _Tensor:
    """An input or a result.

    Attributes:
        whole: the items of the batch.
        flat: the same memory as one axis.
        item: the number of the item.
        count: the elements of an item.
        copy: the offset of a copy of the item in the memory, if not all items begin at an aligned
            address.
    """

    whole: Any
    flat: Any
    item: Any
    count: int
    copy: int | None

    @property
    def size(self) -> int:
        """Bytes of an item."""
        return self.count * np.dtype(str(self.whole.dtype)).itemsize

    def address(self, memory: Any) -> Any:
        """Return the address that functions take."""
        return self._own() if self.copy is None else tirx.address_of(memory[self.copy])

    def read(self, memory: Any) -> list[Any]:
        """Return the statements that copy the item to the memory, if a copy is needed."""
        return [] if self.copy is None else copied(self.address(memory), self._own(), self.size)

    def written(self, memory: Any) -> list[Any]:
        """Return the statements that copy the item back."""
        return [] if self.copy is None else copied(self._own(), self.address(memory), self.size)

    def _own(self) -> Any:
        return tirx.address_of(self.flat[self.item * self.count])


def _over(mod: tvm.IRModule, batch: tirx.Var) -> tvm.IRModule:
    main = mod["main"]
    plan = plan_of(mod, is_view=is_view)
    layout = lay_out(plan)
    arrays = map(view_of, plan.constants)
    block, offsets = pack(arrays, spare=ALIGNMENT)  # never empty
    item, size = tirx.Var("item", "int64"), layout.size

    def tensor(ty: relax.TensorType) -> _Tensor:
        nonlocal size
        _, *rest = map(int, ty.shape)
        whole = decl_buffer([batch, *rest], ty.dtype, "tensor")
        flat = decl_buffer([batch * prod(rest)], ty.dtype, "flat")
        found = _Tensor(whole, flat, item, prod(rest), None)
        if found.size % ALIGNMENT == 0:
            return found
        found = replace(found, copy=size)
        size += -(-found.size // ALIGNMENT) * ALIGNMENT
        return found

    inputs = [tensor(parameter.ty) for parameter in main.params]
    outputs = [tensor(result) for result in results_of(main)]
    memory = decl_buffer((size,), "uint8", "memory")
    weights = decl_buffer((block.size,), "uint8", "constants")

    def pointer(place: Place) -> Any:
        if isinstance(place, Input):
            return inputs[place.number].address(memory)
        if isinstance(place, Output):
            return outputs[place.number].address(memory)
        if isinstance(place, Constant):
            return tirx.address_of(weights[offsets[place.number]])
        return tirx.address_of(memory[layout.offsets[place.number]])

    names = names_of(mod, plan)
    write = writer_of(mod, names)
    body = [line for each in inputs for line in each.read(memory)]
    for call in plan.calls:
        if call.function:
            body += write(call, pointer)
        else:
            to, source = call.arguments
            assert isinstance(to, Output)
            body += copied(pointer(to), pointer(source), outputs[to.number].size)
    body += [line for each in outputs for line in each.written(memory)]
    loop = tirx.For(item, 0, batch, tirx.ForKind.SERIAL, tirx.SeqStmt(body))
    flats = [tirx.DeclBuffer(each.flat, data=each.whole.data) for each in (*inputs, *outputs)]
    # Tensors share memory, so tensors of different names may alias.
    attrs = {"tirx.noalias": False, "s_tir": True, IS_KERNEL: True}
    parameters = [*(each.whole for each in inputs), weights, memory]
    parameters += [each.whole for each in outputs]
    function = storing_function(parameters, with_barrier([*flats, loop])).with_attrs(attrs)
    mod["main"] = _opened(main, batch)
    results = [_open_type(result, batch) for result in results_of(main)]
    numbers = list(range(len(inputs)))
    named = named_functions(mod, plan, names)
    return with_call(mod, function, numbers, block, size, results, named)


def _opened(main: relax.Function, batch: tirx.Var) -> relax.Function:
    """Return a function with the parameters and the attributes of a ``main`` for a batch."""
    parameters = [relax.Var(each.name, _open_type(each.ty, batch)) for each in main.params]
    ty = main.body.body.ty
    result = relax.Tuple(parameters) if isinstance(ty, relax.TupleType) else parameters[0]
    attrs = {key: value for key, value in main.attrs.items() if key != BATCH}
    return relax.Function(parameters, result, result.ty).with_attrs(attrs)


def _open_type(ty: relax.TensorType, batch: tirx.Var) -> relax.TensorType:
    return relax.TensorType((batch, *list(ty.shape)[1:]), ty.dtype)
