"""PyTorch's own decompositions of operators that TVM's importer lacks, or knows only in part.

ExecuTorch decomposes by the same table when it lowers a program.
"""

from collections.abc import Callable, Collection
from typing import Any

from frontends.torch.reader import calls_of, is_quantizing, operator_of, values_of

_ROUNDS = 8
"""The most times that a decomposition may lead to another."""

_SINGLE = 4
"""The rank of the heads of an attention."""


def decomposed(program: Any, known: Collection[str]) -> Any:
    """Return a program whose operators can be imported, as far as decompositions allow.

    An operator that writes to a shared tensor becomes one that makes a new tensor.

    Args:
        program: a ``torch.export.ExportedProgram``.
        known: the names of the operators that are imported directly.

    Returns:
        The program itself, if there is nothing to decompose.
    """
    before: set[Any] = set()
    for _ in range(_ROUNDS):
        nodes = calls_of(program)
        wanted = {node.target for node in nodes if _is_wanted(node, known)}
        if wanted == before and not any(map(_writes, nodes)):
            break
        table = _table(wanted) if wanted else {}
        program = program.run_decompositions(table)
        before = wanted
    return program


def _table(wanted: set[Any]) -> dict[Any, Callable[..., Any]]:
    from torch.export import default_decompositions

    core = default_decompositions()
    return {operator: core[operator] for operator in wanted if operator in core}


def _is_wanted(node: Any, known: Collection[str]) -> bool:
    if not hasattr(node.target, "_schema") or is_quantizing(node):
        return False
    name = operator_of(node)
    return name not in known or name in _INEXACT or (name in _OPTIONS and _OPTIONS[name](node))


def _writes(node: Any) -> bool:
    """Tell whether a node changes a tensor that other nodes may read, or keeps its dtype.

    The sum of tensors of two dtypes has the wider dtype. Written to the first, it has the first's.
    """
    schema = getattr(node.target, "_schema", None)
    if schema is None or not schema.is_mutable:
        return False
    data, *others = node.all_input_nodes
    is_made = data.op == "call_function" and not _shares(data)
    dtypes = {each.meta["val"].dtype for each in (data, *others) if "val" in each.meta}
    return not is_made or len(data.users) > 1 or len(dtypes) > 1


def _shares(node: Any) -> bool:
    """Tell whether the result of a node may be a part of another tensor."""
    schema = getattr(node.target, "_schema", None)
    if schema is None:
        return True
    is_view = any(each.alias_info is not None for each in schema.returns)
    return is_view and not schema.is_mutable


_INEXACT = {
    *("celu.default", "clamp_max.default", "instance_norm.default"),
    *("rsub.Scalar", "rsub.Tensor", "std.correction"),
}
"""Operators that TVM's importer computes differently."""


def _is_masked(node: Any) -> bool:
    """Tell whether an attention is neither the simplest one nor a causal one."""
    query, _, _, mask, _, _, scale, is_grouped = values_of(node)
    has_heads = len(query.meta["val"].shape) == _SINGLE
    return mask is not None or scale is not None or is_grouped or not has_heads


def _has_no_weights(node: Any) -> bool:
    return None in values_of(node)[2:4]


def _has_states(node: Any) -> bool:
    """Tell whether a recurrent layer has several layers, or something reads its last state."""
    return int(values_of(node)[4]) > 1 or any(user.args[1] for user in node.users)


_OPTIONS: dict[str, Callable[[Any], bool]] = {
    "group_norm.default": _has_no_weights,
    "gru.input": _has_states,
    "layer_norm.default": _has_no_weights,
    "lstm.input": _has_states,
    "scaled_dot_product_attention.default": _is_masked,
}
"""Operators for which TVM's importer lacks options, and tests whether a node has these."""
