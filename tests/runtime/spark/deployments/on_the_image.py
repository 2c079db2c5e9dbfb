"""What a cluster whose workers have Thalweg installed is asked, in one application: the one query, filters that lose
workers and an executor, and a join that does.

    spark-submit on_the_image.py FOLDER few|all

prints one JSON object with what each reported; their files are in FOLDER/query/in, FOLDER/lost/in, FOLDER/join/in and,
for all, FOLDER/join-by-spark/in.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.runtime.spark.deployments import lost_join_workers, lost_workers, one_query
from tests.runtime.spark.deployments.one_join import SETTINGS
from thalweg.runtime.spark.sink.shared_folder import not_shared


def main(folder: Path, which: str) -> None:
    spark = one_query.session("", SETTINGS)
    query = one_query.run(spark, folder / "query")  # first: nothing has been killed
    lost = lost_workers.run(spark, folder / "lost", *(lost_workers.FEW if which == "few" else ()))
    join = lost_join_workers.run(spark, folder / "join", which, by_tasks=True)
    by_spark = lost_join_workers.run(spark, folder / "join-by-spark", which) if which == "all" else None
    # each process has its own folder there
    unshared = not_shared(spark, "/proc/self/cwd/thalweg-unshared")
    print(json.dumps({"query": query, "lost": lost, "join": join, "by_spark": by_spark, "unshared": unshared}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
