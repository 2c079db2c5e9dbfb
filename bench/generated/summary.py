"""The results of all chains: the geometric mean, the 95th percentile and the worst per policy and kind of chain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from bench.generated.compare import POLICIES, names_in_order
from bench.generated.spec import GROUPS

Line = dict[str, Any]
Key = tuple[int, int]
"""A seed and the number of a chain."""
KIND_CHAINS = 10
"""The least number of chains of a group that is compared; fewer are not meaningful."""
BEHIND = 1.03
"""The largest allowed ratio of `auto` to the best other policy in a kind."""
LISTED = 1.5
"""Chains on which `auto` is above this are listed one by one."""
RATIOS = {"work": "work_ratio", "work over the best of each phase": "phase_ratio", "time": "time_ratio"}


def summary(lines: Sequence[Line]) -> Iterator[Line]:
    """Return the summary of the lines of chains and runs, all of one mode."""
    chains = {(line["seed"], line["chain"]): line for line in lines if line["line"] == "chain"}
    runs = [line for line in lines if line["line"] == "run"]
    mode = next(iter(chains.values()))["mode"] if chains else ""
    for group, kind, members in groups(chains):
        yield from _kind(group, kind, members, runs, mode)
        if group == "all":
            yield from _kind("common", f"{kind}, run by every policy", common(members, runs), runs, mode)
    spread = [chain["best_again_over_best_time"] for chain in chains.values()]
    if spread:
        yield _in_neither(chains, mode)
        yield {
            "bench": "generated", "line": "control", "mode": mode, "chains": len(spread),
            "best_again_over_best_time": [round(float(np.quantile(spread, q)), 4) for q in (0.0, 0.05, 0.5, 0.95, 1.0)],
            "quantiles": [0.0, 0.05, 0.5, 0.95, 1.0],
        }  # fmt: skip
    for line in runs:
        if line["policy"] == "auto" and line["work_ratio"] > LISTED:
            chain = chains[line["seed"], line["chain"]]
            yield {
                "bench": "generated", "line": "above", "mode": mode, "limit": LISTED,
                **{key: line[key] for key in ("seed", "chain", "work_ratio", "time_ratio", "stopped", "switches")},
                **{key: chain[key] for key in ("groups", "about", "short", "rows", "batch_rows", "written_ratio")},
            }  # fmt: skip


def groups(chains: dict[Key, Line]) -> Iterator[tuple[str, str, set[Key]]]:
    """Each group and its chains: all long ones, the short ones, and the long ones by kind."""
    long = {key for key, chain in chains.items() if chain["long"]}
    yield "all", "at least a second of work", long
    yield "short", "less than a second of work", {key for key, chain in chains.items() if chain["short"]}
    moving = {key for key in long if chains[key]["groups"]["drift"] != "still"}
    yield "moving", "jump, slide or return", moving
    for group in GROUPS:
        for kind in sorted({chains[key]["groups"][group] for key in long}):
            yield group, kind, {key for key in long if chains[key]["groups"][group] == kind}


def common(members: set[Key], runs: Sequence[Line]) -> set[Key]:
    """Of these chains, those that every policy ran. Chains of ten million rows are run by few, so only over these do
    means and percentiles of different policies compare."""
    ran: dict[str, set[Key]] = {}
    for line in runs:
        if line["policy"] in POLICIES:
            ran.setdefault(line["policy"], set()).add((line["seed"], line["chain"]))
    return members.intersection(*ran.values())


def _in_neither(chains: dict[Key, Line], mode: str) -> Line:
    """The chains in no group: not drawn as short, but no costs were found that give them a second of work."""
    found = [line for _, line in sorted(chains.items()) if not (line["long"] or line["short"])]
    return {
        "bench": "generated", "line": "neither", "mode": mode, "chains": len(found),
        "members": [{key: line[key] for key in ("seed", "chain", "best_work_s")} for line in found],
    }  # fmt: skip


def _kind(group: str, kind: str, members: set[Key], runs: Sequence[Line], mode: str) -> Iterator[Line]:
    mine = [line for line in runs if (line["seed"], line["chain"]) in members]
    means: dict[str, float] = {}
    for policy in sorted({line["policy"] for line in mine}, key=names_in_order):
        here = [line for line in mine if line["policy"] == policy]
        found = {name: _spread([line[key] for line in here]) for name, key in RATIOS.items()}
        means[policy] = found["work"]["mean"]
        yield {
            "bench": "generated", "line": "summary", "mode": mode, "group": group, "kind": kind, "policy": policy,
            "chains": len(here), "stopped": sum(line["stopped"] for line in here), **found,
        }  # fmt: skip
    if "auto" in means:
        yield from _against(group, kind, mine, mode)


def _against(group: str, kind: str, runs: Sequence[Line], mode: str) -> Iterator[Line]:
    """`auto` against the best other policy, each over the chains that both ran."""
    auto = {(line["seed"], line["chain"]): line["work_ratio"] for line in runs if line["policy"] == "auto"}
    best: tuple[float, str] | None = None
    for policy in POLICIES[1:]:
        theirs = {(line["seed"], line["chain"]): line["work_ratio"] for line in runs if line["policy"] == policy}
        both = sorted(theirs.keys() & auto.keys())
        if len(both) < max(1, len(auto) // 2):
            continue
        behind = float(np.exp(np.mean([np.log(auto[key] / theirs[key]) for key in both])))
        if best is None or behind > best[0]:
            best = behind, policy
    if best is not None:
        yield {
            "bench": "generated", "line": "kind", "mode": mode, "group": group, "kind": kind, "chains": len(auto),
            "best_other": best[1], "auto_over_best_other": round(best[0], 4),
            "behind": bool(len(auto) >= KIND_CHAINS and best[0] > BEHIND),
        }  # fmt: skip


def _spread(ratios: Sequence[float]) -> dict[str, float]:
    return {
        "mean": round(float(np.exp(np.mean(np.log(ratios)))), 4),
        "p95": round(float(np.quantile(ratios, 0.95)), 4),
        "worst": round(max(ratios), 4),
    }
