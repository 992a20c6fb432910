"""The needs of code on the machine that runs it."""

from dataclasses import dataclass

from tvm_qnn.target.processor import extensions_here, parts, this_platform


@dataclass(frozen=True)
class Requirements:
    """The needs of code on the machine that runs it.

    Attributes:
        platform: architecture and system, as "x86_64-linux-gnu".
        extensions: LLVM's names of extensions of the instruction set.
    """

    platform: str
    extensions: tuple[str, ...]

    def why_not_here(self) -> str | None:
        """Say why this machine cannot run such code; None if it can."""
        if parts(self.platform) != parts(this_platform()):
            return f"it is for {self.platform}, this machine is {this_platform()}"
        missing = sorted({*self.extensions} - extensions_here(self.extensions))
        if missing:
            return f"it needs a processor with {', '.join(missing)}, which this one lacks"
        return None
