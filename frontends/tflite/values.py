"""The Relax expressions of a model's tensors while its function is built."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.bounds import Allowance
from frontends.builder import ModuleBuilder
from frontends.errors import UnsupportedError
from frontends.ranges import of_sizes
from frontends.tflite.model import DTYPES, INPUT_DTYPES, Model, State, Tensor
from qnn_ops.errors import QnnError

_MOST_OPERATORS = 10_000
_MOST_DEPTH = 8


class ElementsError(QnnError):
    """An element of a list of tensors has another shape than the elements before it.

    Attributes:
        index: the list's tensor.
        elements: the element's shape.
    """

    def __init__(self, index: int, elements: tuple[int, ...]) -> None:
        """Name the list's tensor."""
        self.index, self.elements = index, elements
        super().__init__(f"an element of shape {elements} in a list of others, tensor {index}")


class Values:
    """Maps tensors to expressions; constants become parameters when they are first read.

    Attributes:
        builder: of the function that computes them.
        variables: the values of variables, by container and name; assignments change them.
        convert: converts the operators of a subgraph, with values of its own; the importer sets it.
        owner: the number of the main subgraph's operator that runs this subgraph.
        growth: the limits of tensors' sizes; all functions share it.
        fixed: the numbers of tensors that operators compute from constants alone.
    """

    convert: Callable[[Model, Values], Model]

    def __init__(self, builder: ModuleBuilder, growth: Allowance) -> None:
        """Start without values."""
        self.builder = builder
        self.growth = growth
        self.fixed: set[int] = set()
        self._exprs: dict[int, relax.Expr] = {}
        self.variables: dict[tuple[str, str], relax.Expr] = {}
        self.owner: int | None = None
        self._depth = 0
        self._left = [_MOST_OPERATORS]
        self._shared: dict[int, tuple[np.ndarray, relax.Var]] = {}

    def inner(self, owner: int, operators: int) -> Values:
        """Return the values of a subgraph that runs once.

        Args:
            owner: the number of the operator that runs it.
            operators: the number of the subgraph's operators.

        Raises:
            UnsupportedError: subgraphs run one another without an end, or too often.
        """
        other = Values(self.builder, self.growth)
        other.variables, other.convert = self.variables, self.convert
        other.owner = owner if self.owner is None else self.owner
        other._left, other._shared, other._depth = self._left, self._shared, self._depth + 1
        self._left[0] -= operators
        if other._depth > _MOST_DEPTH or self._left[0] < 0:
            raise UnsupportedError(
                f"subgraphs that run one another more than {_MOST_DEPTH} deep, or loops of more "
                f"than {_MOST_OPERATORS} operators in all their iterations"
            )
        return other

    def apart(self, owner: int, operators: int) -> Values:
        """Return the values of a subgraph that becomes a function of its own.

        Args:
            owner: the number of the operator that runs it.
            operators: the number of the subgraph's operators.

        Raises:
            UnsupportedError: subgraphs run one another without an end.
        """
        other = self.inner(owner, operators)
        other.builder = ModuleBuilder(self.builder)
        other.variables, other._shared = {}, {}
        return other

    def give(self, tensor: Tensor, expr: relax.Expr) -> None:
        """Give the tensor an existing value."""
        self._exprs[tensor.index] = expr

    def add_state(self, state: State) -> None:
        """Add a parameter for a state."""
        tensor = state.tensor
        variable = self.builder.add_input(self._fresh(tensor), tensor.shape, tensor.dtype)
        if isinstance(state.key, int):
            self._exprs[state.key] = variable
        else:
            self.variables[state.key] = variable

    def of_state(self, state: State) -> relax.Expr:
        """Return a state's value for the next run."""
        return self._exprs[state.key] if isinstance(state.key, int) else self.variables[state.key]

    def change(self, tensor: Tensor, expr: relax.Expr) -> None:
        """Give a variable tensor another value."""
        self._exprs[tensor.index] = self.builder.emit(expr, self._fresh(tensor))

    def add_input(self, tensor: Tensor, shape: tuple[int, ...]) -> None:
        """Add a parameter of the given shape for the tensor."""
        name = self._fresh(tensor)
        self._exprs[tensor.index] = self.builder.add_input(name, shape, tensor.dtype)

    def define(self, tensor: Tensor, expr: relax.Expr) -> relax.Var:
        """Emit the expression that computes the tensor, under the tensor's name."""
        variable = self.builder.emit(expr, self._fresh(tensor))
        self._exprs[tensor.index] = variable
        return variable

    def assume(self, tensor: Tensor) -> None:
        """Give the tensor an unknown value of its declared type."""
        dtype = tensor.dtype if tensor.dtype in DTYPES else "float32"
        self._exprs[tensor.index] = relax.Var("unknown", relax.TensorType(tensor.shape, dtype))

    def of(self, tensor: Tensor) -> relax.Expr:
        """Return the tensor's value.

        Raises:
            QnnError: it has no value.
            UnsupportedError: it is a constant of a type that Relax and numpy do not share.
        """
        if tensor.index not in self._exprs:
            if not tensor.is_constant:
                raise QnnError(f"{tensor.label} has no value")
            if tensor.dtype not in INPUT_DTYPES:
                raise UnsupportedError(f"{tensor.label} is a constant of type {tensor.dtype}")
            data = tensor.array
            if data.dtype == object:
                return self._of_sizes(tensor, data)
            # The iterations of an unrolled loop share its constants.
            if id(data) not in self._shared:
                self._shared[id(data)] = data, self.add_constant(tensor, "", data)
            self._exprs[tensor.index] = self._shared[id(data)][1]
        return self._exprs[tensor.index]

    def _of_sizes(self, tensor: Tensor, data: np.ndarray) -> relax.Expr:
        """Emit the values of open sizes."""
        sizes = R.astype(of_sizes(self.builder, data), tensor.dtype)
        self._exprs[tensor.index] = self.builder.emit(sizes)
        return self._exprs[tensor.index]

    def add_constant(self, tensor: Tensor, suffix: str, data: np.ndarray) -> relax.Var:
        """Add a parameter with an array as its value, named after a tensor."""
        return self.builder.add_constant(self._fresh(tensor, suffix), data)

    def _fresh(self, tensor: Tensor, suffix: str = "") -> str:
        # Converters join the names of the operators they merged with semicolons.
        text = tensor.name.split(";", 1)[0]
        return self.builder.fresh(text, f"tensor_{tensor.index}", suffix)
