"""The project's exceptions."""

from __future__ import annotations

import tvm_ffi


@tvm_ffi.register_error
class QnnError(ValueError):
    """Something given to tvm-qnn does not fit; the message names what, where, got and needed.

    Registered with TVM's FFI, so that a type rule's error crosses TVM's C++ and
    reaches the caller as what it is.
    """


# Ctrl-C while TVM's C++ runs a pass or a rule of ours: without this it would arrive as one of
# TVM's errors, with pages of traceback.
tvm_ffi.register_error("KeyboardInterrupt", KeyboardInterrupt)
