"""`python -m bench.plans.table RUN.jsonl ...`: print the tables of runs, of several seeds put together."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from bench.page import Line, tables_of_runs
from bench.plans.declared import DECLARED
from bench.plans.measured import default
from bench.plans.summary import summary
from bench.table import short

BEGIN, END = "<!-- tables of plans -->", "<!-- end of tables of plans -->"


def main(arguments: Sequence[str]) -> int:
    """Print the tables of one or several files, or put them into a page."""
    return tables_of_runs(arguments, "python -m bench.plans.table", __doc__, BEGIN, END, tables)


def tables(lines: list[Line]) -> list[str]:
    """Return the targets, and the figures of every join."""
    figures = [line for line in lines if line["line"] == "figures"]
    drawn = [line for line in figures if line["seed"] is not None]
    others = [line for line in lines if line["line"] == "target" and "scenario" in line]
    judged = [*summary(drawn), *others]
    return ["### Targets", "", *targets(judged), "", "### Every join", "", *_joins(lines, figures)]


def targets(lines: Sequence[Line]) -> list[str]:
    """Return a table of the targets, with their verdicts, and with the reasons of those that could not be judged."""
    rows = ["| scenario | target | verdict | measured | limit |", "|---|---|---|---:|---:|"]
    for line in lines:
        where = " on Spark" if line.get("where") == "spark" else ""
        verdict, why = line.get("verdict", ""), f" ({line['why']})" if "why" in line else ""
        limit = [] if "limit" not in line else line["limit"] if isinstance(line["limit"], list) else [line["limit"]]
        cells = [
            line.get("scenario", "drawn") + where, line["target"],
            (f"**{verdict}**" if verdict == "missed" else verdict) + why,
            "" if line["value"] is None else short(line["value"]), " to ".join(map(short, limit)),
        ]  # fmt: skip
        rows.append(f"| {' | '.join(cells)} |")
    return rows


def _joins(lines: Sequence[Line], figures: Sequence[Line]) -> list[str]:
    """Return a row per join: of what is declared, the CPU time over that of the best plan, and of the multiway join."""
    about = {(line["seed"], line["join"]): line for line in lines if line["line"] == "join"}
    heads = [f"{name}: plan, / best, / multiway" for name in map(default, DECLARED)]
    rows = [f"| join | conditions | plans | best | / multiway | A/A | tau | {' | '.join(heads)} |"]
    rows.append("|---|---|---:|---|---:|---:|---:|---|---|---|")
    for line in figures:
        found = about[line["seed"], line["join"]]
        name = line["join"] if line["seed"] is None else f"{line['seed']}/{line['join']}"
        cells = [name, found["on"], str(line["plans"]), line["best"], short(line["best_over_multiway"])]
        cells += [short(line["aa"]), "" if line["tau"] is None else short(line["tau"])]
        for declared in map(default, DECLARED):
            one = line.get(declared)
            ratios = "" if one is None else f"{short(one['over_best'])}, {short(one['over_multiway'])}"
            cells.append("" if one is None else f"{one['plan']}, {ratios}")
        rows.append(f"| {' | '.join(cells)} |")
    return rows


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
