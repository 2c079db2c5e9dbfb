"""`python -m bench.joins.table RUN.jsonl ...`: print the tables of docs/benchmarks-joins.md from runs."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from bench.page import Line, tables_of_runs
from bench.table import short

GROWING = ("window-", "streams-")
BEGIN, END = "<!-- tables -->", "<!-- end of tables -->"


def main(arguments: Sequence[str]) -> int:
    """Print the tables of one or several files, or put them into a page."""
    return tables_of_runs(arguments, "python -m bench.joins.table", __doc__, BEGIN, END, tables)


def tables(lines: Iterable[Line]) -> list[str]:
    """Return all tables with their titles."""
    lines = list(lines)
    found = [*_machine(lines), "", "### Targets", "", *_targets(lines), "", "### Against others", "", *_compared(lines)]
    found += ["", "### Every variant", "", *_variants(lines)]
    for kind, title in (("window-", "Window size"), ("streams-", "Number of streams")):
        found += ["", f"### {title}", "", *_growing(lines, kind)]
    return found


def _machine(lines: list[Line]) -> list[str]:
    """Return the machine on which the numbers depend, and how far two runs of the same variant were apart."""
    machine = next(line["machine"] for line in lines if "machine" in line)
    words = [f"{name} {value if not isinstance(value, list) else ', '.join(value)}" for name, value in machine.items()]
    spreads = [line["aa_spread"] for line in lines if "aa_spread" in line]
    low, high = min(low for low, _ in spreads), max(high for _, high in spreads)
    return [f"{'; '.join(words)}. `auto` compared with itself in the same round: {low:.2f} to {high:.2f}."]


def _targets(lines: list[Line]) -> list[str]:
    rows = ["| scenario | policy | target | reached | measured | limit |", "|---|---|---|---|---:|---:|"]
    for line in lines:
        if "reached" in line:
            reached = "yes" if line["reached"] else "**no**"
            cells = [line["scenario"], line["policy"], line["target"], reached]
            rows.append(f"| {' | '.join([*cells, short(line['value']), short(line['limit'])])} |")
    return rows


def _compared(lines: list[Line]) -> list[str]:
    rows = ["| scenario | comparison of `auto` | ratio |", "|---|---|---:|"]
    compared = (line for line in lines if "target" in line and "reached" not in line)
    rows += [
        f"| {line['scenario']} | {line['target']} | {short(line['value'])} |"
        for line in compared
        if not line["scenario"].startswith(GROWING)
    ]
    return rows


def _variants(lines: list[Line]) -> list[str]:
    rows = ["| scenario | results | variant | CPU s | rows/s | / auto | probes | probes for profiling |"]
    rows.append("|---|---:|---|---:|---:|---:|---:|---:|")
    for line in lines:
        if "variant" in line and not line["scenario"].startswith(GROWING):
            to_auto = line["ratio_to"].get("auto", 1.0)
            cells = [line["scenario"], f"{line['results']:,}", line["variant"], f"{line['seconds_median']:.3f}"]
            cells += [f"{line['rows_per_second']:,}", f"{to_auto:.2f}"]
            cells += [f"{line[name]:,}" if name in line else "" for name in ("probes", "profiled")]
            rows.append(f"| {' | '.join(cells)} |")
    return rows


def _growing(lines: list[Line], kind: str) -> list[str]:
    """Return the cost by size, with a bar of that length."""
    family = [line for line in lines if line.get("variant") == "auto" and line["scenario"].startswith(kind)]
    rows = ["| scenario | results per row | ns per row | | windows, MB | looks per row |"]
    rows.append("|---|---:|---:|---|---:|---:|")
    most = max((line["ns_per_row"] for line in family), default=1.0)
    for line in family:
        bar = "█" * max(round(20 * line["ns_per_row"] / most), 1)
        rows.append(
            f"| {line['scenario']} | {line['timed_results'] / line['rows']:.2f} | {line['ns_per_row']:.0f} | {bar} "
            f"| {line['window_bytes'] / 1e6:.1f} | {line['looked'] / line['all_rows']:.1f} |"
        )
    return rows


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
