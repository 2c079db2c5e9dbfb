"""Two queries over a packet trace: a selection, and a join of TCP, UDP and SYN/FIN packets by host.

python examples/packet-trace/run.py            # on a local Spark
python examples/packet-trace/run.py --local    # in this process
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

BEGIN, SECONDS, HOSTS = datetime(2026, 3, 2, 12, 0, tzinfo=UTC), 60, 100
PACKETS = {"tcp": 6_000, "udp": 1_500, "sf": 400}


def make_streams(seed: int = 7) -> dict[str, pa.Table]:
    """Packets between numbered hosts, the lower numbers more often, and in bursts."""
    rng = random.Random(seed)
    return {name: pa.Table.from_pylist(packets(rng, rows)) for name, rows in PACKETS.items()}


def packets(rng: random.Random, rows: int) -> list[dict[str, Any]]:
    """Of one protocol, in order of time."""
    gaps = [rng.paretovariate(1.5) for _ in range(rows)]
    scale, at, made = SECONDS / sum(gaps), 0.0, []
    for gap in gaps:
        at += gap * scale
        source, destination = (min(int(rng.expovariate(0.05)), HOSTS - 1) for _ in range(2))
        made.append({"ts": BEGIN + timedelta(seconds=at), "src_host": source, "dest_host": destination})
    return made


def main(spark: Any = None) -> list[pa.Table]:
    """Explain each query, run it, print what it found and what was counted."""
    s = tw.session(spark)
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for name, table in make_streams().items():
            data = table.to_batches(500) if spark is None else file_stream(spark, table, f"{folder}/{name}")
            s.stream(name, data, time="ts")
        for n, text in enumerate(queries()):
            q = s.query(text, name=f"trace_{n}")
            print(q.explain())
            if spark is None:
                results = q.dataframe()
            else:
                h = q.start(path=f"{folder}/found_{n}", checkpoint=f"{folder}/point_{n}", trigger="availableNow")
                h.awaitTermination()
                results = spark.read.parquet(f"{folder}/found_{n}").toArrow()
            results = results.sort_by([(name, "ascending") for name in results.column_names])
            print(f"\n{results.num_rows} results; the first:")
            for row in results.slice(0, 3).to_pylist():
                print(", ".join(f"{name} {value}" for name, value in row.items()))
            print(f"\n{q.report()}\n")
            found.append(results)
    return found


def queries() -> list[str]:
    """The queries in the file query.sql."""
    text = (HERE / "query.sql").read_text(encoding="utf-8")
    return [query for query in text.split(";") if query.strip()]


if __name__ == "__main__":
    main(None if "--local" in sys.argv[1:] else local_spark())
