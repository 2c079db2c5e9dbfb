"""`python -m bench.charts.table RUN.jsonl ...`: print the tables of runs, of several seeds put together."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from bench.charts.compared import POLICIES
from bench.charts.summary import LOOKUP, TRIGGER, summary
from bench.page import Line, tables_of_runs
from bench.plans.table import targets
from bench.table import short

BEGIN, END = "<!-- tables of charts -->", "<!-- end of tables of charts -->"


def main(arguments: Sequence[str]) -> int:
    """Print the tables of one or several files, or put them into a page."""
    return tables_of_runs(arguments, "python -m bench.charts.table", __doc__, BEGIN, END, tables)


def tables(lines: list[Line]) -> list[str]:
    """Return the targets, and the figures of every chart, every join and every trigger."""
    figures = [line for line in lines if line["line"] == "figures"]
    made = [line for line in figures if line["part"] == LOOKUP]
    joins = [line for line in figures if line["part"] not in (LOOKUP, TRIGGER)]
    triggered = [line for line in figures if line["part"] == TRIGGER]
    found = ["### Targets", "", *targets(list(summary(figures)))]
    if made:
        found += ["", "### Every chart", "", *_charts(made)]
    if joins:
        found += ["", "### Every join", "", *_joins(joins)]
    return [*found, "", "### Every trigger", "", *_triggers(triggered)] if triggered else found


def _triggers(figures: Sequence[Line]) -> list[str]:
    rows = ["| query | rows/s | busy | interval, s | load | A/A | rows held | foretold | over foretold | A/A |"]
    rows.append("|---|" + "---:|" * 9)
    for line in figures:
        names = ("rows_per_second", "busy", "interval_s", "load", "load_aa", "held", "foretold", "held_over_foretold")
        rows.append(f"| {line['case']} | {' | '.join(_cell(line.get(name)) for name in (*names, 'held_aa'))} |")
    return rows


def _charts(figures: Sequence[Line]) -> list[str]:
    rows = ["| join | regions | plans | made, s | look-up, us | choosing anew, us | times | A/A | stored, bytes |"]
    rows.append("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    for line in figures:
        names = ("regions", "plans", "make_seconds", "look_up_us", "choose_us", "times", "aa", "bytes")
        rows.append(f"| {_name(line)} | {' | '.join(_cell(line[name]) for name in names)} |")
    return rows


def _joins(figures: Sequence[Line]) -> list[str]:
    """Return a row per join: CPU time and bytes of the best single plan and of the policies over those of hindsight."""
    heads = ["CPU", "bytes", *(f"{policy}: {what}" for policy in POLICIES for what in ("CPU", "bytes", "changes"))]
    rows = [f"| part | join | A/A | best single plan | single: {' | '.join(heads)} | fidelity | regret |"]
    rows.append("|---|---|---:|---|---:|---:|" + "---:|" * (len(heads) - 2 + 2))
    for line in figures:
        cells = [line["part"], _name(line), short(line["aa"]), line["single"]]
        cells += [short(line["single_cpu_over_hindsight"]), short(line["single_bytes_over_hindsight"])]
        for policy in POLICIES:
            one = line[policy]
            cells += [short(one["cpu_over_hindsight"]), short(one["bytes_over_hindsight"]), str(one["changes"])]
        cells += [_cell(line[POLICIES[0]].get(name)) for name in ("fidelity", "regret")]
        rows.append(f"| {' | '.join(cells)} |")
    return rows


def _name(line: Line) -> str:
    return f"{line['seed']}/{line['join']}"


def _cell(value: float | None) -> str:
    return "" if value is None else f"{value:,}" if isinstance(value, int) else short(value)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
