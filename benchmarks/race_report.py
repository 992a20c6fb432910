"""Reports of races: tables on the terminal, Markdown and JSON."""

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks import goals
from benchmarks.machine import Setting
from benchmarks.peers import OURS, PEERS
from benchmarks.race import WITHOUT_AMX, Lane, Race
from benchmarks.report import as_json, difference_text, markdown, markdown_table

LONGEST_REASON = 200

CLOCK_NOTES = {"wall": "", "cpu": " of the processor's time"}


@dataclass(frozen=True)
class Report:
    """Races and their common facts.

    Attributes:
        setting: the machine, versions and date.
        threads: number of threads of every program.
        clock: the clock, as in ``Conditions``.
        races: one for each model.
    """

    setting: Setting
    threads: int
    clock: str
    races: list[Race]


def setting_lines(setting: Setting, threads: int) -> list[str]:
    """Return the lines with the machine, the versions and the date of a measurement."""
    versions = ", ".join(f"{name} {number}" for name, number in setting.versions.items())
    return [
        f"{setting.processor} ({setting.target}; {', '.join(setting.features)}), "
        f"{setting.cores} cores, of which {threads} used; {setting.system}; {setting.date}",
        versions,
    ]


def keys_of(races: Sequence[Race]) -> list[str]:
    """Return the programs that ran at least one of the models, in the order of ``PEERS``."""
    ran = {key for race in races for key in race.lanes}
    ordered = [key for peer in PEERS for key in (peer, peer + WITHOUT_AMX)]
    return [key for key in ordered if key in ran]


def detail_rows(race: Race) -> tuple[list[str], list[list[str]]]:
    """Return head and rows of the table of one model."""
    head = ["program", "ms", "quartiles", "ratio", "goal", "outputs differ by", "AMX"]
    of_peers = goals.PEERS.get(race.model.rpartition(" ")[2], {})
    body = [
        [
            lane.name,
            milliseconds(lane.median),
            "–".join(map(milliseconds, lane.spread)),
            _ratio(race, key),
            f"{of_peers[key]:.2f}" if key in of_peers else "–",
            _difference(race, key),
            "yes" if lane.uses_amx else "no",
        ]
        for key, lane in race.lanes.items()
    ]
    return head, body


def absent_lines(race: Race) -> list[str]:
    """List the programs that did not run the model, and why."""
    return [
        absent_line(key.removesuffix(WITHOUT_AMX), reason) for key, reason in race.absent.items()
    ]


def absent_line(peer: str, reason: str) -> str:
    """Return the line that says why a program could not be measured."""
    shown = reason if len(reason) <= LONGEST_REASON else reason[: LONGEST_REASON - 3] + "..."
    return f"{PEERS[peer].name} is left out: {shown}"


def summary_rows(report: Report) -> tuple[list[str], list[list[str]]]:
    """Return head and rows of the table of all models: milliseconds, and the ratio in brackets."""
    keys = keys_of(report.races)
    names = [next(r.lanes[key].name for r in report.races if key in r.lanes) for key in keys]
    body = [
        [race.model, *(_cell(race, key) for key in keys)] for race in report.races if race.lanes
    ]
    return ["model", *names], body


def as_markdown(report: Report) -> str:
    """Return all tables of the terminal as Markdown."""
    note = (
        f"Milliseconds{CLOCK_NOTES[report.clock]}: the median over turns; in brackets the time of "
        "tvm-qnn divided by the program's (below 1 tvm-qnn is faster), the median over rounds."
    )
    parts = [note, markdown_table(*summary_rows(report))]
    for race in report.races:
        parts += [f"## {race.model}", markdown_table(*detail_rows(race)), *absent_lines(race)]
    return markdown(setting_lines(report.setting, report.threads), *parts)


def figures(report: Report) -> str:
    """Return all figures, of every single run, as JSON."""
    races = [_race_fields(race) for race in report.races]
    return as_json(report.setting, threads=report.threads, clock=report.clock, races=races)


def milliseconds(seconds: float) -> str:
    """Return milliseconds as text, with three digits and without an exponent."""
    value = 1e3 * seconds
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def _race_fields(race: Race) -> dict[str, object]:
    return {
        "model": race.model,
        "lanes": {key: _lane_fields(race, key, lane) for key, lane in race.lanes.items()},
        "absent": race.absent,
    }


def _lane_fields(race: Race, key: str, lane: Lane) -> dict[str, object]:
    return {
        "name": lane.name,
        "version": lane.version,
        "uses_amx": lane.uses_amx,
        "median": lane.median,
        "quartiles": lane.spread,
        "ratio": race.ratio(key),
        "output_difference": race.difference(key),
        "turns": lane.turns,
    }


def _cell(race: Race, key: str) -> str:
    if key not in race.lanes:
        return "–"
    text = milliseconds(race.lanes[key].median)
    return text if key == OURS else f"{text} ({_ratio(race, key)})"


def _ratio(race: Race, key: str) -> str:
    ratio = race.ratio(key)
    return "–" if ratio is None else goals.beside(ratio)


def _difference(race: Race, key: str) -> str:
    if key == OURS or OURS not in race.lanes:
        return "–"
    return difference_text(race.difference(key))
