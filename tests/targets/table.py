"""The table of targets and of the models' outcomes."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from qnn_ops.errors import QnnError
from tests.targets.processors import Row
from tests.targets.trial import Outcome

BEGIN, END = "<!-- targets -->", "<!-- /targets -->"
_HEAD = ("target", "models compiled and read", "run here", "emulated", "refused", "failed")


def table(rows: Sequence[Row], outcomes: Iterable[Outcome]) -> str:
    """Return a line of Markdown for each target, and one of sums."""
    known = list(outcomes)
    lines = [_line(row.name, [each for each in known if each.target == row.name]) for row in rows]
    head = [f"| {' | '.join(_HEAD)} |", "|---|" + "---:|" * (len(_HEAD) - 1)]
    return "\n".join([*head, *lines, _line("all", known)]) + "\n"


def _line(name: str, outcomes: Sequence[Outcome]) -> str:
    counts = (
        sum(outcome.compiled for outcome in outcomes),
        sum(outcome.ran for outcome in outcomes),
        sum(outcome.emulated for outcome in outcomes),
        sum(outcome.refused is not None for outcome in outcomes),
        sum(outcome.problem is not None for outcome in outcomes),
    )
    return f"| {name} | {' | '.join(f'{count:,}' for count in counts)} |"


def write_table(file: Path, text: str) -> None:
    """Write a table between the two marks of a file.

    Raises:
        QnnError: if it does not have them.
    """
    before, mark, rest = file.read_text().partition(BEGIN)
    _, end, after = rest.partition(END)
    if not mark or not end:
        raise QnnError(f"{file} has no {BEGIN} and {END}")
    file.write_text(f"{before}{BEGIN}\n{text}{END}{after}")
