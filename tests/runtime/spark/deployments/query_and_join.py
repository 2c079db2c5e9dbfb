"""The one query, the one join and those in SQL in one session, and more over Connect: a start of Spark takes longer.

    python query_and_join.py FOLDER [MASTER, or remote:ADDRESS for Spark Connect [KEY=VALUE for Spark ...]]

prints one JSON object with what they reported; their files are in FOLDER/query/in and FOLDER/join/in.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tests.runtime.spark.deployments import (
    changing_values,
    mesh_over_connect,
    native_over_connect,
    one_join,
    one_query,
    one_sql,
    types_over_connect,
)
from tests.runtime.spark.deployments.input_files import write_files
from tests.runtime.spark.deployments.join_files import write_streams
from tests.runtime.spark.deployments.processes import answer


def told_by(
    folder: Path, where: str, settings: dict[str, str], env: dict[str, str], seconds: float = 240.0
) -> dict[str, Any]:
    """What the program says of files that are written for it."""
    write_files(folder / "query" / "in")
    write_streams(folder / "join" / "in", 2)
    native_over_connect.write_lines(folder / "native")
    words = [sys.executable, __file__, str(folder), where, *(f"{key}={value}" for key, value in settings.items())]
    told: dict[str, Any] = answer(words, folder / "program.out", env, seconds)
    return told


def main(folder: str, where: str = "", *settings: str) -> None:
    """Ends without `spark.stop()`, as many programs do."""
    spark = one_query.session(where, one_join.SETTINGS | dict(setting.split("=", 1) for setting in settings))
    query = one_query.run(spark, Path(folder) / "query")
    join = one_join.run(spark, Path(folder) / "join")
    told = {"query": query, "join": join, "sql": one_sql.run(spark, Path(folder) / "join")}
    if where.startswith("remote:"):
        told["native"] = native_over_connect.run(spark, Path(folder) / "native")
        told["captured"] = changing_values.run(spark, Path(folder) / "captured")
        told["mesh"] = mesh_over_connect.run(spark, Path(folder) / "mesh")
        told["types"] = types_over_connect.run(spark, Path(folder) / "types")
    print(json.dumps(told))


if __name__ == "__main__":
    main(*sys.argv[1:])
