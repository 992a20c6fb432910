"""Divides a program into parts that can be imported, and the rest, which PyTorch runs."""

import operator
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.fx import Node
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from torch.fx.passes.operator_support import create_op_support

from frontends.torch.importer import missing_operators
from frontends.torch.reader import calls_of, operator_of

Run = Callable[[Sequence[torch.Tensor]], tuple[Any, ...]]
"""Computes a graph's results from its inputs, except those that are constants."""


def reasons_of(program: torch.export.ExportedProgram) -> dict[Node, str]:
    """Return the nodes that cannot be imported with PyTorch's results, each with the reason.

    TVM rounds bfloat16 at other points than PyTorch, and numpy has no bfloat16. The caller may
    write to an output, and see the change in an input or output that shares its memory.

    Args:
        program: a program from ``known_program``.
    """
    nodes = calls_of(program)
    found = {nodes[number]: reason for number, reason in missing_operators(program).items()}
    for node in nodes:
        values = [each.meta.get("val") for each in (node, *node.all_input_nodes)]
        if any(getattr(each, "dtype", None) == torch.bfloat16 for each in values):
            found[node] = "it computes in bfloat16"
    outputs = program.graph.output_node().all_input_nodes
    inputs = [node for node in program.graph.nodes if node.op == "placeholder"]
    shared = Counter(map(_memory, {*inputs, *outputs}))
    for node in outputs:
        if node.op == "placeholder" or shared[_memory(node)] > 1:
            found |= dict.fromkeys(_views(node), "it shares memory with an input or another output")
    return found


def _memory(node: Node) -> Any:
    """Return a key that is equal for tensors with the same memory."""
    tensor = node.meta.get("val")
    return tensor.untyped_storage()._cdata if isinstance(tensor, torch.Tensor) else object()


def _views(node: Node) -> list[Node]:
    """Return the views from a node back to their memory's maker, which counts if it is an input."""
    inputs = [each for each in node.all_input_nodes if _memory(each) == _memory(node)]
    if inputs:
        return [node, *_views(inputs[0])]
    return [node] if node.op == "placeholder" else []


def text_of(reasons: Mapping[Node, str]) -> str:
    """Name operators with their reasons in one line."""
    names: dict[str, list[str]] = {}
    for node, reason in reasons.items():
        name = operator_of(node) if node.op == "call_function" else node.name
        names.setdefault(f"{name}: {reason}", []).append(node.name)
    return "; ".join(
        what if len(nodes) == 1 else f"{len(nodes)} × {what}" for what, nodes in names.items()
    )


def divided(
    program: torch.export.ExportedProgram,
    reasons: Mapping[Node, str],
    compiled: Callable[[torch.fx.GraphModule, set[int]], Callable[..., Any]],
) -> Run | None:
    """Compile the parts of a program that can be imported.

    Args:
        program: a program from ``known_program``; it is changed.
        reasons: the nodes that cannot be imported, each with the reason.
        compiled: compiles a part, given the indices of its inputs that are constants. A part
            returns a tuple.

    Returns:
        A function that runs the program; PyTorch runs its other operators. None if no part has two
        operators.
    """

    def is_imported(_modules: Mapping[str, torch.nn.Module], node: Node) -> bool:
        if node.op != "call_function" or node in reasons:
            return False
        return node.target is not operator.getitem or node.args[0] not in reasons

    module = program.graph_module
    values = {**program.state_dict, **program.constants}
    specs = program.graph_signature.input_specs
    state = {spec.arg.name: values[spec.target] for spec in specs if spec.target in values}
    inputs = [node.name for node in program.graph.nodes if node.op == "placeholder"]
    CapabilityBasedPartitioner(module, create_op_support(is_imported)).partition_and_fuse()
    parts = [node for node in module.graph.nodes if node.op == "call_module"]
    if not parts:
        return None
    for node in parts:
        part = module.get_submodule(node.target)
        (results,) = part.graph.output_node().args
        if is_single := isinstance(results, Node):
            part.graph.output_node().args = ((results,),)
            part.recompile()
        fixed = {number for number, each in enumerate(node.args) if each.name in state}
        run = compiled(part, fixed)
        delattr(module, node.target)
        setattr(module, node.target, _first_of(run) if is_single else run)

    def run_all(given: Sequence[torch.Tensor]) -> tuple[Any, ...]:
        rest = iter(given)
        return tuple(module(*(state[name] if name in state else next(rest) for name in inputs)))

    return run_all


def _first_of(run: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *inputs: run(*inputs)[0]
