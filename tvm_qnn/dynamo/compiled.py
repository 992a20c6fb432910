"""Calls of a graph that TorchDynamo captured."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch._dynamo.convert_frame import compile_lock

from frontends.torch.importer import import_program, known_program
from frontends.torch.reader import user_nodes
from qnn_ops.errors import QnnError
from tvm_qnn.build import build
from tvm_qnn.dynamo.parts import Run, divided, reasons_of, text_of
from tvm_qnn.library.arrays import results_of
from tvm_qnn.library.last import Last
from tvm_qnn.library.library import Library

Key = tuple[Any, ...]


class EagerWarning(UserWarning):
    """A graph, or a part of it, runs in PyTorch; the text gives the reason."""


class Compiled:
    """A graph, and what was built from it for each list of its inputs' shapes."""

    def __init__(
        self, graph: torch.fx.GraphModule, fixed: set[int], options: Mapping[str, Any]
    ) -> None:
        """Take a graph without building it.

        Args:
            graph: a graph that returns a tuple.
            fixed: the indices of the inputs that are constants.
            options: the options of ``tvm_qnn.build``.
        """
        self._graph, self._fixed, self._options = graph, fixed, options
        # Keep the tensors beside the runs: as long as they live, no other tensors have their ids.
        self._runs: Last[Key, tuple[Run, object]] = Last()
        self._reason = ""

    def __call__(self, *inputs: Any) -> Any:
        """Run the graph."""
        values = [each for number, each in enumerate(inputs) if number not in self._fixed]
        reason = self._reason
        if not reason and all(map(_is_plain, values)):
            try:
                return self._run(inputs, values)(values)
            except Exception as error:  # PyTorch, TVM and numpy raise many classes
                reason = " ".join(str(error).split()) or type(error).__name__
        results = self._graph(*inputs)  # raises if the call is wrong, and not the graph
        if reason and not self._reason:
            self._reason = reason
            text = f"a graph runs in PyTorch, not in tvm_qnn: {reason}"
            warnings.warn(text, EagerWarning, stacklevel=2)
        return results

    def _run(self, inputs: Sequence[Any], values: Sequence[torch.Tensor]) -> Run:
        """Return the run for some inputs; build it if it is new."""
        key = tuple([each.shape for each in values] + [_identity(inputs[i]) for i in self._fixed])
        if found := self._runs.get(key):
            return found[0]
        # Export changes PyTorch's state for all threads. With this lock no other thread compiles.
        with compile_lock:
            if found := self._runs.get(key):
                return found[0]
            fixed = {number: inputs[number] for number in self._fixed}
            run = self._built(fixed, tuple(values))
            self._runs[key] = run, fixed
        return run

    def _built(self, fixed: Mapping[int, Any], values: tuple[torch.Tensor, ...]) -> Run:
        """Build the graph, or its parts that can be imported.

        Raises:
            QnnError: its results would differ from PyTorch's, or none of it can be imported.
        """
        if torch.is_grad_enabled() and any(map(_wants_gradient, fixed.values())):
            raise QnnError("its parameters want gradients: call it in torch.no_grad()")
        try:
            program = torch.export.export(_Bound(self._graph, fixed), values)
        except Exception as error:  # PyTorch raises many classes
            raise QnnError(f"it cannot be exported: {error}") from error
        program = known_program(program)
        user_nodes(program)  # raises if it writes to its inputs
        if not (reasons := reasons_of(program)):
            imported = import_program(program, of_pytorch=True)
            return _run_of(build(imported.mod, params=imported.params, **self._options))
        text = text_of(reasons)
        run = divided(program, reasons, lambda part, own: Compiled(part, own, self._options))
        if run is None:
            raise QnnError(text)
        warnings.warn(f"operators run in PyTorch, not in tvm_qnn: {text}", EagerWarning, 4)
        return run


def _run_of(library: Library) -> Run:
    def run(values: Sequence[torch.Tensor]) -> tuple[Any, ...]:
        arrays = [(each.detach() if each.requires_grad else each).numpy() for each in values]
        return tuple(map(torch.from_numpy, results_of(library.run(*arrays))))

    return run


class _Bound(torch.nn.Module):
    """A graph that holds its parameters, buffers and sizes again."""

    def __init__(self, graph: torch.fx.GraphModule, fixed: Mapping[int, Any]) -> None:
        super().__init__()
        self._inner = graph
        self._fixed = sorted(fixed)
        for number, value in fixed.items():
            if isinstance(value, torch.Tensor):
                self.register_buffer(_name(number), value.detach())
            else:
                setattr(self, _name(number), value)

    def forward(self, *values: torch.Tensor) -> Any:
        """Run the graph on its other inputs."""
        inputs = list(values)
        for number in self._fixed:
            inputs.insert(number, getattr(self, _name(number)))
        return self._inner(*inputs)


def _name(number: int) -> str:
    return f"fixed_{number}"


def _is_plain(tensor: torch.Tensor) -> bool:
    """Tell whether numpy can read a tensor, and it needs no gradient."""
    return tensor.is_cpu and not (tensor.requires_grad and torch.is_grad_enabled())


def _wants_gradient(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.requires_grad


def _identity(value: Any) -> Any:
    """Return a size; for a tensor, a key that changes if it is replaced or written to."""
    if not isinstance(value, torch.Tensor):
        return value
    version = 0 if value.is_inference() else value._version
    return id(value), version, value.data_ptr(), value.requires_grad
