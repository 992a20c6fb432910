"""``tvm.error`` as Relay's scripts use it, with the errors that are raised here.

``TVMError`` is this project's error. TVM's own errors at run time are of other classes.
"""

from typing import Any

import tvm.error

from frontends.errors import UnsupportedOperatorError as OpNotImplemented
from qnn_ops.errors import QnnError as TVMError

__all__ = ["OpError", "OpNotImplemented", "TVMError"]

# In Relay, too, an OpNotImplemented is an OpError.
OpError = OpNotImplemented


def __getattr__(name: str) -> Any:
    """Find TVM's other errors."""
    return getattr(tvm.error, name)
