"""Builds the module of a model: its parameters, its function, its names."""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import tvm
from tvm import relax, tirx
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from qnn_ops.dialect.expressions import Expression
from qnn_ops.dialect.overflow import check_overflow
from qnn_ops.dialect.registry import spec_of
from qnn_ops.dialect.signature import Signature, with_signature
from qnn_ops.dialect.sizes import is_open
from qnn_ops.unquantized.loop import loop

# Names that variables must not have in TVMScript.
_RESERVED = {*keyword.kwlist, "I", "R", "T", "main"}


@dataclass(frozen=True)
class Imported:
    """A model as a module.

    Attributes:
        mod: its ``main`` takes the model's inputs, then its constants; the attribute ``num_input``
            says how many inputs there are. It returns a tensor, or a tuple if there are several.
        params: the constants' values by parameter name.
        results: operators' numbers by the names of the variables that hold their results.
    """

    mod: tvm.IRModule
    params: dict[str, tvm.runtime.Tensor]
    results: dict[str, int]


@contextmanager
def all_ended(block: relax.BlockBuilder) -> Iterator[None]:
    """End all open blocks after an error: TVM would complain of them on the terminal."""
    try:
        yield
    except BaseException:
        with suppress(Exception):  # there are no more
            while True:
                block._end_block()
        raise


class ModuleBuilder:
    """Builds the function ``main`` of a model.

    Attributes:
        parameters: of the function: the model's inputs, then its constants.
        params: the constants' values by parameter name.
        results: as in ``Imported``; the code that converts operators fills it in.
        wraps: descriptions of emitted sums that are known to wrap; the code that reports them
            clears it.
        is_certain: whether the model itself computes the emitted expressions, too, so that they may
            end a run.
    """

    def __init__(
        self, home: ModuleBuilder | None = None, block: relax.BlockBuilder | None = None
    ) -> None:
        """Start without parameters.

        Args:
            home: the builder of the module that gets the function; None if the function is
                ``main``.
            block: the block builder of a function that has begun; its constants are no parameters.
        """
        self.parameters: list[relax.Var] = []
        self.params: dict[str, tvm.runtime.Tensor] = {}
        self.results: dict[str, int] = {}
        self.wraps: list[str] = []
        self.is_certain = True
        self._home: ModuleBuilder = home._home if home else self
        self._block = block or relax.BlockBuilder()
        self._taken = set(_RESERVED)

    @contextmanager
    def uncertain(self) -> Iterator[None]:
        """Emit expressions that the model may not compute, such as a branch that is not taken."""
        before, self.is_certain = self.is_certain, False
        try:
            yield
        finally:
            self.is_certain = before

    def fresh(self, text: str, prefix: str = "node", suffix: str = "") -> str:
        """Make a new name like the text, valid in TVMScript, with a suffix.

        Args:
            text: the name in the file, of any characters.
            prefix: put before a text that is empty or begins with a digit.
            suffix: put after it.
        """
        base = re.sub(r"\W", "_", text, flags=re.ASCII)
        if not base or base[0].isdigit():
            base = f"{prefix}_{base}".rstrip("_")
        base += suffix
        name, count = base, 0
        while name in self._taken:
            count += 1
            name = f"{base}_{count}"
        self._taken.add(name)
        return name

    def add_input(self, name: str, shape: Sequence[int], dtype: str) -> relax.Var:
        """Add a parameter for an input of the model, under a fresh name."""
        self.parameters.append(relax.Var(name, relax.TensorType(tuple(shape), dtype)))
        return self.parameters[-1]

    def add_constant(self, name: str, array: np.ndarray[Any, Any]) -> relax.Var:
        """Add a parameter with an array as its value, under a fresh name."""
        # Not ascontiguousarray: that makes a vector of a scalar.
        self.params[name] = tvm.runtime.tensor(np.asarray(array, order="C"))
        return self.add_input(name, array.shape, str(array.dtype))

    def typed(self, expr: relax.Expr) -> relax.Expr:
        """Return the expression with its type, without emitting it.

        Raises:
            QnnError: it does not fit its operands.
        """
        return self._block.normalize(expr)

    def array(self, expr: relax.Expr) -> Any:
        """Return an ``Expression``, which computes like a numpy array; numpy's types lack it."""
        return Expression(self._block, expr)

    def emit(self, expr: relax.Expr, name: str = "") -> relax.Var:
        """Emit an expression, so that it is computed once, and return its typed variable.

        A tensor without elements becomes zeros. Parts of tuples and steps of `array` do not.

        Raises:
            QnnError: it does not fit its operands, or its sums could leave int32.
        """
        call = self._block.normalize(expr)
        sizes = getattr(getattr(call.ty, "shape", None), "values", ())
        if any(isinstance(size, tirx.IntImm) and size.value == 0 for size in sizes):
            call = self._block.normalize(R.zeros(call.ty.shape, str(call.ty.dtype)))
        wraps = check_overflow(call, self.params)
        if wraps:
            self.wraps.append(wraps)
        return self._block.emit(call, name)

    def module(
        self,
        convert: Callable[[], Sequence[relax.Expr]],
        signature: Callable[[Sequence[relax.Expr]], Signature],
    ) -> Imported:
        """Emit the function and end it; the parameters so far are its inputs.

        Args:
            convert: emits the operators and returns the outputs.
            signature: returns names and quantization of inputs and outputs, given the outputs.

        Raises:
            QnnError: raised by ``convert``.
        """
        inputs = len(self.parameters)
        mod, outputs = self._module(convert, is_tuple=False)
        main = mod["main"].with_attr("num_input", inputs)
        mod["main"] = with_signature(main, signature(outputs))
        return Imported(mod, self.params, self.results)

    def function(self, convert: Callable[[], Sequence[relax.Expr]]) -> relax.Function:
        """Emit a function and end it; its constants are part of it, its result is a tuple.

        Args:
            convert: emits the operators and returns the results.

        Raises:
            QnnError: raised by ``convert``.
        """
        mod, _ = self._module(convert, is_tuple=True)
        bound = relax.transform.BindParams("main", self.params)(mod) if self.params else mod
        return bound["main"].without_attr("global_symbol")

    def loop(
        self, condition: relax.Function, body: relax.Function, carried: Sequence[relax.Expr]
    ) -> list[relax.Expr]:
        """Emit a loop of two functions, which join the module; see the operator ``loop``.

        Raises:
            UnsupportedError: it carries a tensor with an open size.
        """
        for each in carried:
            if is_open(shape := spec_of(each).shape):
                raise UnsupportedError(f"a loop carries a tensor of shape {shape}")
        home = self._home
        parts = [
            home._block.add_func(function, home.fresh(name))
            for name, function in (("loop_condition", condition), ("loop_body", body))
        ]
        made = self.emit(loop(parts[0], parts[1], carried))
        return [relax.TupleGetItem(made, index) for index in range(len(carried))]

    def _module(
        self, convert: Callable[[], Sequence[relax.Expr]], is_tuple: bool
    ) -> tuple[tvm.IRModule, Sequence[relax.Expr]]:
        """Emit the function ``main``; return the module and the outputs."""
        with all_ended(self._block), self._block.function("main"):
            with self._block.dataflow():
                outputs = convert()
                is_one = len(outputs) == 1 and not is_tuple
                result = outputs[0] if is_one else relax.Tuple(outputs)
                result = self._block.emit_output(result)
            self._block.emit_func_output(result, self.parameters)
        return self._block.get(), outputs
