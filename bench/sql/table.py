"""`python -m bench.sql.table RUN.jsonl ...`: print the tables of docs/benchmarks-sql.md from runs."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from bench.page import Line, tables_of_runs
from bench.sql.overhead import AGAIN, SQL

BEGIN, END = "<!-- tables -->", "<!-- end of tables -->"


def main(arguments: Sequence[str]) -> int:
    """Print the tables of one or several files, or put them into a page."""
    return tables_of_runs(arguments, "python -m bench.sql.table", __doc__, BEGIN, END, tables)


def tables(lines: list[Line]) -> list[str]:
    """Return the tables of planning and of the comparisons on Spark."""
    machine = next(line["machine"] for line in lines if "machine" in line)
    found = [f"{'; '.join(f'{name} {value}' for name, value in machine.items())}.", "", "### Planning", ""]
    found += ["| query | ms, median | ms, maximum |", "|---|---:|---:|"]
    found += [f"| {line['query']} | {line['ms_median']} | {line['ms_most']} |" for line in lines if "query" in line]
    found += ["", "### On Spark", ""]
    found += ["| scenario | rows | rounds | sql, s | against, s | creation, ms |", "|---|---:|---:|---:|---|---|"]
    for line in lines:
        if "seconds" in line:
            (against,) = (name for name in line["seconds"] if name not in (SQL, AGAIN))
            found.append(
                f"| {line['scenario']} | {line['rows']:,} | {line['rounds']} | {line['seconds'][SQL]:.2f} "
                f"| {line['seconds'][against]:.2f} ({against}) | {line['build_ms'][SQL]:.0f} / "
                f"{line['build_ms'][against]:.0f} |"
            )
    found += ["", "### Targets", "", "| scenario | target | measured | limit | reached | spread | A/A | A/A spread |"]
    found.append("|---|---|---:|---:|---|---|---:|---|")
    for line in lines:
        if "target" in line:
            reached = "yes" if line["reached"] else "**no**"
            control = f"{line['aa_median']:.3f}" if "aa_median" in line else ""
            cells = [line["scenario"], line["target"], f"{line['value']:.3f}", str(line["limit"]), reached]
            cells += [_span(line.get("spread", ())), control, _span(line.get("aa_spread", ()))]
            found.append(f"| {' | '.join(cells)} |")
    return found


def _span(values: Sequence[float]) -> str:
    return " to ".join(f"{value:.2f}" for value in values)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
