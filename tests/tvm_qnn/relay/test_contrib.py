import pytest
import tvm

from tvm_qnn.relay import contrib, graph_executor


def test_names_of_today_and_of_before() -> None:
    assert contrib.graph_runtime is graph_executor
    assert contrib.util is contrib.utils
    assert contrib.cc is tvm.support.cc
    assert contrib.download is tvm.contrib.download
    with pytest.raises(AttributeError, match=r"tvm\.contrib has no nothing"):
        _ = contrib.nothing
