"""``tvm.contrib`` as in Relay's scripts: today's names, names that TVM has moved, and executors."""

import sys
from types import SimpleNamespace
from typing import Any

import tvm.contrib
import tvm.support
from tvm.contrib import download as download
from tvm.support import cc as cc
from tvm.support import ndk as ndk
from tvm.support import utils as utils

from tvm_qnn.relay import graph_executor as graph_executor
from tvm_qnn.relay.factory import FactoryModule
from tvm_qnn.relay.graph_executor import GraphModule
from tvm_qnn.relay.objects import Overlay

graph_runtime = graph_executor
util = utils


def _debug_module(module: FactoryModule, *_options: Any, **_named: Any) -> GraphModule:
    """Make an executor; other arguments of the debugger have no effect."""
    return GraphModule(module)


def _create_debug(
    graph_json_str: str, libmod: FactoryModule, device: Any, dump_root: Any = None
) -> GraphModule:
    del dump_root
    return graph_executor.create(graph_json_str, libmod, device)


debug_executor = SimpleNamespace(GraphModuleDebug=_debug_module, create=_create_debug)
debugger = SimpleNamespace(debug_executor=debug_executor, debug_runtime=debug_executor)

_MODULES: dict[str, Any] = {
    "graph_executor": graph_executor,
    "graph_runtime": graph_executor,
    "debugger": debugger,
    **{f"debugger.{name}": module for name, module in vars(debugger).items()},
    "cc": cc,
    "download": download,
    "ndk": ndk,
    "util": utils,
    "utils": utils,
}
"""Modules that scripts import by name, as ``from tvm.contrib.debugger import debug_executor``."""
sys.modules.update({f"{__name__}.{name}": module for name, module in _MODULES.items()})

_INSTALLED = Overlay(tvm.contrib, tvm.support)


def __getattr__(name: str) -> Any:
    return getattr(_INSTALLED, name)
