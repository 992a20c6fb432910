import pytest

from tvm_qnn.target import requirements
from tvm_qnn.target.processor import parts, this_platform
from tvm_qnn.target.requirements import Requirements


@pytest.mark.parametrize(
    ("platform", "here"),
    [
        ("x86_64-unknown-linux-gnu", "x86_64-linux"),
        ("x86_64-pc-linux-gnu", "amd64-linux"),
        ("armv7l-linux-gnueabihf", "armv8l-linux"),
        ("aarch64-linux-gnu", "aarch64-linux"),
        ("arm64-apple-darwin23.1.0", "arm64-darwin"),
        ("arm64-apple-macosx11.0", "arm64-darwin"),
        ("x86_64-pc-windows-msvc", "amd64-win32"),
    ],
)
def test_names_of_a_platform(monkeypatch: pytest.MonkeyPatch, platform: str, here: str) -> None:
    monkeypatch.setattr(requirements, "this_platform", lambda: here)
    assert Requirements(platform, ()).why_not_here() is None
    for other in ("riscv64-linux-gnu", "x86_64-pc-windows-msvc", "aarch64-apple-darwin"):
        if parts(other) != parts(here):
            assert Requirements(other, ()).why_not_here() == (
                f"it is for {other}, this machine is {here}"
            )


def test_extensions_that_are_missing_are_named() -> None:
    asked = Requirements(this_platform(), ("future2", "future1"))
    assert asked.why_not_here() == (
        "it needs a processor with future1, future2, which this one lacks"
    )
