"""What `bench.joins.spark.checkouts` measures, in a process with the package of one checkout and its own Spark: see
`bench.checkout_process`."""

from __future__ import annotations

import statistics
import sys
import tempfile
from functools import partial
from pathlib import Path

from bench.checkout_process import Answer, serve
from bench.joins.spark.expected import demand, expected
from bench.joins.spark.ours import IN_ROCKSDB, ours_to_files
from bench.joins.spark.parquet_run import run_to_files
from bench.joins.spark.scenario import chain, star, three_way
from bench.joins.spark.stream_files import StreamFiles
from bench.spark_session import session

MAKE = {"three-way-files": three_way, "star-files": star, "chain-files": chain}


def main() -> int:
    """Answer requests: each is a scenario, whose results the tasks of our join write."""
    with session({"spark.driver.memory": "4g"}) as spark:

        def answered(asked: Answer) -> Answer:
            name = asked["scenario"]
            with tempfile.TemporaryDirectory(prefix="thalweg-bench-") as text:
                folder = Path(text)
                files = StreamFiles(MAKE[name](asked["rows"], name, asked["seed"]), asked["batches"], folder / "in")
                events, place, out = folder / "events.jsonl", folder / "checkpoint", folder / "out"
                start = partial(ours_to_files, "tasks", spark, files, events, place)
                batches = run_to_files(spark, start, IN_ROCKSDB, place, out, files.scenario.aliases)
                demand(name, batches, expected(files))
                records = events.read_bytes().splitlines()
            return {
                "ms": [batch.ms for batch in batches], "cpu_ms": [batch.cpu_ms for batch in batches],
                "record_bytes": round(statistics.mean(map(len, records))),
            }  # fmt: skip

        return serve(answered)


if __name__ == "__main__":
    sys.exit(main())
