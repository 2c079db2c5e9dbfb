"""`statistics_from`: what the records of a run say about its streams, compared with counting the rows themselves."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import thalweg as tw
from tests.events.flat_records import changed, made
from tests.long_run import examples
from tests.report.join_records import joined
from thalweg.events import JoinObserved, JsonLines, Record
from thalweg.events.jsonl import from_json, to_json
from thalweg.stats import BytesPerRow, Partners, Rows, RowsPerSecond, SourceKept

SECOND = 10**9
Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(records: Iterable[Record], name: str = "run.jsonl") -> Path:
        lines = JsonLines(tmp_path / name)
        for record in records:
            lines.write(record)
        return lines.path

    return write


def one(stream: str = "a", **changes: Any) -> JoinObserved:
    """A record of a join of a and b whose times are in microseconds."""
    other = "b" if stream == "a" else "a"
    values = {
        "others": (other,), "order": (other,), "evaluated": (100,), "passed": (80,), "profiled": (3,), "tick_ns": 1000,
        "sampled": (10,), "partners": (30,), "partnered": (6,), "first_time": 0, "last_time": 99 * 10**6,
    }  # fmt: skip
    return joined(stream=stream, **{**values, **changes})


def table_record() -> JoinObserved:
    """A record of b, which is a table."""
    return made(JoinObserved, run="r", kind="stream", batch=0, worker="bucket 0", policy="auto", alias="b", table=True)


def test_what_was_sampled_survives_in_a_file() -> None:
    for record in (one(), one(first_time=None, last_time=None), one(first_time=-5, last_time=-3), joined()):
        assert from_json(to_json(record)) == record
    with pytest.raises(tw.ThalwegError, match="sampled has 2 values for 1 names"):
        from_json(to_json(one(sampled=(1, 2))))


def test_rates_and_shares_are_sums_over_records(write: Write) -> None:
    path = write([
        one(batch=0, rows=60, late=4, no_key=1, first_time=0, last_time=9_000_000),
        one(batch=1, rows=41, filtered=3, no_time=2, first_time=8_000_000, last_time=20_000_000, window_rows=0),
        one("b", sampled=(0,), partners=(0,), partnered=(0,), first_time=None, last_time=None, rows=0, window_rows=0),
    ])  # fmt: skip
    known = tw.statistics_from(path)
    rate, kept, width = (known["a"][word] for word in ("rows_per_second", "kept", "bytes_per_row"))
    assert rate == tw.Estimate(100 / 20, "counted", (100 / 20) ** 2 / 100, low=0, as_of=20)
    assert (kept.value, kept.low, kept.high, kept.as_of) == (pytest.approx(91 / 101), 0, 1, 20)
    assert width == tw.Estimate(100, "counted", 0, low=0, as_of=20)
    assert list(known) == ["a", "partners"]  # nothing is known about b


def test_regular_arrivals_have_their_rate(write: Write) -> None:
    known = tw.statistics_from(write([one(rows=11, first_time=0, last_time=10 * 10**6)]))
    assert known["a"]["rows_per_second"].value == 1
    plain = tw.statistics_from(write([one(rows=11, first_time=5, last_time=10, tick_ns=None)], "plain.jsonl"))
    assert (plain["a"]["rows_per_second"].value, plain["a"]["rows_per_second"].as_of) == (2, 10)


def test_a_stream_without_a_span_has_no_rate(write: Write) -> None:
    cases: list[dict[str, Any]] = [{"rows": 1}, {"first_time": 7, "last_time": 7}, {"first_time": None}]
    for n, changes in enumerate(cases):
        assert "rows_per_second" not in tw.statistics_from(write([one(**changes)], f"{n}.jsonl"))["a"]


def test_a_replayed_micro_batch_counts_once(write: Write) -> None:
    first = [one(query="q", start="s1", run="q s1", batch=n, first_time=n, last_time=n + 1) for n in range(3)]
    again = one(query="q", start="s2", run="q s2", batch=2, rows=100, first_time=2, last_time=3, partners=(50,))
    once = tw.statistics_from(write([*first[:2], again], "once.jsonl"))
    assert tw.statistics_from(write([*first, again], "twice.jsonl")) == once
    assert tw.statistics_from(write([*first, again, again], "written twice.jsonl")) == once
    assert once["partners"]["a, b"][0].value == pytest.approx(110 / 30)


def test_files_of_a_folder_are_one_run(write: Write, tmp_path: Path) -> None:
    records = [one(query="q", start=f"s{n}", run=f"q s{n}", batch=n) for n in range(3)]
    replayed = one(query="q", start="s0", run="q s0", batch=1, rows=10**6)
    whole = write(records, "whole")  # not .jsonl, so the folder leaves it out
    for n, part in enumerate(([replayed, records[0]], [records[1], records[2]])):
        path = write(part, f"{n}.jsonl")
        os.utime(path, ns=(n * SECOND, n * SECOND))
    assert tw.statistics_from(tmp_path) == tw.statistics_from(whole)


def counted(rng: np.random.Generator, replicated: str, buckets: int) -> tuple[list[JoinObserved], dict[str, float]]:
    """Records of buckets over random rows of a, b, and c, in which each row is looked up with a probability, and the
    true means. a and b are spread by k; c has its own key m, shared with b, and is replicated."""
    keys = {name: rng.integers(0, 6, rng.integers(5, 60)) for name in "ab"}
    extra = {name: rng.integers(0, 4, len(keys["b"]) if name == "b" else 30) for name in "bc"}
    where = {name: words % buckets for name, words in keys.items()}
    records = []
    for bucket in range(buckets):
        mine = {name: np.flatnonzero(where[name] == bucket) for name in "ab"}
        cells: dict[str, dict[str, np.ndarray]] = {
            "a": {"b": (keys["a"][mine["a"]][:, None] == keys["b"][mine["b"]]).sum(1)},
            "b": {"a": (keys["b"][mine["b"]][:, None] == keys["a"][mine["a"]]).sum(1),
                  "c": (extra["b"][mine["b"]][:, None] == extra["c"]).sum(1)},
            "c": {"b": (extra["c"][:, None] == extra["b"][mine["b"]]).sum(1)},
        }  # fmt: skip
        for stream, others in (("a", ("b", "c")), ("b", ("a", "c")), ("c", ("a", "b"))):
            found = [cells[stream].get(other, np.zeros(0, int)) for other in others]
            records.append(
                joined(
                    stream=stream, bucket=bucket, others=others, order=others, replicated=stream == replicated,
                    sampled=tuple(map(len, found)), partners=tuple(int(each.sum()) for each in found),
                    partnered=tuple(int((each > 0).sum()) for each in found),
                    rows=len(keys[stream]) if stream in keys else 30,
                )
            )  # fmt: skip
    true = {
        "a b": float((keys["a"][:, None] == keys["b"]).sum(1).mean()),
        "b a": float((keys["b"][:, None] == keys["a"]).sum(1).mean()),
        "b c": float((extra["b"][:, None] == extra["c"]).sum(1).mean()),
        "c b": float((extra["c"][:, None] == extra["b"]).sum(1).mean()),
    }
    return records, true


@examples(25, long=500)
@given(seed=st.integers(0, 2**32), buckets=st.integers(1, 8))
def test_partners_over_buckets_are_those_of_all_rows(
    tmp_path_factory: pytest.TempPathFactory, seed: int, buckets: int
) -> None:
    records, true = counted(np.random.default_rng(seed), "c", buckets)
    lines = JsonLines(tmp_path_factory.mktemp("run") / "run.jsonl")
    for record in records:
        lines.write(record)
    known = tw.statistics_from(lines.path)["partners"]
    assert set(known) == {"a, b", "b, c"}
    found = {"a b": known["a, b"][0], "b a": known["a, b"][1], "b c": known["b, c"][0], "c b": known["b, c"][1]}
    assert {key: each.value for key, each in found.items()} == pytest.approx(true)
    assert all(each.origin == "counted" and each.variance > 0 for each in found.values())


def test_replicated_streams_see_all_of_each_other(write: Write) -> None:
    records = [one(stream, bucket=n, replicated=True) for stream in "ab" for n in range(4)]
    assert [each.value for each in tw.statistics_from(write(records))["partners"]["a, b"]] == [3, 3]


def test_buckets_without_samples_are_taken_as_the_others(write: Write) -> None:
    records = [one("b", bucket=n, sampled=(10 if n < 2 else 0,), replicated=True) for n in range(8)]
    records += [one("a", bucket=n) for n in range(8)]
    assert tw.statistics_from(write(records))["partners"]["b, a"][0].value == pytest.approx(8 * 3)


@pytest.mark.parametrize("draw", ["geometric", "none", "one"])
def test_the_variance_of_partners_covers_that_of_draws(write: Write, draw: str) -> None:
    rng = np.random.default_rng(9)
    values, variances = [], []
    for n in range(150):
        found = {"none": np.zeros(40, int), "one": np.ones(40, int)}.get(
            draw, rng.geometric(0.25, 40) * (rng.random(40) < 0.3)
        )
        counts: dict[str, Any] = {
            "sampled": (40,),
            "partners": (int(found.sum()),),
            "partnered": (int((found > 0).sum()),),
        }
        made = tw.statistics_from(write([one(**counts)], f"{n}.jsonl"))["partners"]["a, b"][0]
        values.append(made.value)
        variances.append(made.variance)
    if draw == "geometric":
        assert np.mean(variances) == pytest.approx(np.var(values), rel=0.35)
        assert np.mean(values) == pytest.approx(0.3 * 4, rel=0.1)
    else:
        assert set(variances) == {1 / 40**2}


def test_tables_have_rows(write: Write) -> None:
    table = table_record()
    parts = [
        changed(table, worker="bucket 0", rows=50, window_rows=40, no_key=10),
        changed(table, worker="bucket 1", rows=0, window_rows=40),
    ]
    known = tw.statistics_from(write([one(), *parts]))
    assert (known["b"]["rows"], known["b"]["kept"].value) == (tw.Estimate(50, "counted", 0, low=0), 0.8)
    assert "rows_per_second" not in known["b"]


def test_what_a_run_counted_is_taken_by_a_join(write: Write) -> None:
    known = tw.statistics_from(write([one(), one("b", sampled=(0,), partners=(0,), partnered=(0,))]))
    facts = tw.join("a.k = b.k", 10, "t", statistics=known)._statistics.facts
    assert set(facts) == {
        RowsPerSecond("a"), RowsPerSecond("b"), SourceKept("a"), SourceKept("b"), BytesPerRow("a"), BytesPerRow("b"),
        Partners(("a", "k"), ("b", "k")),
    }  # fmt: skip
    assert {each.origin for each in facts.values()} == {"counted"}
    saved = json.loads(json.dumps(known, default=vars))
    assert tw.join("a.k = b.k", 10, "t", statistics=saved)._statistics.facts == facts
    with pytest.raises(tw.PlanError, match="'b' is not a source of this query"):
        tw.join("a.k = c.k", 10, "t", statistics=known)
    with pytest.raises(tw.PlanError, match="the unknown key 'valu'"):
        tw.join("a.k = b.k", 10, "t", statistics={"a": {"rows_per_second": {"value": 3, "valu": 5}}})
    with pytest.raises(tw.PlanError, match=r"rows_per_second: Estimate: variance=-1.0 must be at least 0"):
        tw.join("a.k = b.k", 10, "t", statistics={"a": {"rows_per_second": {"value": 3, "variance": -1}}})


def test_a_run_in_this_process_is_counted(tmp_path: Path) -> None:
    keys = {"k": [1, 2, 3, 1], "t": [1, 2, 3, 4]}
    run = tw.join("a.k = b.k AND a.v > 0", 10, "t", events=tmp_path / "run.jsonl")
    list(run.over(a=pa.table({**keys, "v": [1, 0, 0, 1]}), b=pa.table(keys)))
    known = tw.statistics_from(tmp_path)
    assert (known["a"]["kept"].value, known["b"]["kept"].value) == (0.5, 1)
    assert known["a"]["bytes_per_row"].value > 8
    tw.join("a.k = b.k AND a.v > 0", 10, "t", statistics=known)


def test_what_has_no_counts_of_a_join_is_refused(write: Write, tmp_path: Path) -> None:
    def sentence(path: Path) -> str:
        with pytest.raises(tw.PlanError) as error:
            tw.statistics_from(path)
        assert "give" in str(error.value)
        return str(error.value)

    assert "there is no file or folder" in sentence(tmp_path / "none.jsonl")
    assert "there is no file or folder" in sentence(tmp_path / ("x" * 300))
    assert "has no file whose name ends in .jsonl" in sentence(tmp_path)
    keep = tw.filters(tw.predicate(str.isdigit, "code"), events=tmp_path / "filters.jsonl")
    list(keep.over(pa.table({"code": ["7", "x7"]})))
    assert "has no records of a join" in sentence(tmp_path / "filters.jsonl")
    (tmp_path / "text").write_text("hello\n" * 3)
    assert "has no records of a join" in sentence(tmp_path / "text")
    other = dataclasses.replace(one(run="r2"), alias="c")
    assert "several joins, of (a, b) and (b, c); give each join its own events= file" in sentence(write([one(), other]))
    nothing = one(rows=0, window_rows=0, sampled=(0,), partners=(0,), partnered=(0,), first_time=None, last_time=None)
    assert "has read no rows" in sentence(write([nothing], "nothing.jsonl"))


def test_tables_are_asked_for_rows(write: Write) -> None:
    """A table that a run had is given to a join in which it is a table."""
    table = changed(table_record(), rows=7, window_rows=20, window_bytes=2_000)
    known = tw.statistics_from(write([one(), table]))
    facts = tw.join("a.k = b.k", {"a": 10}, {"a": "t"}, statistics=known)._statistics.facts
    assert facts[Rows("b")].value == 20  # the rows that its window holds


def test_names_with_commas_and_equals_signs_come_back(tmp_path: Path) -> None:
    events, on = tmp_path / "run.jsonl", "`a, b`.k = `c=d`.k"
    rows = pa.table({"k": [n % 7 for n in range(6_000)], "t": list(range(6_000))})
    given = {"a, b": rows, "c=d": rows}
    results = sum(batch.num_rows for batch in tw.join(on, 50, "t", events=events).over(**given))
    assert results > 6_000
    known = tw.statistics_from(events)
    assert {name for name in known if name != "partners"} == set(given)
    again = tw.join(on, 50, "t", statistics={**known, "partners": {"a, b, c=d": (7.0, 7.0)}})
    assert sum(batch.num_rows for batch in again.over(**given)) == results
