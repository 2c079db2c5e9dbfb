"""Runs in this process through the public API: predicates spend real time, and CPU time is measured."""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

import thalweg as tw
from bench.generated.burning import Speed, burning
from bench.generated.ledger import Ledger, Stopped
from bench.generated.outcome import Outcome, WrongRowsError
from bench.generated.spec import Chain, Order, as_written


def run_orders(chain: Chain, speed: Speed, orders: Sequence[Order], seed: int) -> Outcome:
    """Run one order for all rows, or one per phase, in the same loop."""
    if len(orders) == 1:
        return run_local(as_written(chain, orders[0]), speed, "static", seed)
    parts = [
        run_local(as_written(chain.only(number), order), speed, "static", seed) for number, order in enumerate(orders)
    ]
    return Outcome(sum(part.work_ns for part in parts), sum(part.time_ns for part in parts), False)


def run_local(chain: Chain, speed: Speed, policy: str, seed: int, limit_ns: float = math.inf) -> Outcome:
    """Run a policy on all rows of a chain."""
    ledger = Ledger(chain, limit_ns)
    filters = tw.filters(*burning(chain, speed, ledger), policy=policy, seed=seed)
    batches = chain.batches  # made before anything is timed
    kept: list[pa.Array] = []
    stopped = False
    gc.collect()
    begun = time.process_time_ns()
    try:
        kept.extend(batch.column("id") for batch in filters.over(_feed(batches, ledger)))
        ledger.settle()
    except Stopped:
        stopped = True
    spent = time.process_time_ns() - begun
    if not stopped and not np.array_equal(pa.chunked_array(kept, pa.int64()).to_numpy(), chain.kept):
        raise WrongRowsError(chain, policy)
    work = ledger.limit_ns if stopped else ledger.work_ns()
    sections = filters.report().sections
    if not sections:  # stopped within the first batch
        return Outcome(work, float(spent), stopped)
    section = sections[0]
    return Outcome(
        work_ns=work,
        time_ns=float(spent),
        stopped=stopped,
        profiled_ns=float(section.times.profiling_ns),
        reoptimizing_ns=float(section.times.reoptimizing_ns),
        trial_rows=section.trials.rows,
        switches=section.switch_count,
        order=section.order,
    )


def _feed(batches: list[tuple[int, pa.RecordBatch]], ledger: Ledger) -> Iterator[pa.RecordBatch]:
    for phase, batch in batches:
        ledger.begin(phase)
        yield batch
