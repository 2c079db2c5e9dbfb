"""`python -m bench.generated.table RUN.jsonl ...`: print the Markdown tables of docs/benchmarks-generated.md from runs.

The files of several runs are summed up together: of other seeds, or other chains of a seed. All must be of one mode
(local, virtual or spark), and no chain may be in them twice.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.generated.compare import POLICIES
from bench.generated.on_spark import kinds as spark_kinds
from bench.generated.summary import RATIOS, summary

Line = dict[str, Any]
OVERALL = ("all", "common", "short", "moving")


def main(paths: Sequence[str]) -> int:
    """Print the tables of one or several files."""
    lines = read(paths)
    found = list(summary([line for line in lines if line["line"] in ("chain", "run")]))
    local = [*overall(found), "", *kinds(found), "", *others(found)] if found else []
    on_spark = list(spark_kinds([line for line in lines if line["line"] == "spark chain"]))
    print("\n".join([*local, *spark(on_spark)]))
    return 0


def read(paths: Sequence[str]) -> list[Line]:
    """Return the lines of files that may be combined; the program ends if they may not."""
    lines: list[Line] = []
    first: tuple[str, str] | None = None  # a mode and its file
    chains: dict[tuple[int, int], str] = {}
    for path in paths:
        for text in Path(path).read_text(encoding="utf-8").splitlines():
            line = json.loads(text)
            lines.append(line)
            if line["line"] == "error":
                sys.exit(f"{path}: the run ended with an error ({line['error']}); leave this file out")
            mode, file = first = first or (line["mode"], path)
            if line["mode"] != mode:
                sys.exit(f"{file} is of mode {mode}, {path} of mode {line['mode']}; make a table of each mode")
            if line["line"] in ("chain", "spark chain"):
                key = line["seed"], line["chain"]
                if key in chains:
                    sys.exit(f"chain {key[0]}/{key[1]} is in {chains[key]} and again in {path}; give each chain once")
                chains[key] = path
    return lines


def overall(lines: Sequence[Line]) -> Iterator[str]:
    """Each policy over all chains, those that every policy ran, the short ones, and those whose data moves."""
    yield "| chains | policy | n | stopped | " + " | ".join(f"{name}: mean, 95 %, worst" for name in RATIOS) + " |"
    yield "|---|---|---:|---:|" + "---:|" * len(RATIOS)
    for line in lines:
        if line["line"] == "summary" and line["group"] in OVERALL and line["policy"] in POLICIES:
            ratios = " | ".join(
                ", ".join(f"{line[name][key]:.2f}" for key in ("mean", "p95", "worst")) for name in RATIOS
            )
            yield f"| {line['kind']} | {line['policy']} | {line['chains']} | {line['stopped']} | {ratios} |"


def kinds(lines: Sequence[Line]) -> Iterator[str]:
    """The mean work of each policy in each kind of chain."""
    means: dict[tuple[str, str], dict[str, Line]] = {}
    for line in lines:
        if line["line"] == "summary" and line["group"] not in OVERALL and line["policy"] in POLICIES:
            means.setdefault((line["group"], line["kind"]), {})[line["policy"]] = line
    policies = [policy for policy in POLICIES if any(policy in found for found in means.values())]
    yield "| group | kind | n | " + " | ".join(policies) + " | auto over the best other |"
    yield "|---|---|---:|" + "---:|" * (len(policies) + 1)
    against = {(line["group"], line["kind"]): line for line in lines if line["line"] == "kind"}
    for key, found in means.items():
        cells = " | ".join(f"{found[p]['work']['mean']:.2f}" if p in found else "" for p in policies)
        chains = max(line["chains"] for line in found.values())
        other = against.get(key)
        last = "" if other is None else f"{other['auto_over_best_other']:.2f} ({other['best_other']})"
        yield f"| {key[0]} | {key[1]} | {chains} | {cells} | {f'**{last}**' if other and other['behind'] else last} |"


def others(lines: Sequence[Line]) -> Iterator[str]:
    """The chains in no group, the control, and the chains above the limit."""
    for line in lines:
        if line["line"] == "neither":
            members = ", ".join(f"{m['seed']}/{m['chain']} with {m['best_work_s']:.2f} s" for m in line["members"])
            which = f": {members}" if members else ""
            yield f"Chains in no group, neither short nor with a second of work: {line['chains']}{which}."
        if line["line"] == "control":
            least, _, middle, _, most = line["best_again_over_best_time"]
            yield f"The best order again over the best order, time: {least:.3f} to {most:.3f}, median {middle:.3f}."
    above = [line for line in lines if line["line"] == "above"]
    if above:
        yield from (
            "",
            "| chain | work | time | rows | batches of | written | what it is |",
            "|---|---:|---:|---:|---:|---:|---|",
        )
    for line in above:
        about = ", ".join(f"{name} {value}" for name, value in {**line["groups"], **line["about"]}.items())
        yield (
            f"| {line['seed']}/{line['chain']} | {line['work_ratio']:.2f} | {line['time_ratio']:.2f} "
            f"| {line['rows']:,} | {line['batch_rows']:,} | {line['written_ratio']:.1f} | {about} |"
        )


def spark(lines: Sequence[Line]) -> Iterator[str]:
    """Yield one row per kind on Spark: the speed-up of `auto`, and its time and work compared with the best order."""
    if not lines:
        return
    others = [name for name in lines[0]["over"] if name != "best"]
    yield ""
    head = " | ".join(
        f"{name}: mean, median, worst" for name in ("time over the best order", "work over the best order")
    )
    yield f"| kind | chains | {' | '.join(f'over {name}: median, worst' for name in others)} | {head} |"
    yield "|---|---:|" + "---:|" * (len(others) + 2)
    for line in lines:
        faster = " | ".join(
            f"{1 / line['over'][name]['median']:.1f} ×, {1 / line['over'][name]['worst']:.1f} ×" for name in others
        )
        best = " | ".join(
            ", ".join(f"{found[key]:.2f}" for key in ("mean", "median", "worst"))
            for found in (line["over"]["best"], line["work"])
        )
        name = line["kind"] if line["group"] in (*OVERALL, "every") else f"{line['group']}: {line['kind']}"
        yield f"| {name} | {line['chains']} | {faster} | {best} |"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m bench.generated.table", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("files", nargs="+", metavar="RUN.jsonl", help="the output of `python -m bench.generated`")
    sys.exit(main(parser.parse_args().files))
