"""What a checkpoint is bound to, and what a restart takes from it: the question, the state, and never a fingerprint."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import thalweg as tw
from tests.runtime.spark.sql.three_streams import BY_K, BY_M, CHAIN, RATES, ThreeStreams
from thalweg.plan.query.nodes import WindowJoin, walk

OTHER_ORDER: dict[str, Any] = {
    name: {"statistics": {**RATES[name]["statistics"], "distinct": {"k": values, "m": values}}}
    for name, values in (("a", 2), ("b", 50), ("c", 4000))
}
"""Rates that spread rows by the other class, and values that put another stream first."""


class Restarted:
    """The chain, started again and again into one folder."""

    def __init__(self, spark: Any, folder: Path) -> None:
        self.spark, self.folder, self.streams = spark, folder, ThreeStreams(folder / "in")
        self.run: dict[str, Any] = {
            "path": str(folder / "out"),
            "checkpoint": str(folder / "checkpoint"),
            "trigger": "availableNow",
        }

    def query(self, text: str = CHAIN, policy: str | None = None, **given: Any) -> tw.ContinuousQuery:
        return self.streams.session(self.spark, **given).query(text, policy=policy)

    def go_on(self, query: tw.ContinuousQuery) -> Any:
        """To the end of what is there; all rows so far are DuckDB's. The join that ran."""
        handle = query.start(**self.run)
        handle.awaitTermination()
        found = sorted(tuple(row.values()) for row in pq.read_table(self.folder / "out").to_pylist())
        expected = self.streams.expected()
        assert found == expected
        assert len(expected) > 100
        return handle

    def pinned(self, part: str) -> Path:
        return self.folder / "checkpoint" / "thalweg" / part


def joined(query: tw.ContinuousQuery) -> WindowJoin:
    """The join of its plan."""
    assert isinstance(query.plan.join, WindowJoin)
    return query.plan.join


def spread_by(query: tw.ContinuousQuery) -> tuple[tuple[str, str], ...]:
    """The class of columns by which its join spreads rows."""
    spread = joined(query).spread_by
    assert spread is not None
    return spread.columns


def test_a_restart_keeps_what_spreads_rows(spark: SparkSession, tmp_path: Path) -> None:
    chain = Restarted(spark, tmp_path)
    first = chain.query()
    assert spread_by(first) == BY_K
    chain.go_on(first)
    chain.streams.add()
    second = chain.query(policy="sweep", **OTHER_ORDER)
    assert spread_by(second) == BY_M, "what is declared now asks for the other class"
    assert joined(second).order != joined(first).order
    spark.conf.set("spark.sql.shuffle.partitions", 1)  # another machine: a new query would have one bucket
    try:
        told = str(chain.go_on(second).explain())
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", 2)
    assert "spread over buckets by a.k = b.k; c is replicated to every bucket: as its checkpoint was created" in told
    assert "first order a, b, c: as its checkpoint was created" in told
    chain.streams.add()
    assert "(static)" in str(chain.go_on(chain.query(policy="static")).explain())


@pytest.mark.long(sample="test_a_restart_keeps_what_spreads_rows")
def test_a_class_chosen_by_rates_is_kept_without_them(spark: SparkSession, tmp_path: Path) -> None:
    chain = Restarted(spark, tmp_path)
    told = str(chain.go_on(chain.query(**RATES)).explain())
    assert (
        "rows are spread over buckets by b.m = c.m; a is replicated to every bucket: "
        "streams with such a column have 4,510 of 4,515 rows in windows, more than for any other"
    ) in told
    chain.streams.add()
    again = chain.query()
    assert spread_by(again) == BY_K
    assert "spread over buckets by b.m = c.m; a is replicated" in str(chain.go_on(again).explain())


def test_another_condition_is_another_question(spark: SparkSession, tmp_path: Path) -> None:
    chain = Restarted(spark, tmp_path)
    text = CHAIN.replace("AND b.m", "AND odd(a.id) AND b.m")

    def asked(text: str, *, safe: bool) -> tw.ContinuousQuery:
        s = chain.streams.session(spark)
        s.function("odd", _odd, "boolean", safe=safe)
        return s.query(text)

    asked(text, safe=True).start(**chain.run).awaitTermination()
    with pytest.raises(tw.CheckpointError, match="belongs to another query"):
        asked(text.replace("odd(a.id)", "odd(a.id) AND a.id > 3"), safe=True).start(**chain.run)
    with pytest.raises(
        tw.CheckpointError,
        match=r"with another plan.*its windows stored id int64 of a; the plan now stores id int64, carried errors "
        r"string\. Start the query as it was started then, with the same on_error= and with functions declared",
    ):
        asked(text, safe=False).start(**chain.run)
    found = json.loads(chain.pinned("state").read_text())
    found["state"]["errors"] = ["a part of the future"]
    chain.pinned(".state.crc").unlink()
    chain.pinned("state").write_text(json.dumps(found))
    with pytest.raises(tw.CheckpointError, match=r"cannot be used: .*does not know \(errors\): a later version"):
        asked(text, safe=True).start(**chain.run)


def _odd(number: int) -> bool:
    return number % 2 == 1


def test_a_checkpoint_holds_the_question_and_no_fingerprint(spark: SparkSession, tmp_path: Path) -> None:
    chain = Restarted(spark, tmp_path)
    query = chain.query()
    chain.go_on(query)
    held = b"".join(map(content, filter(Path.is_file, (tmp_path / "checkpoint").rglob("*"))))
    assert query.plan.query.question.encode() in held
    found = [query.plan.fingerprint_of(node, query._functions).encode() for node in walk(query.plan.root)]
    assert len(found) == 5
    assert not [each for each in found if each in held]


def content(path: Path) -> bytes:
    """Of a file, and of what is packed in it."""
    if not zipfile.is_zipfile(path):
        return path.read_bytes()
    with zipfile.ZipFile(path) as packed:
        return b"".join(map(packed.read, packed.namelist()))
