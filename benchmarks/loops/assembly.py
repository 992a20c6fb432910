"""The loops of a compiled function."""

import re
from dataclasses import dataclass

_LABEL = re.compile(r"(\.L\w+):")
# Some x86 instructions begin with a word in braces that states their encoding.
_INSTRUCTION = re.compile(r"\s+(?:\{\w+\}\s+)?([a-z]\S*)")


@dataclass(frozen=True)
class Dialect:
    """The syntax of an instruction set's assembly.

    Attributes:
        triple: LLVM's name of the instruction set.
        comment: the beginning of a comment.
        jump: matches a line with a jump that may end a loop; its group is the label.
    """

    triple: str
    comment: str
    jump: re.Pattern[str]


@dataclass(frozen=True)
class Loop:
    """One loop of assembly, from its label to the jump back to it.

    Attributes:
        label: the loop's label.
        own: the loop's instructions outside of inner loops.
    """

    label: str
    own: tuple[str, ...]

    def count(self, name: str) -> int:
        """Count the loop's own instructions of this name."""
        return sum(name_of(line) == name for line in self.own)


def name_of(line: str) -> str:
    """Return the name of a line's instruction; empty if it has none."""
    match = _INSTRUCTION.match(line)
    return match[1] if match else ""


def loops(assembly: str, dialect: Dialect) -> list[Loop]:
    """Return the loops of assembly, inner loops before outer ones."""
    lines = [line.split(dialect.comment)[0].rstrip() for line in assembly.splitlines()]
    labels = {match[1]: i for i, line in enumerate(lines) if (match := _LABEL.match(line))}
    jumps = [(i, match[1]) for i, line in enumerate(lines) if (match := dialect.jump.match(line))]
    # If several jumps go back to a label, the last one ends the loop.
    ends = {to: i for i, to in jumps if labels.get(to, i) < i}
    found = []
    for label, end in sorted(ends.items(), key=lambda item: item[1] - labels[item[0]]):
        begin = labels[label]
        within = [
            (labels[other], last)
            for other, last in ends.items()
            if begin < labels[other] and last < end
        ]
        own = [
            line
            for i, line in enumerate(lines[begin : end + 1], begin)
            if name_of(line) and not any(first <= i <= last for first, last in within)
        ]
        found.append(Loop(label, tuple(own)))
    return found
