"""Options: operators of StableHLO, and windows that are reduced."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from frontends.tflite.option_fields import Reader
from frontends.tflite.options.base import Options
from frontends.tflite.schema import pascal_case


def _integers(name: str) -> Reader:
    return lambda table: tuple(table.vector(pascal_case(name), "int64").tolist())


@dataclass(frozen=True)
class StablehloPadOptions(Options):
    """For each axis how much is put before it, behind it, and between two neighbours."""

    edge_padding_low: Annotated[tuple[int, ...], _integers("edge_padding_low")]
    edge_padding_high: Annotated[tuple[int, ...], _integers("edge_padding_high")]
    interior_padding: Annotated[tuple[int, ...], _integers("interior_padding")]


@dataclass(frozen=True)
class StablehloGatherOptions(Options):
    """Which axes of the result are a slice's, and which axes of the data a place names."""

    offset_dims: Annotated[tuple[int, ...], _integers("offset_dims")]
    collapsed_slice_dims: Annotated[tuple[int, ...], _integers("collapsed_slice_dims")]
    start_index_map: Annotated[tuple[int, ...], _integers("start_index_map")]
    index_vector_dim: int
    slice_sizes: Annotated[tuple[int, ...], _integers("slice_sizes")]


@dataclass(frozen=True)
class StablehloScatterOptions(Options):
    """Which axes of the updates are a slice's, and which axes of the data a place names."""

    update_window_dims: Annotated[tuple[int, ...], _integers("update_window_dims")]
    inserted_window_dims: Annotated[tuple[int, ...], _integers("inserted_window_dims")]
    scatter_dims_to_operand_dims: Annotated[
        tuple[int, ...], _integers("scatter_dims_to_operand_dims")
    ]
    index_vector_dim: int
    update_computation_subgraph_index: int


@dataclass(frozen=True)
class StablehloReduceWindowOptions(Options):
    """Windows, and the number of the subgraph that combines two numbers.

    `padding` is two numbers for each axis; `base_dilations` is the distance of the data's
    elements.
    """

    window_dimensions: Annotated[tuple[int, ...], _integers("window_dimensions")]
    window_strides: Annotated[tuple[int, ...], _integers("window_strides")]
    base_dilations: Annotated[tuple[int, ...], _integers("base_dilations")]
    window_dilations: Annotated[tuple[int, ...], _integers("window_dilations")]
    padding: Annotated[tuple[int, ...], _integers("padding")]
    body_subgraph_index: int


@dataclass(frozen=True)
class ReduceWindowOptions(Options):
    """How numbers of a window are combined: "ADD", "MUL", "MINIMUM", "MAXIMUM", "ALL", "ANY"."""

    reduce_function: str
