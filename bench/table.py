"""`python -m bench.table RUN.jsonl ...`: print the Markdown tables of docs/benchmarks.md from benchmark runs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from bench.page import Line

AGAINST = ("plain", "nondeterministic", "fused", "hindsight")


def main(paths: Sequence[str]) -> int:
    """Print the tables of one or several files."""
    lines = [json.loads(text) for path in paths for text in Path(path).read_text(encoding="utf-8").splitlines()]
    print("\n".join([*targets(lines), "", *variants(lines)]))
    return 0


def targets(lines: Iterable[Line]) -> list[str]:
    """Return a table with each target, what was measured, and with which policy."""
    rows = ["| scenario | where | target | reached | measured | limit | best of ours | a-greedy, defaults |"]
    rows.append("|---|---|---|---|---:|---:|---|---:|")
    for line in lines:
        if "target" in line:
            usual = line.get("a_greedy_with_defaults")
            rows.append(
                f"| {line['scenario']} | {line['where']} | {line['target']} | {'yes' if line['reached'] else '**no**'} "
                f"| {short(line['value'])} | {short(line['limit'])} | {line['policy']} "
                f"| {'' if usual is None else short(usual)} |"
            )
    return rows


def variants(lines: Iterable[Line]) -> list[str]:
    """Return a table with the time of each variant, and its ratios to the variants that it is compared with."""
    rows = [
        "| scenario | where | variant | seconds | " + " | ".join(f"/ {name}" for name in AGAINST) + " | units/row |"
    ]
    rows.append("|---|---|---|---:|" + "---:|" * (len(AGAINST) + 1))
    for line in lines:
        if "variant" in line:
            ratios = (line["ratio_to"].get(name) for name in AGAINST)
            cells = " | ".join("" if value is None else short(value) for value in ratios)
            rows.append(
                f"| {line['scenario']} | {line['where']} | {line['variant']} | {line['seconds_median']:.2f} | {cells} "
                f"| {line['cost_weighted_units_per_row']:.2f} |"
            )
    return rows


def short(value: float) -> str:
    """Return a number in a short, readable form.

    >>> short(1_234_567.8), short(0.98765)
    ('1,234,568', '0.99')
    """
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.2f}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
