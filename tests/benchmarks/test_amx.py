import pytest

from benchmarks.machine import setting
from tests.support.processes import printed

ASK = """
import ctypes
from benchmarks import amx
before = amx.in_use()
{forbid}
asked = ctypes.CDLL(None).syscall(158, 0x1023, 18)
print(before, asked, amx.in_use())
"""


@pytest.mark.skipif("amx_int8" not in setting().features, reason="the processor has no AMX")
@pytest.mark.parametrize(
    ("forbid", "expected"), [("", "False 0 True\n"), ("amx.forbid()", "False -1 False\n")]
)
def test_a_process_gets_amx_unless_it_is_forbidden(forbid: str, expected: str) -> None:
    assert printed(ASK.format(forbid=forbid)) == expected
