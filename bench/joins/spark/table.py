"""`python -m bench.joins.spark.table RUN.jsonl ...`: print the tables of docs/benchmarks-joins.md
from runs on Spark: those of scenarios whose results are dropped or, with `--files`, those of results in files."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from bench.page import Line, tables_of_runs
from bench.table import short

OURS, FILES = "ours", "ours files"
"""The variants that others are divided by, in scenarios whose results are dropped and in those with files."""
BEGIN, END = "<!-- tables of joins on spark -->", "<!-- end of tables of joins on spark -->"
FILES_BEGIN, FILES_END = "<!-- tables of joins into files -->", "<!-- end of tables of joins into files -->"


def main(arguments: Sequence[str]) -> int:
    """Print the tables of one or several files, or put them into a page."""
    rest = [word for word in arguments if word != "--files"]
    in_files = len(rest) < len(arguments)
    begin, end = (FILES_BEGIN, FILES_END) if in_files else (BEGIN, END)
    return tables_of_runs(
        rest, "python -m bench.joins.spark.table", __doc__, begin, end, lambda lines: tables(lines, in_files=in_files)
    )


def is_of_files(line: Line) -> bool:
    """Whether a line is of results in files."""
    return str(line.get("scenario", line.get("part", ""))).endswith(("-files", "restart", "endurance"))


def tables(lines: Iterable[Line], *, in_files: bool = False) -> list[str]:
    """Return all tables with their titles; tables without rows are left out."""
    lines = [line for line in lines if "machine" in line or is_of_files(line) is in_files]
    found = _machine(lines)
    for title, rows in (
        ("Targets on Spark", _targets(lines)),
        ("Rates on Spark", _rates(lines)),
        ("What a batch costs", _costs(lines)),
        ("Ten thousand small batches", _endurance(lines)),
    ):
        if len(rows) > 2:
            found += ["", f"### {title}{', into files' if in_files else ''}", "", *rows]
    return found


def _machine(lines: list[Line]) -> list[str]:
    """Return the machine on which the numbers depend, and how far two runs of the same variant were apart."""
    machine = next(line["machine"] for line in lines if "machine" in line)
    words = "; ".join(f"{name} {value}" for name, value in machine.items())
    spreads = [line["aa_spread"] for line in lines if "aa_spread" in line and "variant" in line]
    apart = ""
    if spreads:
        low, high = min(low for low, _ in spreads), max(high for _, high in spreads)
        apart = f" Our join compared with itself in the same round: {low:.2f} to {high:.2f} of wall time."
    return [f"{words}.{apart}"]


def _targets(lines: list[Line]) -> list[str]:
    rows = [
        "| scenario | target | reached | measured | limit | spread | ratio of CPU time |",
        "|---|---|---|---:|---:|---|---:|",
    ]
    for line in lines:
        if "target" in line:
            reached = {True: "yes", False: "**no**", None: "undecided"}[line["reached"]] if "limit" in line else ""
            limit = short(line["limit"]) if "limit" in line else ""
            spread = " to ".join(short(value) for value in line.get("spread", ()))
            cpu = short(line["of_cpu_time"]) if "of_cpu_time" in line else ""
            cells = [line["scenario"], line["target"], reached, short(line["value"]), limit, spread, cpu]
            rows.append(f"| {' | '.join(cells)} |")
    return rows


def _rates(lines: list[Line]) -> list[str]:
    rows = [
        "| scenario | rows per batch | results per row | variant | rows/s | ms per batch | / ours | CPU ms "
        "| CPU / ours |"
    ]
    rows.append("|---|---:|---:|---|---:|---:|---:|---:|---:|")
    for line in _variants(lines):
        ours = FILES if line["scenario"].endswith("-files") else OURS
        to_ours = line["ratio_to"].get(ours, [1.0])[0]
        cpu = line["cpu_ratio_to"].get(ours, 1.0)
        rows.append(
            f"| {line['scenario']} | {line['batch_rows']:,} | {line['results_per_row']:.2f} | {line['variant']} "
            f"| {line['rows_per_second']:,} | {line['batch_ms_median']:,.0f} | {to_ours:.2f} "
            f"| {line['cpu_ms']:,} | {cpu:.2f} |"
        )
    return rows


def _costs(lines: list[Line]) -> list[str]:
    head = ("scenario", "variant", "work, ms", "planning, ms", "offsets, logs, ms", "checkpoint, MB", "state, MB")
    rows = [f"| {' | '.join(head)} | windows, MB |", "|---|---|---:|---:|---:|---:|---:|---:|"]
    for line in _variants(lines):
        windows = f"{line['window_bytes'] / 1e6:.1f}" if "window_bytes" in line else ""
        rows.append(
            f"| {line['scenario']} | {line['variant']} | {line['work_ms']:,.0f} | {line['planning_ms']:,.0f} "
            f"| {line['fixed_ms']:,.0f} | {line['checkpoint_bytes_per_batch'] / 1e6:.2f} "
            f"| {line['state_bytes'] / 1e6:.1f} | {windows} |"
        )
    return rows


def _endurance(lines: list[Line]) -> list[str]:
    names = {
        "batches": "batches so far", "ms": "ms per batch", "cpu_ms": "CPU ms per batch", "python_mb": "a worker, MB",
        "driver_mb": "driver, MB", "heap_mb": "JVM heap, MB", "result_files": "files of results",
        "log_files": "files of the log", "checkpoint_files": "files of the checkpoint",
    }  # fmt: skip
    rows = [f"| {' | '.join(names.values())} |", f"|{'---:|' * len(names)}"]
    rows += [
        f"| {' | '.join(f'{line[name]:,.0f}' for name in names)} |" for line in lines if line.get("part") == "endurance"
    ]
    return rows


def _variants(lines: list[Line]) -> list[Line]:
    return [line for line in lines if "variant" in line]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
