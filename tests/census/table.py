"""The tables of a census."""

from collections import Counter
from collections.abc import Iterable, Sequence

from tests.census.trial import CLASSES, Outcome


def tables(outcomes: Sequence[Outcome]) -> str:
    """Count the files of each class, and for each reason those that have it, and only it."""
    lines = [row("class", "files"), row("---", "---:")]
    counts = Counter(outcome.kind for outcome in outcomes)
    lines += [row(kind, counts[kind]) for kind in CLASSES]
    lines.append(row("all", len(outcomes)))
    lines.append(row("imported", sum(outcome.imports for outcome in outcomes)))
    for kind in CLASSES:
        found = [outcome for outcome in outcomes if outcome.kind == kind and outcome.reasons]
        lines += _reasons(kind, found) if found else []
    return "\n".join(lines) + "\n"


def _reasons(kind: str, outcomes: Sequence[Outcome]) -> Iterable[str]:
    needed = Counter(reason for outcome in outcomes for reason in outcome.reasons)
    alone = Counter(outcome.reasons[0] for outcome in outcomes if len(outcome.reasons) == 1)
    yield ""
    yield row(kind, "files", "for this alone")
    yield row("---", "---:", "---:")
    for reason, count in sorted(needed.items(), key=lambda each: (-each[1], each[0])):
        yield row(reason.replace("|", "\\|"), count, alone[reason])


def row(*cells: object) -> str:
    """Return a line of a Markdown table."""
    return f"| {' | '.join(map(str, cells))} |"
