"""`explain()` of joins and filters shows what was counted after a run, and over how many runs it sums."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

import thalweg as tw

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = pa.table({"k": [1, 2, 3], "t": [1, 2, 3]})
FEW = pa.table({"k": [1, 2], "t": [1, 2]})


def lines(explanation: tw.Explanation) -> list[str]:
    return [line.strip(" │├└─") for line in str(explanation).splitlines() if "counted" in line]


def test_a_join_that_has_not_run_has_no_counts() -> None:
    assert lines(tw.join(on="a.k = b.k", window=5, time="t").explain()) == []


def test_a_join_shows_what_its_report_counts() -> None:
    join = tw.join(on="a.k = b.k", window=5, time="t")
    found = sum(batch.num_rows for batch in join.over(a=ROWS, b=FEW))
    (section,) = join.report().sections
    assert (found, section.results) == (2, 2)
    said = lines(join.explain())
    assert said[0] == "counted: 2 results"
    assert said[1].startswith("counted: 3 rows to the join")
    assert said[2].startswith("counted: 2 rows to the join")
    found_a = dict(zip(section.streams["b"].others, section.streams["b"].probes.evaluated, strict=True))["a"]
    assert (f"of {found_a} probes of it found a partner" in said[1]) is bool(found_a)


def test_a_join_says_over_how_many_passes_it_sums() -> None:
    join = tw.join(on="a.k = b.k", window=5, time="t")
    for _ in range(3):
        list(join.over(a=ROWS, b=FEW))
    said = lines(join.explain())
    assert said[0] == "counted: 6 results, summed over 3 runs"
    assert said[1].startswith("counted: 9 rows to the join")


def test_filters_say_over_how_many_passes_they_sum() -> None:
    keep = tw.filters(tw.predicate(lambda k: k > 1, "k", name="large"))
    list(keep.over(ROWS))
    assert lines(keep.explain()) == ["counted: 3 rows in, 2 kept (66.7 %)"]
    list(keep.over(FEW))
    assert lines(keep.explain()) == ["counted: 5 rows in, 3 kept (60 %), summed over 2 runs"]


def test_on_spark(spark: SparkSession) -> None:
    a, b = (spark.createDataFrame(table.to_pandas()) for table in (ROWS, FEW))
    join = tw.join(on="a.k = b.k", window=5, time="t")
    assert lines(join.explain(a=a, b=b)) == []
    assert join(a=a, b=b).count() == 2
    said = lines(join.explain(a=a, b=b))
    assert said[0] == "counted: 2 results"
    assert said[1].startswith("counted: 3 rows to the join")
