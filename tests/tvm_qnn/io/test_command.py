from tests.support.errors import fails
from tvm_qnn.io.command import call


def test_a_command_gives_what_it_prints() -> None:
    assert call(["sh", "-c", "echo yes; echo no >&2"]) == "yes\n"


def test_what_a_failing_command_says_is_in_the_error() -> None:
    fails(r"sh failed \(3\): no$", call, ["sh", "-c", "echo no >&2; exit 3"])
