"""The attributes of nodes."""

from __future__ import annotations

from typing import Any

from frontends.errors import ModelFormatError
from frontends.onnx.package import onnx_package


def attributes_of(node: Any) -> dict[str, Any]:
    """Return a node's attributes by name.

    Raises:
        ModelFormatError: one is to come from a function that called it.
    """
    helper = onnx_package().helper
    for each in node.attribute:
        if each.ref_attr_name:
            raise ModelFormatError(f"{node.op_type}: {each.name} is an attribute of no function")
    return {each.name: helper.get_attribute_value(each) for each in node.attribute}
