"""A backend of TorchDynamo: ``torch.compile(model, backend="tvm_qnn")``.

PyTorch finds it by the entry point ``torch_dynamo_backends``. Each graph that Dynamo captures is
exported, imported and built at its first call, and once more for other shapes. The integers are
those of ``from_exported_program``.
"""

from __future__ import annotations

import threading
import warnings
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch._dynamo.convert_frame import compile_lock

from frontends.torch import from_exported_program
from qnn_ops.errors import QnnError
from tvm_qnn.build import build
from tvm_qnn.library.arrays import results_of
from tvm_qnn.library.library import Library

_MOST_SHAPES = 8
_OPTIONS = ("target", "num_threads")

Key = tuple[Any, ...]


class EagerWarning(UserWarning):
    """A graph runs in PyTorch; the text says why."""


def backend(
    graph: torch.fx.GraphModule,
    example_inputs: Sequence[Any],
    *,
    mode: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> Callable[..., Any]:
    """Compile a graph of TorchDynamo.

    Args:
        graph: what Dynamo captured.
        example_inputs: the graph's inputs. Parameters and buffers of the model are among them, and
            become constants of the library.
        mode: means nothing.
        options: "target" and "num_threads", as ``tvm_qnn.build`` takes them; the target is "host"
            by default.

    Returns:
        A function of the graph's inputs. It returns tensors without gradients. A graph that cannot
        be imported runs in PyTorch, with an ``EagerWarning`` that says why; so does one whose
        parameters want gradients, or whose outputs share memory with inputs or with one another. A
        call with an input that is not in this machine's memory, or that wants a gradient, runs in
        PyTorch, too.

    Raises:
        QnnError: if there is no such option.
    """
    del mode
    if unknown := set(options or {}) - set(_OPTIONS):
        raise QnnError(f"torch.compile: options are {', '.join(_OPTIONS)}, got {sorted(unknown)}")
    fixed = {number for number, value in enumerate(example_inputs) if _is_fixed(value)}
    return _Compiled(graph, fixed, {"target": "host", **(options or {})})


def _is_fixed(value: Any) -> bool:
    """Tell whether an input is a parameter or buffer, which Dynamo marks, or a size."""
    if not isinstance(value, torch.Tensor) or isinstance(value, torch.nn.Parameter):
        return True
    return getattr(value, "_dynamo_static_input_type", None) is not None


class _Compiled:
    """A graph, and the libraries that it was built to, by the shapes of its inputs."""

    def __init__(
        self, graph: torch.fx.GraphModule, fixed: set[int], options: Mapping[str, Any]
    ) -> None:
        self._graph, self._fixed, self._options = graph, fixed, options
        # The tensors stay with a library: as long as they live, no other has their ids.
        self._libraries: OrderedDict[Key, tuple[Library, object]] = OrderedDict()
        self._reason = ""
        self._lock = threading.Lock()

    def __call__(self, *inputs: Any) -> Any:
        """Run the graph."""
        values = [each for number, each in enumerate(inputs) if number not in self._fixed]
        reason = self._reason
        if not reason and all(map(_is_plain, values)):
            try:
                return self._run(inputs, values)
            except Exception as error:  # whatever PyTorch, TVM or numpy meets
                reason = " ".join(str(error).split()) or type(error).__name__
        results = self._graph(*inputs)  # raises, where the call is at fault and not the graph
        if reason and not self._reason:
            self._reason = reason
            text = f"a graph runs in PyTorch, not in tvm_qnn: {reason}"
            warnings.warn(text, EagerWarning, stacklevel=2)
        return results

    def _run(self, inputs: Sequence[Any], values: Sequence[torch.Tensor]) -> tuple[Any, ...]:
        library = self._library(inputs, values)
        arrays = [(each.detach() if each.requires_grad else each).numpy() for each in values]
        return tuple(map(torch.from_numpy, results_of(library.run(*arrays))))

    def _library(self, inputs: Sequence[Any], values: Sequence[torch.Tensor]) -> Library:
        """Return the library for some inputs; builds it if it is new."""
        key = tuple([each.shape for each in values] + [_identity(inputs[i]) for i in self._fixed])
        if library := self._known(key):
            return library
        # Export changes what all threads see of PyTorch. Under this lock none of them compiles.
        with compile_lock:
            if library := self._known(key):
                return library
            fixed = {number: inputs[number] for number in self._fixed}
            library = self._built(fixed, tuple(values))
            with self._lock:
                self._libraries[key] = library, fixed
                if len(self._libraries) > _MOST_SHAPES:
                    self._libraries.popitem(last=False)
        return library

    def _known(self, key: Key) -> Library | None:
        with self._lock:
            if key not in self._libraries:
                return None
            self._libraries.move_to_end(key)
            return self._libraries[key][0]

    def _built(self, fixed: Mapping[int, Any], values: tuple[torch.Tensor, ...]) -> Library:
        """Build the graph.

        Raises:
            QnnError: its results would not be PyTorch's, or it is not imported.
        """
        if torch.is_grad_enabled() and any(map(_wants_gradient, fixed.values())):
            raise QnnError("its parameters want gradients: call it in torch.no_grad()")
        try:
            program = torch.export.export(_Bound(self._graph, fixed), values)
        except Exception as error:  # whatever PyTorch meets
            raise QnnError(f"it cannot be exported: {error}") from error
        _check(program)
        mod, params = from_exported_program(program)
        return build(mod, params=params, **self._options)


class _Bound(torch.nn.Module):
    """A graph whose parameters, buffers and sizes are its own again."""

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
    """Tell whether numpy can read a tensor, and nobody wants its gradient."""
    return tensor.is_cpu and not (tensor.requires_grad and torch.is_grad_enabled())


def _wants_gradient(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.requires_grad


def _identity(value: Any) -> Any:
    """Return a size, or for a tensor what changes when it is replaced or written to."""
    if not isinstance(value, torch.Tensor):
        return value
    version = 0 if value.is_inference() else value._version
    return id(value), version, value.data_ptr(), value.requires_grad


def _check(program: torch.export.ExportedProgram) -> None:
    """Raise unless the results of a program can be those of PyTorch.

    Raises:
        QnnError: an output is a view, which the caller may write to, or there is bfloat16. TVM
            rounds bfloat16 at other points than PyTorch does, and numpy has none.
    """
    tensors = {node: node.meta.get("val") for node in program.graph.nodes}
    if any(getattr(each, "dtype", None) == torch.bfloat16 for each in tensors.values()):
        raise QnnError("it computes in bfloat16")
    seen = {_memory(tensors[node]) for node in tensors if node.op == "placeholder"}
    for node in program.graph.output_node().all_input_nodes:
        memory = _memory(tensors[node])
        if memory in seen:
            raise QnnError(f"its output {node.name} shares memory with an input or another output")
        seen.add(memory)


def _memory(tensor: Any) -> Any:
    """Return a key that tensors of one memory share."""
    return tensor.untyped_storage()._cdata if isinstance(tensor, torch.Tensor) else object()
