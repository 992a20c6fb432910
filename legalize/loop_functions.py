"""Functions of loops in a module of Relax."""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relax, s_tir, tirx

OPAQUE = 8
"""Relax's pattern kind of a function that must not be fused with others."""


def add_function(
    builder: relax.BlockBuilder, name: str, function: tirx.PrimFunc, **attributes: Any
) -> tvm.ir.GlobalVar:
    """Add a function that passes fuse with no other; equal ones are added once.

    Args:
        builder: the module's builder.
        name: the function's name, if no other has it.
        function: the function to add.
        **attributes: of the function, besides its own.

    Returns:
        The global variable of the function.
    """
    # The module gives the function its own symbol. Relax's passes look into its root block.
    root = s_tir.SBlockRealize([], True, s_tir.SBlock([], [], [], "root", function.body))
    function = function.without_attr("global_symbol").with_body(root)
    return builder.add_func(function.with_attrs({"op_pattern": OPAQUE, **attributes}), name)
