"""A join of streams of files, a file of each a micro-batch, into files: started again from its checkpoint until it is
through.

    python join_to_the_end.py FOLDER [KEY=VALUE of Spark's configuration ...]

prints the results, as its sink holds them, when it gets that far.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.runtime.spark.deployments.one_join import SETTINGS, found, join, start
from tests.runtime.spark.deployments.one_query import session


def main(folder: Path, *settings: str) -> None:
    spark = session("local[2]", SETTINGS | dict(setting.split("=", 1) for setting in settings))
    query = start(spark, folder, join(events=folder / "events.jsonl"))
    assert query.awaitTermination(150), "the stream did not end"
    print(json.dumps(found(spark, folder)))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
