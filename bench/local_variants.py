"""The variants in this process, with one thread: policies over Arrow batches, hindsight, and DuckDB for comparison.

Hindsight is the policy `static` with the predicates in the best order of each phase, in slices of whole batches: the
same loop without anything to learn. It runs twice under two names, as the A/A control.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from bench.policies import KNOWN, Setting
from bench.rounds import Trial, Variant
from bench.scenario import Order, Scenario

if TYPE_CHECKING:
    import duckdb

    import thalweg as tw

HINDSIGHT, AGAIN = "hindsight", "hindsight again"
DUCKDB_BAD, DUCKDB_BEST = "duckdb, bad order", "duckdb, best order"


def variants(scenario: Scenario, ours: Sequence[Setting], others: Sequence[Setting]) -> list[Variant]:
    """Return all variants that run in this process; DuckDB only if all predicates have SQL."""
    batches = [scenario.batches(phase) for phase in scenario.phases]
    whole = list(chain.from_iterable(batches))
    best = scenario.best_orders

    def hindsight(number: int) -> Trial:
        filters = [KNOWN.filters(tuple(scenario.checks[k] for k in order), number) for order in best]
        return timed(list(zip(filters, batches, strict=True)))

    def policy(setting: Setting) -> Callable[[int], Trial]:
        return lambda number: timed([(setting.filters(scenario.checks, number), whole)])

    found = [Variant(HINDSIGHT, hindsight, KNOWN.settings), Variant(AGAIN, hindsight, KNOWN.settings)]
    found += [Variant(s.name, policy(s), s.settings, ours=True) for s in ours]
    found += [Variant(s.name, policy(s), s.settings) for s in others]
    if len(scenario.checks) > 1 and all(check.sql is not None for check in scenario.checks):
        found += duckdb_variants(scenario)
    return found


def timed(parts: list[tuple[tw.Filters, list[pa.RecordBatch]]]) -> Trial:
    """Filter the batches and time it; rows that pass are counted and discarded."""
    kept, ids = 0, 0
    wall, cpu = time.perf_counter(), time.process_time()
    for filters, batches in parts:
        for batch in filters.over(batches):
            kept += batch.num_rows
            ids += pc.sum(batch.column("id"), min_count=0).as_py()
    spent = time.perf_counter() - wall, time.process_time() - cpu
    evaluated, profiled = counts(filters for filters, _ in parts)
    return Trial(*spent, (kept, ids), evaluated, profiled)


def counts(filters: Iterable[tw.Filters]) -> tuple[dict[str, int], dict[str, int]]:
    """Return evaluations per predicate, of ordinary work and of profiling, over all sections of all reports."""
    evaluated: Counter[str] = Counter()
    profiled: Counter[str] = Counter()
    for one in filters:
        for section in one.report().sections:
            evaluated.update({each.name: each.evaluated for each in section.predicates})
            profiled.update({each.name: each.profiled for each in section.predicates})
    return dict(evaluated), dict(profiled)


def duckdb_variants(scenario: Scenario) -> list[Variant]:
    """Return the variants of DuckDB, on its own table in memory, with one thread and its default reordering."""
    import duckdb

    connection = duckdb.connect(":memory:", config={"threads": 1})
    connection.register("arrow_rows", scenario.table)
    connection.execute("CREATE TABLE lines AS SELECT * FROM arrow_rows")
    connection.unregister("arrow_rows")
    (best,) = scenario.best_orders

    def asks(order: Order) -> Callable[[int], Trial]:
        return lambda number: ask(connection, scenario, order)

    return [
        Variant(DUCKDB_BAD, asks(scenario.written), {"engine": "duckdb"}),
        Variant(DUCKDB_BEST, asks(best), {"engine": "duckdb"}),
    ]


def ask(connection: duckdb.DuckDBPyConnection, scenario: Scenario, order: Order) -> Trial:
    """Count the rows that pass, which needs every predicate; then, untimed, sum their ids for comparison."""
    where = " AND ".join(f"({scenario.checks[k].sql})" for k in order)
    wall, cpu = time.perf_counter(), time.process_time()
    connection.execute(f"SELECT count(*) FROM lines WHERE {where}").fetchone()
    spent = time.perf_counter() - wall, time.process_time() - cpu
    kept, ids = connection.execute(f"SELECT count(*), sum(id) FROM lines WHERE {where}").fetchone() or (0, 0)
    return Trial(*spent, (kept, int(ids or 0)))
