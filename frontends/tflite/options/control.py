"""Options: states, and operators with subgraphs."""

from __future__ import annotations

from dataclasses import dataclass

from frontends.tflite.option_fields import Branches, Container, SharedName
from frontends.tflite.options.base import Options


@dataclass(frozen=True)
class VarHandleOptions(Options):
    """A variable that the subgraphs of a model share: its name."""

    container: Container
    shared_name: SharedName


@dataclass(frozen=True)
class CallOnceOptions(Options):
    """A subgraph that runs before the first run, by its number."""

    init_subgraph_index: int


@dataclass(frozen=True)
class WhileOptions(Options):
    """A loop: the numbers of the subgraphs that say whether it goes on, and that it repeats."""

    cond_subgraph_index: int
    body_subgraph_index: int


@dataclass(frozen=True)
class IfOptions(Options):
    """A choice between two subgraphs: their numbers."""

    then_subgraph_index: int
    else_subgraph_index: int


@dataclass(frozen=True)
class StablehloCaseOptions(Options):
    """A choice between several subgraphs: their numbers."""

    branch_subgraph_indices: Branches


@dataclass(frozen=True)
class StableHLOCompositeOptions(Options):
    """What several operators make up: the number of the subgraph that has them."""

    decomposition_subgraph_index: int
