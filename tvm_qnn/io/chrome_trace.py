"""Writes traces in Chrome's format, which Perfetto and chrome://tracing open."""

from collections.abc import Iterable, Mapping

from tvm_qnn.io.text import to_json


def chrome_trace(title: str, spans: Mapping[str, Iterable[tuple[float, float]]]) -> str:
    """Return a trace as JSON: a row for each name, with a span for each of its runs.

    Args:
        title: the title of all rows.
        spans: for each name the start and the length of its runs, in seconds of the same clock.
    """
    rows = {name: list(runs) for name, runs in spans.items()}
    first = min((start for runs in rows.values() for start, _ in runs), default=0.0)
    events: list[dict[str, object]] = [_named("process_name", 0, title)]
    for row, (name, runs) in enumerate(rows.items(), 1):
        events.append(_named("thread_name", row, name))
        events += [
            {
                "name": name,
                "ph": "X",
                "pid": 1,
                "tid": row,
                "ts": 1e6 * (start - first),
                "dur": 1e6 * length,
                "args": {"run": run},
            }
            for run, (start, length) in enumerate(runs)
        ]
    return to_json({"traceEvents": events, "displayTimeUnit": "ns"})


def _named(kind: str, row: int, name: str) -> dict[str, object]:
    return {"name": kind, "ph": "M", "pid": 1, "tid": row, "args": {"name": name}}
