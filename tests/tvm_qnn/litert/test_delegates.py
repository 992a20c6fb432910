"""Delegates are refused, as a delegate that LiteRT cannot load."""

from tests.support.errors import fails
from tvm_qnn.litert import Delegate, load_delegate


def test_a_program_that_catches_the_error_goes_on() -> None:
    try:
        delegates = [load_delegate("libedgetpu.so.1", {"device": "usb"})]
    except ValueError as error:
        delegates = []
        text = str(error)
    assert text.startswith("Failed to load delegate from libedgetpu.so.1\n")
    assert not delegates
    fails("gives no part of it to a delegate", Delegate, "libedgetpu.so.1")
