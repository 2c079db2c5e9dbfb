"""`python -m bench.mesh.table RUN.jsonl ...`: print the tables of runs, of several seeds put together."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from bench.mesh.contenders import MESH
from bench.mesh.measured import CLAIRVOYANT
from bench.mesh.summary import SCENARIOS, SIZES, SPARK, STAR, summary
from bench.page import Line, tables_of_runs
from bench.plans.table import targets
from bench.table import short

BEGIN, END = "<!-- tables of meshes -->", "<!-- end of tables of meshes -->"


def main(arguments: Sequence[str]) -> int:
    """Print the tables of one or several files, or put them into a page."""
    return tables_of_runs(arguments, "python -m bench.mesh.table", __doc__, BEGIN, END, tables)


def tables(lines: list[Line]) -> list[str]:
    """Return the targets, the figures of every scenario and variant, and the table of batch sizes."""
    figures = [line for line in lines if line["line"] == "figures"]
    found = ["### Targets", "", *targets(list(summary(figures)))]
    compared = [line for line in figures if line["part"] in (SCENARIOS, STAR, SPARK)]
    if compared:
        found += ["", "### Every variant", "", *_variants(compared)]
    batches = [line for line in figures if line["part"] == SIZES]
    if batches:
        found += ["", "### Batch sizes", "", *_sizes(batches)]
    return found


def _variants(figures: Sequence[Line]) -> list[str]:
    names = ("evaluations", "evaluations_share", "cpu_seconds", "cpu_over_auto", "cpu_share", "switches", "routes")
    heads = ("evaluations/row", "saved", "CPU, s", "/ auto", "saved in CPU", "switches", "routes", "routing")
    rows = [f"| scenario | seed | A/A | variant | {' | '.join(heads)} |", "|---|---:|---:|---|" + "---:|" * len(heads)]
    for line in figures:
        for variant, one in line["variants"].items():
            cells = [line["scenario"], str(line["seed"]), short(line["aa"]), variant]
            cells += [_cell(one.get(name)) for name in names] + [_percent(one.get("routing_share"))]
            rows.append(f"| {' | '.join(cells)} |")
    return rows


def _sizes(figures: Sequence[Line]) -> list[str]:
    """Return a row per cost and batch size: CPU time of a mesh over that of auto, and what would be possible."""
    rows = ["| ns per row | batch | seed | A/A | mesh / auto | routes | routing | clairvoyant / best single order |"]
    rows.append("|---:|---:|---:|---:|---:|---:|---:|---:|")
    for line in figures:
        mesh = line["variants"].get(MESH.name, {})
        cells = [f"{line['ns']:,.0f}", f"{line['batch_rows']:,}", str(line["seed"]), short(line["aa"])]
        cells += [_cell(mesh.get("cpu_over_auto")), _cell(mesh.get("routes")), _percent(mesh.get("routing_share"))]
        rows.append(f"| {' | '.join([*cells, short(line[f'{CLAIRVOYANT}_over_single'])])} |")
    return rows


def _cell(value: float | None) -> str:
    return "" if value is None else f"{value:,}" if isinstance(value, int) else short(value)


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.2f} %"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
