from __future__ import annotations

import pytest

from tvm_qnn.relay.frontend import pytorch_utils


def test_versions_are_compared_by_their_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pytorch_utils, "version", lambda _package: "2.13.0+cpu")
    assert pytorch_utils.is_version_greater_than("2.9.1")
    assert not pytorch_utils.is_version_greater_than("2.13.0")
