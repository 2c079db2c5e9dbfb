"""A join of ten streams in which the class of a row decides which of its probes finds a partner.

A row of the hub, stream a, has a key for each of the nine others, in whose windows every key occurs once. The shares of
rows that have a partner are .1, .2, ... .9; they are shifted by three places from each of three sectors to the next. A
mesh classifies rows of the hub by `a.sector`; rows of other streams probe the hub first, and have no class.

The possible saving is in probes of the hub's rows: in their best single order, minus in the best order of each sector.
The rows of other streams are the same in both. Probes are those of reports, with profiling. CPU time is that of the
whole join. Results must be those of DuckDB.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import thalweg as tw
from bench.joins.hindsight import outcomes
from bench.joins.ours import policy_trial
from bench.joins.peers import DuckDB
from bench.joins.streams import ALIASES, STAR_BATCH_ROWS, JoinScenario
from bench.mesh.contenders import AGAIN, AUTO, MESH, Contender
from bench.mesh.drawn import Codes, Seed, generator, named
from bench.rounds import Trial, Trials, Variant, demand, interleave, progress, ratio, ratios, seconds
from thalweg.cost.pipeline import best_order
from thalweg.plan.filters.pipeline import Pipeline

HUB, OTHERS = ALIASES[0], ALIASES[1:]
SECTORS, SHIFT = 3, 3
PARTNERS = tuple(n / 10 for n in range(1, 10))
ROWS, ROUNDS = 100_000, 3
"""The timed rows of each stream, so a million of all, and the rounds."""
WINDOWS = (10_000, 1_000_000)
QUICK_ROWS, QUICK_WINDOWS = 3_000, (500,)
FULL_FROM = 100_000
"""Windows larger than this are filled before the clock starts."""

Line = dict[str, Any]
Bits = NDArray[np.bool_]


def star(seed: Seed, rows: int, window: int) -> tuple[JoinScenario, Codes]:
    """Return the streams, and the sector of each row of the hub."""
    rng = generator(seed)
    filling = window if window > FULL_FROM else 0
    total = rows + filling
    at = np.arange(total)
    sector = rng.integers(0, SECTORS, total)
    shares = np.stack([np.roll(PARTNERS, SHIFT * n) for n in range(SECTORS)])[sector]
    matches = rng.random(shares.shape) < shares
    keys = np.where(matches, rng.integers(0, window, shares.shape), -1)
    hub = {f"k{a}": pa.array(keys[:, n]) for n, a in enumerate(OTHERS)}
    tables = {HUB: pa.table({"id": at, "ts": at, "sector": named(sector), **hub})}
    for a in OTHERS:
        tables[a] = pa.table({"id": at, "ts": at, f"k{a}": rng.permutation(window)[at % window]})
    on = " AND ".join(f"{HUB}.k{a} = {a}.k{a}" for a in OTHERS)
    # a batch as long as a window would find it half empty
    batch_rows = min(STAR_BATCH_ROWS, max(window // 10, 1))
    about = f"{window:,} rows in each window"
    return JoinScenario("star", tables, on, window - 1, batch_rows, filling, about), sector


def probes(scenario: JoinScenario, sector: Codes) -> tuple[int, int]:
    """Return the probes of the hub's rows in their best single order, and in the best order of each sector."""
    dropped, pipeline = outcomes(scenario)[HUB]
    asked = sector[len(sector) - len(dropped) :]  # the first rows do not probe while a window is empty
    return _least(dropped, pipeline), sum(_least(dropped[asked == n], pipeline) for n in range(SECTORS))


def _least(dropped: Bits, pipeline: Pipeline) -> int:
    return round(best_order(dropped, [1.0] * dropped.shape[1], pipeline=pipeline)[1] * len(dropped))


def stars(seed: int, rows: int = ROWS, rounds: int = ROUNDS, windows: tuple[int, ...] = WINDOWS) -> Iterator[Line]:
    """Yield the figures of each window. Raises WrongResultError if a result is not DuckDB's."""
    for window in windows:
        scenario, sector = star(seed, rows, window)
        progress(f"star, {scenario.about}: warming up, comparing results")
        expected = DuckDB(scenario).result()
        running = [one for one in (AUTO, AGAIN, MESH) if not one.missing_in(tw.join)]
        variants = [Variant(one.name, partial(_run, scenario, one)) for one in running]
        for variant in variants:
            demand(variant.name, variant.run(0).result, expected)
        trials = interleave(variants, rounds, expected, f"star, {scenario.about}")
        yield {"window": window, **star_figures(scenario, trials, probes(scenario, sector))}


def _run(scenario: JoinScenario, contender: Contender, seed: int) -> Trial:
    by = {"classify_by": [f"{HUB}.sector"]} if contender.classifies else {}
    return policy_trial(scenario, contender.policy, seed, **by, **contender.given)


def star_figures(scenario: JoinScenario, trials: Trials, known: tuple[int, int]) -> Line:
    """Return the figures of one window; `known`: the probes of the best single order and of the clairvoyant."""
    single, best = known
    rows = scenario.tables[HUB].num_rows
    spread = [max(value, 1 / value) for value in ratios(trials, AGAIN.name, AUTO.name)]
    found: dict[str, Line] = {}
    for name, runs in trials.items():
        done = statistics.median(trial.evaluated[HUB] + trial.profiled[HUB] for trial in runs)
        found[name] = {
            "evaluations": round(done / rows, 4), "evaluations_share": round((single - done) / (single - best), 4),
            "cpu_seconds": round(statistics.median(map(seconds, runs)), 4),
            "cpu_over_auto": round(ratio(trials, name, AUTO.name), 4),
        }  # fmt: skip
    return {
        "scenario": f"star, {scenario.about}", "rows": scenario.rows, "classify_by": [f"{HUB}.sector"],
        "rounds": len(spread), "aa": round(max(spread), 4), "single_evaluations": round(single / rows, 4),
        "clairvoyant_evaluations": round(best / rows, 4), "variants": found,
    }  # fmt: skip
