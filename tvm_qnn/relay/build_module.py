"""``relay.build``."""

from collections.abc import Mapping
from typing import Any

import tvm
from tvm import relax

from qnn_ops.errors import QnnError
from tvm_qnn import build as build_library
from tvm_qnn.relay.expr import as_array, module_of
from tvm_qnn.relay.factory import FactoryModule


def build(
    ir_mod: tvm.IRModule,
    target: Any = "llvm",
    target_host: Any = None,
    *,
    params: Mapping[str, Any] | None = None,
    mod_name: str = "default",
    executor: Any = None,
    runtime: Any = None,
) -> FactoryModule:
    """Compile a module for a target.

    Args:
        ir_mod: a module of ``relay.frontend``, or ``tvm.IRModule.from_expr`` of a
            ``relay.Function``.
        target: as for ``tvm_qnn.build``; also a dict of one target by device.
        target_host: must be ``target``, or be left out.
        params: constants by parameter name. An importer's parameters must be given here.
        mod_name: has no effect.
        executor: has no effect: there is only one.
        runtime: has no effect: there is only one.

    Raises:
        QnnError: as ``tvm_qnn.build`` raises it.
    """
    del mod_name, executor, runtime
    given = module_of(ir_mod), _one_target(target), params
    return FactoryModule(build_library(*given), lambda: build_library(*given, num_threads=1))


def bind_params_by_name(func: relax.Function, params: Mapping[str, Any]) -> relax.Function:
    """Return a function in which constants replace the parameters with these names."""
    names = {each.name_hint for each in func.params}
    known = {name: tvm.runtime.tensor(as_array(value)) for name, value in params.items()}
    bind = relax.transform.BindParams("main", {k: v for k, v in known.items() if k in names})
    return bind(module_of(func))["main"]


def _one_target(target: Any) -> Any:
    if isinstance(target, Mapping) and "kind" not in target:
        if len(target) != 1:
            raise QnnError(f"relay.build: one target is needed, got {len(target)}")
        return next(iter(target.values()))
    return target
