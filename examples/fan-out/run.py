"""Requests to servers that had a login from a reported address: a join in which keeping a sub-join pays.

python examples/fan-out/run.py            # on a local Spark
python examples/fan-out/run.py --local    # in this process
"""

from __future__ import annotations

import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import thalweg as tw

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
from on_spark import file_stream, local_spark  # noqa: E402 - it lies beside the examples

BEGIN, SECONDS = datetime(2026, 3, 2, 12, 0, tzinfo=UTC), 200
ROWS = {"requests": 100_000, "logins": 20_000, "reports": 2_000}
SERVERS, ADDRESSES = 100, 60_000
RATES = {name: rows / SECONDS for name, rows in ROWS.items()}
PARTNERS = {  # in windows of 60 seconds: of a row of the first stream in the second, and the reverse
    "q.server = l.server": (60 * RATES["logins"] / SERVERS, 60 * RATES["requests"] / SERVERS),
    "l.address = r.address": (60 * RATES["reports"] / ADDRESSES, 60 * RATES["logins"] / ADDRESSES),
}
WAYS: dict[str, dict[str, Any]] = {
    "multiway, pinned": {"plan": "multiway"},
    "chosen from statistics": {"statistics": {"partners": PARTNERS}},
    "nothing declared": {},
}


def make_streams(seed: int = 7) -> dict[str, pa.Table]:
    """Requests and logins at servers, and reports of addresses. A request finds 60 logins, few of them reported."""
    rng = np.random.default_rng(seed)
    of_server = {
        name: {"server": rng.integers(0, SERVERS, ROWS[name]), "ts": times(rng, ROWS[name])}
        for name in ("requests", "logins")
    }
    return {
        "requests": pa.table({**of_server["requests"], "url": rng.integers(0, 1_000, ROWS["requests"])}),
        "logins": pa.table({**of_server["logins"], "address": rng.integers(0, ADDRESSES, ROWS["logins"])}),
        "reports": pa.table({
            "ts": times(rng, ROWS["reports"]), "address": rng.integers(0, ADDRESSES, ROWS["reports"]),
        }),
    }  # fmt: skip


def times(rng: np.random.Generator, rows: int) -> pa.Array:
    """Times in order, spread evenly at random."""
    micros = int(BEGIN.timestamp() * 1e6) + np.sort(rng.integers(0, SECONDS * 1_000_000, rows))
    return pa.array(micros, pa.timestamp("us", "UTC"))


def main(spark: Any = None) -> dict[str, pa.Table]:
    """Run the query in three ways. Print how the plans compare, what each way found and took, and why plans changed."""
    made, found = make_streams(), {}
    for way, settings in WAYS.items():
        s = tw.session(spark)
        with tempfile.TemporaryDirectory() as folder:
            for name, table in made.items():
                data = table.to_batches(2_000) if spark is None else file_stream(spark, table, f"{folder}/{name}")
                known = {"rows_per_second": RATES[name]} if "statistics" in settings else None
                s.stream(name, data, time="ts", statistics=known)
            q = s.query((HERE / "query.sql").read_text(encoding="utf-8"), name="suspicious", seed=1, **settings)
            if "statistics" in settings:
                print(compared(q.explain()))
            if spark is None:
                q.dataframe()  # loads the compiled loops, so that all ways are timed alike
                began = time.process_time()
                results = q.dataframe()
                took = f"{time.process_time() - began:.2f} s of CPU time"
            else:
                began = time.monotonic()
                h = q.start(path=f"{folder}/found", checkpoint=f"{folder}/checkpoint", trigger="availableNow")
                h.awaitTermination()
                took = f"{time.monotonic() - began:.2f} s, with the start of the query"
                results = spark.read.parquet(f"{folder}/found").toArrow()
        found[way] = results.sort_by([(name, "ascending") for name in results.column_names])
        print(f"\n{way}: {results.num_rows:,} results\n  {took}")
        print("\n".join(f"  {line}" for line in changes(q.report())))
    assert all(results.equals(found["multiway, pinned"]) for results in found.values()), "plans never change results"
    return found


def compared(explanation: tw.Explanation) -> str:
    """The paragraph of an explanation that compares the plans."""
    (paragraph,) = (each for each in explanation.paragraphs if each.title.startswith("Plans compared"))
    return str(paragraph)


def changes(report: Any) -> list[str]:
    """The changes of the plan in the last run, with their reasons."""
    plan = report.to_dict()["parts"]["join"]["sections"][-1].get("plan")
    if plan is None:
        return ["the plan is pinned, so it never changes"]
    made = [f"{each['before']} changed to {each['after']}: {each['reason']}" for each in plan["latest_changes"]]
    return made or [f"the plan was {plan['plan']} from the beginning to the end"]


if __name__ == "__main__":
    main(None if "--local" in sys.argv[1:] else local_spark())
