"""The traffic that four routers have in common, minute by minute: four streams joined by packet, then summed.

python examples/network-monitoring/run.py            # on a local Spark
python examples/network-monitoring/run.py --local    # in this process
"""

from __future__ import annotations

import random
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa

import thalweg as tw

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
from on_spark import file_stream, local_spark  # noqa: E402 - it lies beside the examples

BEGIN, MINUTES, PACKETS = datetime(2026, 3, 2, 12, 0, tzinfo=UTC), 30, 12_000
ROUTERS = ("r1", "r2", "r3", "r4")


def make_streams(seed: int = 7) -> dict[str, pa.Table]:
    """Packets on their way through the routers. Few pass r2, and of those that pass r1 and r2 few pass r4."""
    rng = random.Random(seed)
    seen: dict[str, list[dict[str, Any]]] = {router: [] for router in ROUTERS}
    for pid in range(PACKETS):
        first = BEGIN + timedelta(milliseconds=rng.randrange(MINUTES * 60_000))
        packet = {
            "pid": pid,
            "size": rng.choice((40, 576, 1500)),
            "dest": f"10.0.{rng.randrange(4)}.{rng.randrange(250)}",
        }
        passes = {"r1": rng.random() < 0.8, "r2": rng.random() < 0.2, "r3": rng.random() < 0.7}
        passes["r4"] = rng.random() < (0.3 if passes["r1"] and passes["r2"] else 0.8)
        for router in ROUTERS:
            if passes[router]:
                seen[router].append({"ts": first + timedelta(milliseconds=rng.randrange(90_000)), **packet})
    in_order = {router: sorted(rows, key=lambda row: row["ts"]) for router, rows in seen.items()}
    return {router: pa.Table.from_pylist(rows) for router, rows in in_order.items()}


def main(spark: Any = None) -> pa.Table:
    """Explain the query, run it, print what it found and what was counted."""
    s = tw.session(spark)
    with tempfile.TemporaryDirectory() as folder:
        for name, table in make_streams().items():
            data = table.to_batches(500) if spark is None else file_stream(spark, table, f"{folder}/{name}")
            s.stream(name, data, time="ts")
        q = s.query((HERE / "query.sql").read_text(encoding="utf-8"), name="common_traffic")
        print(q.explain())
        if spark is None:
            found = q.dataframe()
        else:
            h = q.start(path=f"{folder}/found", checkpoint=f"{folder}/checkpoint", trigger="availableNow")
            h.awaitTermination()
            found = spark.read.parquet(f"{folder}/found").toArrow()
    found = found.sort_by("window_start")
    print(f"\n{found.num_rows} minutes; the first:")
    for row in found.slice(0, 5).to_pylist():
        print(f"{row['window_start']:%H:%M}  packets {row['packets']}, bytes {row['bytes']:,}")
    print(f"\n{q.report()}")
    return found


if __name__ == "__main__":
    main(None if "--local" in sys.argv[1:] else local_spark())
