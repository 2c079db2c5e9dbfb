"""What `bench.checkouts` measures, in a process with the package of one checkout: see `bench.checkout_process`."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

import thalweg as tw
from bench.checkout_process import Answer, serve
from bench.joins.ours import joined
from bench.joins.streams import JoinScenario, three_way
from bench.rounds import demand
from bench.scenario import BATCH_ROWS, Scenario
from bench.scenarios import calm, paper_cheap_first, paper_expensive_first
from bench.sql.queries import QUERIES, registered

FILTERED = {
    "calm": (calm, 400_000),
    "paper-expensive-first": (paper_expensive_first, 600_000),
    "paper-cheap-first": (paper_cheap_first, 400_000),
}
"""The scenarios of filters and their rows."""
JOINED: dict[str, Callable[[int], JoinScenario]] = {
    "three-way": three_way,
    "three-way-text": partial(three_way, text=True),
    "three-way-dense": partial(three_way, dense=True),
}
JOINED_ROWS = 300_000
"""Of each stream."""
RATES = {"a": 20_000, "b": 3_000, "c": 300}
PARTNERS = {"a.k = b.k": (30, None), "b.m = c.m": (0.01, None)}
_queried = cache(registered)


@cache
def _declared() -> tw.Session:
    session, rows = tw.session(), pa.schema({"ts": pa.timestamp("us"), "k": pa.int64(), "m": pa.int64()}).empty_table()
    for name, rate in RATES.items():
        session.stream(name, rows, time="ts", statistics={"rows_per_second": rate})
    return session


PLANNED: dict[str, Callable[[], Any]] = {
    **{name: partial(lambda text: _queried().query(text), text) for name, text in QUERIES.items()},
    "declared statistics": lambda: _declared().query(
        "SELECT a.k AS k FROM a, b, c WHERE a.k = b.k AND b.m = c.m WINDOW 10 SECONDS",
        statistics={"partners": PARTNERS},
    ),
}
"""The queries that are planned."""
EXPLAINED: dict[str, Callable[[], Any]] = {
    **PLANNED,
    "a join": lambda: tw.join(
        on="a.k = b.k AND b.m = c.m", window="10 seconds", time="ts",
        statistics={"partners": PARTNERS, **{name: {"rows_per_second": rate} for name, rate in RATES.items()}},
    ),
    "filters": lambda: tw.filters(
        *(tw.predicate(str.isdigit, "code", name=f"p{n}", after=[f"p{n - 1}"] if n % 2 else []) for n in range(8))
    ),
}  # fmt: skip
"""What is explained, after it was made."""
IMPORT = """
import sys, time
before, began = len(sys.modules), time.process_time()
import thalweg
print(time.process_time() - began, len(sys.modules) - before)
"""


def main() -> int:
    """Answer requests: each names one of these functions, and has its arguments."""
    pa.set_cpu_count(1)
    work: dict[str, Callable[..., Answer]] = {
        "filters": filters, "joins": joins, "planning": planning, "explain": explain, "import": imported,
    }  # fmt: skip
    return serve(lambda asked: work[asked["part"]](**asked["of"]))


def filters(name: str, policy: str, rows: int | None, steps: float, seed: int) -> Answer:
    """Filter the rows of a scenario."""
    scenario, batches = _filtered(name, rows, steps)
    keep = tw.filters(*(check.predicate() for check in scenario.checks), policy=policy, seed=seed)
    kept, ids, began = 0, 0, time.process_time()
    for batch in keep.over(batches):
        kept += batch.num_rows
        ids += pc.sum(batch.column("id"), min_count=0).as_py()
    spent = time.process_time() - began
    demand(name, (kept, ids), scenario.expected)
    return {"cpu_seconds": spent}


def joins(name: str, policy: str, rows: int, seed: int, expected: Sequence[int]) -> Answer:
    """Join the streams of a scenario."""
    _, took = joined(_joined(name, rows), policy, seed)
    demand(name, took.checksum.result, (expected[0], expected[1]))
    return {"cpu_seconds": took.cpu}


def planning(name: str, times: int) -> Answer:
    """Plan a query, from its text."""
    began = time.process_time()
    for _ in range(times):
        PLANNED[name]()
    return {"cpu_seconds": time.process_time() - began}


def explain(name: str, times: int) -> Answer:
    """Explain a query, a join or filters, and print it."""
    asked = _explained(name)
    began = time.process_time()
    for _ in range(times):
        str(asked.explain())
    return {"cpu_seconds": time.process_time() - began}


def imported(times: int) -> Answer:
    """Import the package in so many new processes. `modules`: how many it loads, with those of other packages."""
    runs = [
        subprocess.run([sys.executable, "-c", IMPORT], check=True, capture_output=True, text=True).stdout.split()
        for _ in range(times)
    ]
    return {"cpu_seconds": statistics.median(float(spent) for spent, _ in runs), "modules": int(runs[0][1])}


@cache
def _filtered(name: str, rows: int | None, steps: float) -> tuple[Scenario, list[pa.RecordBatch]]:
    make, usual = FILTERED[name]
    scenario = make(rows or usual, steps)
    return scenario, scenario.table.to_batches(max_chunksize=BATCH_ROWS)


@cache
def _joined(name: str, rows: int) -> JoinScenario:
    return JOINED[name](rows)


@cache
def _explained(name: str) -> Any:
    return EXPLAINED[name]()


if __name__ == "__main__":
    sys.exit(main())
