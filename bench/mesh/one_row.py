"""What a decision for every single row costs: `classes` through an Eddy that routes a row at a time.

A row costs a call and a decision per filter that it visits, more than 100 us in all, so there are few rows. `auto` and
the Eddy with 100 rows per decision run beside it for scale. So few rows say little about evaluations: nothing has been
learned in most of them.
"""

from __future__ import annotations

import statistics
import time
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import thalweg as tw
from bench.mesh.classed import Classed
from bench.mesh.contenders import AUTO, EDDY, EDDY_ONE_ROW, Contender
from bench.mesh.counted import counting, counts_of
from bench.mesh.drawn import classes
from bench.mesh.measured import Batches, batches_of
from bench.rounds import Trial, Variant, interleave, seconds
from bench.scenario import BATCH_ROWS
from thalweg.kernels.filter_chain import FilterChain
from thalweg.plan import FilterPlan
from thalweg.runtime.filters.filter_loop import LoopOptions, make_filter_loop

ROWS, ROUNDS, QUICK_ROWS = 4_000, 3, 400
CONTENDERS = (AUTO, EDDY, EDDY_ONE_ROW)

Line = dict[str, Any]


def one_row(seed: int, steps: float, rows: int = ROWS, rounds: int = ROUNDS) -> Line:
    """Return by contender evaluations, decisions, CPU time and the elapsed time of routing per row: the medians of the
    rounds."""
    classed = classes(rows, steps, seed)
    batches = batches_of(classed, BATCH_ROWS)
    variants = [
        Variant(one.name, partial(run_loop, classed, one, batches)) for one in CONTENDERS if not one.missing
    ]  # fmt: skip
    for variant in variants:
        variant.run(0)  # loads compiled functions
    trials = interleave(variants, rounds, classed.scenario.expected, "one-row")
    return {
        "scenario": classed.name, "rows": rows, "rounds": rounds,
        "variants": {name: _figures(found, rows) for name, found in trials.items()},
    }  # fmt: skip


def run_loop(classed: Classed, contender: Contender, batches: Batches, seed: int) -> Trial:
    """Run one policy over all batches. Filters do not report decisions, so this is the loop inside of them."""
    checks = counting(classed.scenario.checks)
    assert checks is not None, "predicates of drawn scenarios take arrays"
    plan = FilterPlan.of(tuple(check.predicate() for check in checks))
    chain = FilterChain(plan, time.perf_counter_ns, cpu_clock=time.thread_time_ns)
    options = LoopOptions(contender.policy, tw.policy(contender.policy, **contender.given).settings)
    loop = make_filter_loop(chain, options, np.random.default_rng(seed))
    kept, ids = 0, 0
    wall, cpu = time.perf_counter(), time.process_time()
    for batch in (batch for phase in batches for batch in phase):
        passed = batch.filter(pa.array(loop.process(batch.select(list(plan.columns)))))
        kept += passed.num_rows
        ids += pc.sum(passed.column("id"), min_count=0).as_py()
    spent = time.perf_counter() - wall, time.process_time() - cpu
    work = loop.take_work()
    counts = {"decisions": work.decisions, "routing_ns": work.routing_ns}
    return Trial(*spent, (kept, ids), counts_of(checks), counts=counts)


def _figures(trials: list[Trial], rows: int) -> Line:
    def per_row(values: list[float]) -> float:
        return statistics.median(values) / rows

    return {
        "evaluations": round(per_row([sum(trial.evaluated.values()) for trial in trials]), 4),
        "decisions": round(per_row([trial.counts["decisions"] for trial in trials]), 4),
        "us_per_row": round(1e6 * per_row([seconds(trial) for trial in trials]), 2),
        "routing_us_per_row": round(1e-3 * per_row([trial.counts["routing_ns"] for trial in trials]), 2),
    }
