"""Import lines of scripts for TVM's Relay, changed to those of the façade. Nothing else changes."""

from tests.support.peer_tests import with_changes

CHANGES = (
    # Names that the façade has in a module of its own.
    (r"from tvm\.relay(\S*) import", r"from tvm_qnn.relay\1 import"),
    (r"import tvm\.relay as relay", r"from tvm_qnn import relay"),
    (r"from tvm\.contrib(\S*) import", r"from tvm_qnn.relay.contrib\1 import"),
    (r"import tvm\.contrib\.(\w+) as", r"from tvm_qnn.relay.contrib import \1 as"),
    (r"from tvm\.runtime\.vm import", r"from tvm_qnn.relay.vm import"),
    (r"from tvm\.error import", r"from tvm_qnn.relay.error import"),
    (r"from tvm\.topi\.nn\.qnn import", r"from tvm_qnn.relay.qnn import"),
    (r"from tvm\.testing\.utils import", r"from tvm_qnn.relay.testing import"),
    # All others: today's TVM, and beside it what it has lost.
    (r"import tvm(\.\S+)?$", r"from tvm_qnn.relay import tvm"),
    (r"from tvm import", r"from tvm_qnn.relay.tvm import"),
)
"""Pairs of a regular expression for the beginning of a line and the text that replaces it."""


def changed(source: str) -> str:
    """Return a script with its import lines changed."""
    return with_changes(source, CHANGES)
