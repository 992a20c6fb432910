"""``relay.build`` and what it gives."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

import tvm

from qnn_ops.errors import QnnError
from tvm_qnn import build as build_library
from tvm_qnn.io.json_text import to_json
from tvm_qnn.library.library import Library
from tvm_qnn.relay.expr import module_of


class FactoryModule:
    """A compiled model, as ``relay.build`` gave it.

    ``lib["default"](device)`` makes what ``graph_executor.GraphModule`` takes. It also unpacks
    as the three of former times: ``graph, lib, params = relay.build(...)``.
    """

    def __init__(self, library: Library) -> None:
        """Wrap a library of tvm-qnn's."""
        self.library = library

    def __getitem__(self, name: str) -> Any:
        """Return the constructor of an executor: ``lib["default"]``."""
        if name != "default":
            raise QnnError(f"a compiled model has the entry 'default', not {name!r}")
        return self._on_device

    def __iter__(self) -> Iterator[Any]:
        """Return graph, library and parameters."""
        return iter((self.get_graph_json(), self, self.get_params()))

    @property
    def graph_json(self) -> str:
        """What ``get_graph_json`` returns."""
        return self.get_graph_json()

    @property
    def lib(self) -> FactoryModule:
        """What ``get_lib`` returns."""
        return self

    @property
    def params(self) -> dict[str, Any]:
        """What ``get_params`` returns."""
        return self.get_params()

    def get_graph_json(self) -> str:
        """Write names, shapes and dtypes of inputs and outputs as JSON: there is no graph."""
        return to_json(asdict(self.library.signature))

    def get_params(self) -> dict[str, Any]:
        """Return no parameters: the weights are part of the library."""
        return {}

    def get_lib(self) -> FactoryModule:
        """Return this object: there is no library apart from the graph any more."""
        return self

    def export_library(
        self, file_name: str | os.PathLike[str], *, cc: str | None = None, **_options: Any
    ) -> None:
        """Write a shared library; ``tvm_qnn.relay.tvm.runtime.load_module`` loads it.

        Args:
            file_name: ending in .so.
            cc: the linker to use.

        Raises:
            QnnError: as ``tvm_qnn.Library.export``.
        """
        self.library.export(file_name, cc)

    def _on_device(self, *devices: Any) -> FactoryModule:
        for device in devices:
            if str(device).partition(":")[0] != "cpu":
                raise QnnError(f"libraries run on the processor, tvm.cpu(), not on {device}")
        return self


def build(
    ir_mod: tvm.IRModule,
    target: Any = "llvm",
    target_host: Any = None,
    *,
    params: Mapping[str, Any] | None = None,
    mod_name: str = "default",
    executor: Any = None,
    runtime: Any = None,
    **_former: Any,
) -> FactoryModule:
    """Compile a module for a target.

    Args:
        ir_mod: of ``relay.frontend``, or ``tvm.IRModule.from_expr`` of a ``relay.Function``.
        target: as ``tvm_qnn.build`` takes it; also a dict of one target by device.
        target_host: nothing else than ``target``.
        params: constants by parameter name. An importer's parameters must be given here.
        mod_name: is accepted and means nothing, as are the two below.
        executor: there is one.
        runtime: there is one.

    Raises:
        QnnError: as ``tvm_qnn.build``.
    """
    del mod_name, executor, runtime
    return FactoryModule(build_library(module_of(ir_mod), _one_target(target), params))


def _one_target(target: Any) -> Any:
    if isinstance(target, Mapping) and "kind" not in target:
        if len(target) != 1:
            raise QnnError(f"relay.build: one target is needed, got {len(target)}")
        return next(iter(target.values()))
    return target
