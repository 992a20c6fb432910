from __future__ import annotations

import pytest

from qnn_ops.errors import QnnError
from tvm_qnn.io.command import call


def test_a_command_gives_what_it_prints() -> None:
    assert call(["sh", "-c", "echo yes; echo no >&2"]) == "yes\n"


def test_what_a_failing_command_says_is_in_the_error() -> None:
    with pytest.raises(QnnError, match=r"sh failed \(3\): no$"):
        call(["sh", "-c", "echo no >&2; exit 3"])
