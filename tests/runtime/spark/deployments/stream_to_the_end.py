"""A stream of files, one a micro-batch, filtered into files: started again from its checkpoint until it is through.

    python stream_to_the_end.py FOLDER [KEY=VALUE of Spark's configuration ...]

prints the ids that came out, as its sink holds them, when it gets that far.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.runtime.spark.deployments.one_query import SCHEMA, chain, ids, session


def main(folder: Path, *settings: str) -> None:
    spark = session("local[2]", dict(setting.split("=", 1) for setting in settings))
    keep = chain(str(folder / "places"), policy="local-swaps(p=0.3, profile_window=30)", events=folder / "events.jsonl")
    stream = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(folder / "in"))
    sink = stream.transform(keep).writeStream.option("checkpointLocation", str(folder / "checkpoint"))
    query = sink.option("path", str(folder / "out")).trigger(availableNow=True).start()
    assert query.awaitTermination(120), "the stream did not end"
    print(json.dumps(ids(spark.read.schema(SCHEMA).parquet(str(folder / "out")))))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
