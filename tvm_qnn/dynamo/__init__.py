"""A backend of TorchDynamo: ``torch.compile(model, backend="tvm_qnn")``.

PyTorch finds it by the entry point ``torch_dynamo_backends``. Each graph that Dynamo captures is
exported, imported and built at its first call, and again for other shapes. The integers are
those of ``from_exported_program``. Parts that cannot be imported run in PyTorch.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from qnn_ops.errors import QnnError
from tvm_qnn.dynamo.compiled import Compiled, EagerWarning

_OPTIONS = ("target", "num_threads")


def backend(
    graph: torch.fx.GraphModule,
    example_inputs: Sequence[Any],
    *,
    mode: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> Callable[..., Any]:
    """Compile a graph of TorchDynamo.

    Args:
        graph: the graph that Dynamo captured.
        example_inputs: the graph's inputs. The model's parameters and buffers are among them, and
            become constants of the library.
        mode: has no effect.
        options: "target" and "num_threads", as for ``tvm_qnn.build``; the target is "host" by
            default.

    Returns:
        A function of the graph's inputs. It returns tensors without gradients. Operators that
        cannot be imported run in PyTorch, with an ``EagerWarning`` that names them; so do views
        of inputs or of other outputs that the graph returns. The whole graph runs in PyTorch if
        it writes to its inputs, or its parameters need gradients. So does a call with an input
        that is not in this machine's memory, or that needs a gradient.

    Raises:
        QnnError: if an option is unknown.
    """
    del mode
    if unknown := set(options or {}) - set(_OPTIONS):
        raise QnnError(f"torch.compile: options are {', '.join(_OPTIONS)}, got {sorted(unknown)}")
    fixed = {number for number, value in enumerate(example_inputs) if _is_fixed(value)}
    return Compiled(graph, fixed, {"target": "host", **(options or {})})


def _is_fixed(value: Any) -> bool:
    """Tell whether an input is a size, or a parameter or buffer, which Dynamo marks."""
    if not isinstance(value, torch.Tensor) or isinstance(value, torch.nn.Parameter):
        return True
    return getattr(value, "_dynamo_static_input_type", None) is not None


__all__ = ["EagerWarning", "backend"]
