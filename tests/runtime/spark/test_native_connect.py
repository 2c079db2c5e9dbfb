"""The same through Spark Connect, which needs a process of its own: one has either a classic session or this."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

from tests.runtime.spark.native_lines import predicates, table

ROOT = Path(__file__).parents[3]


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.timeout(400)
def test_native_predicates_through_spark_connect(spark, tmp_path: Path):
    pytest.importorskip("grpc_status")
    data = table(12_000)
    (tmp_path / "in").mkdir()
    pq.write_table(data, tmp_path / "in" / "lines.parquet")
    home = {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    paths = os.pathsep.join(filter(None, [str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH")]))
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("SPARK_", "PYSPARK_"))}
    done = subprocess.run(
        [sys.executable, "-m", "tests.runtime.spark.connect_native", str(tmp_path)],
        capture_output=True, text=True, timeout=350, cwd=tmp_path, env={**inherited, **home, "PYTHONPATH": paths},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3_000:]
    told = json.loads((tmp_path / "told.json").read_text())

    assert told["module"] == "pyspark.sql.connect.column"
    assert told["names"] == "tw.filters(size > 300, line rlike ' (4|5)00$', code != 'x1, y')", "as on classic Spark"
    chosen = ("digits", "large", "user", "has_payload", "not_500")
    where = " AND ".join(f"coalesce(({predicates()[name][1]}), false)" for name in chosen)
    assert data.num_rows > 0
    sql = f"SELECT id FROM data WHERE {where} AND id % 3 = 0 ORDER BY id"
    expected = [row[0] for row in duckdb.sql(sql).fetchall()]
    assert told["ids"] == [expected, expected]
    assert told["streamed"] == expected
    by_kind = ["large", "has_payload", "digits", "not_500", "user"]
    learned = ["large", "has_payload", "user", "not_500", "digits"]  # 75 % at cost 100, 33 % at 50, 10 % at 50
    assert told["orders"] == [by_kind, learned]
    assert told["later"] == learned, "from the events of the runs before"
    assert told["learned_from"] == 4_000
    ((alone,),) = duckdb.sql(
        "SELECT count(*) FROM data WHERE size > 300 AND regexp_matches(line, ' (4|5)00$') AND code <> 'x1, y'"
    ).fetchall()
    assert told["alone"] == alone
    assert "is a Python UDF" in told["udf"]
    assert "calls rand()" in told["random"]
