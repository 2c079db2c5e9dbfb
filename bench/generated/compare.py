"""Run every policy and the best orders on one chain, and return their lines."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench.generated.best import Hindsight, hindsight
from bench.generated.outcome import Outcome
from bench.generated.spec import Chain, Order
from bench.generated.virtual import run_virtual

POLICIES = ("auto", "a-greedy", "sweep", "independent", "local-swaps", "velox-rank", "duckdb-swap")
MOST = 10.0
"""A run is stopped at this multiple of the best order's work, and counts as this multiple."""
LONG_NS = 1e9
BEST, AGAIN, BY_PHASE = "best", "best again", "best of each phase"

Run = Callable[[str, int, float, Sequence[Order] | None], Outcome]
"""A policy, a seed, the limit in ns, and orders to run instead of adapting: one, or one per phase."""


@dataclass(frozen=True)
class Compared:
    """The lines of a chain, and the time of its best order, the mean of two runs."""

    chain: dict[str, Any]
    runs: list[dict[str, Any]]
    best_time_ns: float


def compare(chain: Chain, policies: Sequence[str], run: Run, mode: str) -> Compared:
    """Run everything on a chain, in an order drawn from its seed."""
    known = hindsight(chain)
    policies = few(chain, policies) if chain.many else policies
    seed = chain.seed * 1000 + chain.number
    rng = np.random.default_rng([chain.seed, chain.number, 3])
    runs: dict[str, Callable[[], Outcome]] = {
        policy: lambda policy=policy: run(policy, seed, MOST * known.fixed_ns, None)  # type: ignore[misc]
        for policy in policies
    }
    runs[BEST] = lambda: run("static", seed, math.inf, (known.fixed_order,))
    runs[AGAIN] = lambda: run("static", seed + 1, math.inf, (known.fixed_order,))
    if len(chain.phases) > 1 and not chain.many:
        runs[BY_PHASE] = lambda: run("static", seed, math.inf, known.phase_orders)
    names = list(runs)
    found = {name: runs[name]() for name in (names[i] for i in rng.permutation(len(names)))}
    check_work(chain, known, found)
    time_ns = (found[BEST].time_ns + found[AGAIN].time_ns) / 2
    ordered = sorted(found, key=names_in_order)
    lines = [run_line(chain, known, name, found[name], time_ns, mode) for name in ordered]
    return Compared(_chain_line(chain, known, found, mode), lines, time_ns)


def check_work(chain: Chain, known: Hindsight, found: dict[str, Outcome]) -> None:
    """Check that the counted work of known orders equals the computed work; the two come from different code paths."""
    for name, computed in ((BEST, known.fixed_ns), (AGAIN, known.fixed_ns), (BY_PHASE, known.phase_ns)):
        if name in found and not math.isclose(found[name].work_ns, computed, rel_tol=1e-9):
            raise AssertionError(f"chain {chain.name}, {name}: counted {found[name].work_ns} ns, computed {computed}")


def few(chain: Chain, policies: Sequence[str]) -> list[str]:
    """Return `auto` and the best other policy, found on the virtual clock, because ten million rows take long.

    The limit is that of all runs: with a lower one, policies that reach it would tie, and the first would count as the
    best.
    """
    others = [policy for policy in policies if policy != "auto"]
    if len(others) > 1:
        known = hindsight(chain)
        limit = MOST * known.fixed_ns
        others = [min(others, key=lambda policy: run_virtual(chain, policy, 1, limit).work_ns)]
    return [policy for policy in policies if policy == "auto" or policy in others]


def _chain_line(chain: Chain, known: Hindsight, found: dict[str, Outcome], mode: str) -> dict[str, Any]:
    written = known.work_ns(tuple(range(len(chain.parts))))
    return {
        "bench": "generated",
        "line": "chain",
        "mode": mode,
        "seed": chain.seed,
        "chain": chain.number,
        "rows": chain.rows,
        "batch_rows": chain.batch_rows,
        "phases": len(chain.phases),
        "groups": chain.groups,
        "about": chain.about,
        "long": known.fixed_ns >= LONG_NS * chain.scale and not chain.short,
        "short": chain.short,
        "best_work_s": round(known.fixed_ns / 1e9, 4),
        "best_of_each_phase_work_s": round(known.phase_ns / 1e9, 4),
        "written_ratio": round(written / known.fixed_ns, 4),
        "best_order": [chain.parts[k].name for k in known.fixed_order],
        "best_is": "exact",
        "best_time_s": round(found[BEST].time_ns / 1e9, 4),
        "best_again_over_best_time": round(found[AGAIN].time_ns / found[BEST].time_ns, 4),
        "predicates": [
            {
                "name": p.name, "cost_ns": p.cost_ns, "fixed_ns": p.fixed_ns,
                "passes": round(float((chain.codes >> k & 1).mean()), 4), "vectorized": p.vectorized,
                "after": [chain.parts[g].name for g in p.after], "profile": p.profile, "condition": p.condition,
            }
            for k, p in enumerate(chain.parts)
        ],
    }  # fmt: skip


def run_line(
    chain: Chain, known: Hindsight, name: str, outcome: Outcome, best_time_ns: float, mode: str
) -> dict[str, Any]:
    """Return the line of one run."""
    counted = MOST * known.fixed_ns if outcome.stopped else outcome.work_ns
    return {
        "bench": "generated",
        "line": "run",
        "mode": mode,
        "seed": chain.seed,
        "chain": chain.number,
        "policy": name,
        "work_ratio": _ratio(counted / known.fixed_ns),
        "phase_ratio": _ratio(counted / known.phase_ns),
        "time_ratio": MOST if outcome.stopped else _ratio(outcome.time_ns / best_time_ns),
        "stopped": outcome.stopped,
        "work_s": round(outcome.work_ns / 1e9, 4),
        "time_s": round(outcome.time_ns / 1e9, 4),
        "profiling_s": round(outcome.profiled_ns / 1e9, 4),
        "reoptimizing_s": round(outcome.reoptimizing_ns / 1e9, 4),
        "trial_rows": outcome.trial_rows,
        "switches": outcome.switches,
        "last_order": list(outcome.order),
    }


def names_in_order(name: str) -> int:
    """Sort policies first, as listed, then the best orders."""
    order = (*POLICIES, "static", BEST, AGAIN, BY_PHASE)
    return order.index(name) if name in order else len(order)


def _ratio(value: float) -> float:
    """Return a ratio; below 1 counts as 1, and it is at most 10."""
    return round(min(max(value, 1.0), MOST), 4)
