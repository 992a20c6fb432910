"""``relay.vm`` and ``relay.create_executor``: compiles a module or an expression, and calls it."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tvm
from tvm import relax

from qnn_ops.errors import QnnError
from tvm_qnn.relay.build_module import build
from tvm_qnn.relay.expr import module_of
from tvm_qnn.relay.factory import FactoryModule
from tvm_qnn.relay.graph_executor import GraphModule

_KINDS = ("graph", "vm", "debug", "aot", "interpreter")


class Executor:
    """Compiles functions and calls them."""

    def __init__(self, mod: tvm.IRModule | None, target: Any, params: Any) -> None:
        """Keep the arguments of ``create_executor``."""
        self.mod, self.target, self.params = mod, target, params

    def evaluate(self, expr: Any = None, binds: Mapping[Any, Any] | None = None) -> Any:
        """Compile an expression, a function or the executor's own ``main``.

        Args:
            expr: what to compile; default: the module's ``main``.
            binds: values of variables.

        Returns:
            For an expression without variables, its value; otherwise a function of arrays, by
            order or by name, that returns a tensor, or a list of several.
        """
        mod = self.mod if expr is None else module_of(expr)
        if mod is None:
            raise QnnError("evaluate: give an expression, or create the executor with a module")
        params = {**(self.params or {}), **{str(k): v for k, v in (binds or {}).items()}}
        module = GraphModule(build(mod, self.target, params=params or None)["default"](tvm.cpu()))

        def call(*arguments: Any, **named: Any) -> Any:
            return _outputs(module, arguments, named)

        is_function = expr is None or isinstance(expr, (relax.Function, tvm.IRModule))
        return call if is_function or module.get_num_inputs() else call()


def create_executor(
    kind: str = "debug",
    mod: tvm.IRModule | None = None,
    device: Any = None,
    target: Any = "llvm",
    params: Mapping[str, Any] | None = None,
) -> Executor:
    """Make an executor.

    Args:
        kind: "graph", "vm", "aot", "debug" or "interpreter"; today they are all the same.
        mod: the module that ``evaluate`` compiles by default.
        device: must be ``tvm.cpu()``, or be left out.
        target: the code's target.
        params: constants by parameter name.
    """
    del device
    if kind not in _KINDS:
        raise QnnError(f"create_executor: kind is one of {', '.join(_KINDS)}, got {kind!r}")
    return Executor(mod, target, params)


def run_const_expr(expr: relax.Expr) -> np.ndarray:
    """Return the value of an expression without variables, in its shape and dtype.

    Relay had it in ``relay.qnn.op.canonicalizations``, which imports nothing that builds.
    """
    value: np.ndarray = create_executor("vm").evaluate(expr).numpy()
    return value


class VirtualMachine:
    """Calls the functions of a module that ``relay.vm.compile`` made."""

    def __init__(self, exe: FactoryModule, device: Any = None, *_options: Any) -> None:
        """Wrap a compiled module."""
        del device
        self._module = GraphModule(exe)

    def invoke(self, func_name: str, *arguments: Any, **named: Any) -> Any:
        """Call ``main`` and return its tensor, or a list of several.

        Raises:
            QnnError: if another function is named.
        """
        self.set_input(func_name, *arguments, **named)
        return _outputs(self._module, (), {})

    def set_input(self, func_name: str, *arguments: Any, **named: Any) -> None:
        """Keep inputs of ``main`` for later runs.

        Raises:
            QnnError: if another function is named.
        """
        if func_name != "main":
            raise QnnError(f"a compiled module has the function 'main', not {func_name!r}")
        for number, argument in enumerate(arguments):
            self._module.set_input(number, argument)
        self._module.set_input(**named)

    def get_outputs(self) -> list[Any]:
        """List the outputs of the last run."""
        return [self._module.get_output(i) for i in range(self._module.num_outputs)]

    def benchmark(
        self, device: Any, *arguments: Any, func_name: str = "main", **options: Any
    ) -> Any:
        """Time runs of ``main``; the options are those of ``GraphModule.benchmark``."""
        self.set_input(func_name, *arguments)
        return self._module.benchmark(device, **options)

    def run(self, *arguments: Any, **named: Any) -> Any:
        """Call ``main``."""
        return self.invoke("main", *arguments, **named)


def _outputs(module: GraphModule, arguments: Sequence[Any], named: Mapping[str, Any]) -> Any:
    """Run a module and return its output, or a list of several."""
    for number, argument in enumerate(arguments):
        module.set_input(number, argument)
    module.run(**named)
    outputs = [module.get_output(i) for i in range(module.num_outputs)]
    return outputs[0] if len(outputs) == 1 else outputs


__all__ = ["VirtualMachine", "compile"]


def compile(
    mod: tvm.IRModule,
    target: Any = "llvm",
    target_host: Any = None,
    params: Mapping[str, Any] | None = None,
) -> FactoryModule:
    """Compile a module for ``VirtualMachine``; the arguments are those of ``relay.build``."""
    return build(mod, target, target_host, params=params)
