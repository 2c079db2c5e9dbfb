"""Rows that are late or have no time, with results and alone, over Arrow batches, compared with the definition by row.

Times differ between streams modulo their number, so that which stream is read next never depends on a tie.
"""

from __future__ import annotations

import itertools
import random
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import thalweg as tw
from tests.long_run import examples
from tests.runtime.joins.oracle import expected_ids
from tests.runtime.joins.start_plans import start_knowing_nothing
from thalweg.plan.joins.join_plan import JoinPlan
from thalweg.report import JoinTally
from thalweg.runtime.joins.join_outcome import JoinRows
from thalweg.runtime.joins.join_settings import JoinSettings
from thalweg.runtime.local.joins import JoinPass, join_batches
from thalweg.runtime.local.rounds import Rounds
from thalweg.runtime.receiver import Receiver

ALIASES = "abc"
ON = "a.k = b.k AND b.k = c.k"
SCHEMA = pa.schema([("k", pa.int64()), ("t", pa.int64()), ("id", pa.int64())])


@dataclass(frozen=True)
class Row:
    """One row of a stream; `time` is None if it has none."""

    id: int
    key: int | None
    time: int | None


Streams = Mapping[str, Sequence[Sequence[Row]]]


def drawn(seed: int, disorder: int, aliases: str = ALIASES) -> dict[str, list[list[Row]]]:
    """Each stream in batches, out of order, some rows without time or key, some batches empty."""
    r = random.Random(seed)
    made: dict[str, list[list[Row]]] = {}
    for n, alias in enumerate(aliases):
        ids, batches = itertools.count(), []
        for clock in range(0, 60, r.choice([4, 9])):
            rows = [
                Row(
                    next(ids), r.choice([0, 1, 2, None]),
                    None if r.random() < 0.1 else 3 * (clock + r.randint(0, 8) - r.randint(0, disorder)) + n,
                )
                for _ in range(r.randint(0, 4))
            ]  # fmt: skip
            # batches without any time are read before all others: two streams of them would be a tie
            if alias == "a" or any(row.time is not None for row in rows):
                batches.append(rows)
            else:
                ids = itertools.count(sum(map(len, batches)))
        made[alias] = batches or [[Row(0, 1, n)]]
    return made


def lost_by_hand(streams: Streams, lateness: Mapping[str, int]) -> set[tuple[str, int, str]]:
    """Stream, row and reason: what docs/joins.md says of rounds and watermarks, in plain Python."""
    waiting = {alias: list(batches) for alias, batches in streams.items()}
    latest: dict[str, float] = {}
    mark, lost = float("-inf"), set()
    while any(waiting.values()):
        begins = {
            alias: min((row.time for row in batches[0] if row.time is not None), default=float("-inf"))
            for alias, batches in waiting.items()
            if batches
        }
        alias = min(begins, key=begins.__getitem__)
        for row in waiting[alias].pop(0):
            if row.time is None:
                lost.add((alias, row.id, "no time"))
                continue
            if row.time < mark:
                lost.add((alias, row.id, "late"))
            latest[alias] = max(latest.get(alias, float("-inf")), row.time)
        if not waiting[alias]:
            latest[alias] = float("inf")  # it has ended
        if len(latest) == len(streams):
            mark = max(mark, min(latest[a] - lateness[a] for a in streams))
    return lost


def batches_of(streams: Streams) -> dict[str, list[pa.RecordBatch]]:
    return {
        alias: [
            pa.RecordBatch.from_pylist([{"k": row.key, "t": row.time, "id": row.id} for row in batch], schema=SCHEMA)
            for batch in batches
        ]
        for alias, batches in streams.items()
    }


def rows_of(batches: Any) -> list[dict[str, Any]]:
    return [row for batch in batches for row in batch.to_pylist()]


def expected_lost(streams: Streams, lost: set[tuple[str, int, str]]) -> list[dict[str, Any]]:
    """Return the rows as they are output: their own columns, and null elsewhere."""
    made = []
    for alias, number, why in lost:
        row = next(row for batch in streams[alias] for row in batch if row.id == number)
        nothing = {f"{a}_{name}": None for a in streams for name in SCHEMA.names}
        own = {f"{alias}_k": row.key, f"{alias}_t": row.time, f"{alias}_id": row.id}
        made.append({**nothing, "event_time": None, **own, "lost": f"{alias}: {why}"})
    return made


def same_rows(found: list[dict[str, Any]], expected: list[dict[str, Any]]) -> bool:
    return sorted(map(repr, (sorted(row.items()) for row in found))) == sorted(
        map(repr, (sorted(row.items()) for row in expected))
    )


@examples(60, long=3_000)
@given(
    seed=st.integers(0, 2**32),
    lateness=st.fixed_dictionaries({alias: st.sampled_from([0, 6, 40]) for alias in ALIASES}),
    disorder=st.sampled_from([0, 5, 30]),
    window=st.sampled_from([0, 9, 300]),
)
def test_late_rows_are_those_of_the_definition(seed: int, lateness: dict[str, int], disorder: int, window: int) -> None:
    streams = drawn(seed, disorder)
    lost = lost_by_hand(streams, lateness)
    given_ = batches_of(streams)
    join = tw.join(on=ON, window=window, time="t", lateness=lateness)
    late = rows_of(join.late_over(**given_))
    assert same_rows(late, expected_lost(streams, lost))
    tagged = rows_of(join.tagged_over(**given_))
    assert same_rows([row for row in tagged if row["lost"] is not None], expected_lost(streams, lost))
    gone = {(alias, number) for alias, number, _ in lost}
    tables = {
        a: pa.table({"k": pa.array([row.key for batch in streams[a] for row in batch], pa.int64())}) for a in streams
    }
    ticks = {a: [None if (a, row.id) in gone else row.time for batch in streams[a] for row in batch] for a in streams}
    results = [row for row in tagged if row["lost"] is None]
    found = sorted(tuple(row[name] for name in ("a_id", "b_id", "c_id", "event_time")) for row in results)
    assert found == expected_ids(tables, ticks, ON, dict.fromkeys(ALIASES, window))
    with warnings.catch_warnings(action="ignore"):  # that rows were late
        plain = rows_of(join.over(**given_))
    assert same_rows(results, [{**row, "lost": None} for row in plain])


def test_the_drawn_streams_have_late_rows_and_rows_in_time() -> None:
    """A property test without any late row would prove nothing."""
    counts = []
    for seed in range(40):
        streams = drawn(seed, 30)
        lost = lost_by_hand(streams, dict.fromkeys(ALIASES, 6))
        rows = sum(len(batch) for batches in streams.values() for batch in batches)
        counts.append((sum(why == "late" for *_, why in lost), sum(why == "no time" for *_, why in lost), rows))
    late, no_time, rows = (sum(column) for column in zip(*counts, strict=True))
    assert late > 0.1 * rows
    assert no_time > 0.05 * rows
    assert late + no_time < 0.8 * rows


@examples(25, long=1_000)
@given(seed=st.integers(0, 2**32), lateness=st.sampled_from([0, 20]))
def test_with_rounds_late_rows_and_watermark_are_those_of_all(seed: int, lateness: int) -> None:
    """Odd rows are dropped before the join: they still move the watermark, and are not returned."""
    streams = {alias: [b for b in batches if b] or [[Row(0, 1, 0)]] for alias, batches in drawn(seed, 30, "ab").items()}
    by_alias = dict.fromkeys("ab", lateness)
    lost = {(alias, number) for alias, number, why in lost_by_hand(streams, by_alias) if why == "late"}
    cast = pa.schema([("k", pa.int64()), ("t", pa.timestamp("us")), ("id", pa.int64())])
    data = {alias: [batch.cast(cast) for batch in batches] for alias, batches in batches_of(streams).items()}

    def even(batches: Any) -> Any:
        for batch in batches:
            yield batch.filter(pa.array([number % 2 == 0 for number in batch["id"].to_pylist()]))

    marks: dict[JoinRows, list[int | None]] = {}
    found: dict[JoinRows, list[dict[str, Any]]] = {}
    plan = JoinPlan.of("a.k = b.k", "9 microseconds", "t", f"{lateness} microseconds", None)
    settings = JoinSettings(seed=3)
    start = start_knowing_nothing(plan, settings)
    for wanted in (JoinRows.LATE, JoinRows.TAGGED):
        rounds = {alias: Rounds("t") for alias in data}
        passing = {alias: rounds[alias].of(batches, even) for alias, batches in data.items()}
        marks[wanted] = []
        receiver = Receiver(JoinTally())
        one = JoinPass(plan, settings, receiver, lambda _: start, wanted, marks[wanted].append, rounds)
        found[wanted] = rows_of(join_batches(one, passing))
    assert marks[JoinRows.LATE] == marks[JoinRows.TAGGED]
    assert len(marks[JoinRows.LATE]) == sum(map(len, data.values()))
    late = [row for row in found[JoinRows.LATE] if row["lost"].endswith("late")]
    said = {(row["lost"][0], row["a_id"] if row["a_id"] is not None else row["b_id"]) for row in late}
    assert said == {(alias, number) for alias, number in lost if number % 2 == 0}
    assert len(late) == len(said)
    assert same_rows(found[JoinRows.LATE], [row for row in found[JoinRows.TAGGED] if row["lost"] is not None])


A = pa.table({"k": [1, 1, 1, 2], "t": [10, 30, None, 5], "text": ["a", "b", "c", "d"]})
B = pa.table({"k": [1, 1], "t": [11, 31], "size": [1.5, 2.5]})


def in_batches(table: pa.Table) -> list[pa.RecordBatch]:
    batches: list[pa.RecordBatch] = table.to_batches(max_chunksize=1)
    return batches


def test_columns_that_are_read_are_there_and_others_are_not() -> None:
    join = tw.join(on="a.k = b.k", window=5, time="t", select=["b.size"])
    for ask in (join.tagged_over, join.late_over):
        schema = next(iter(ask(a=in_batches(A), b=B))).schema
        assert schema.names == ["b_size", "event_time", "a_k", "a_t", "b_k", "b_t", "lost"]
        assert schema.field("lost").type == pa.string()
        assert all(field.nullable for field in schema)
    (row,) = [row for row in rows_of(join.late_over(a=in_batches(A), b=B)) if row["lost"] == "a: no time"]
    assert row["a_k"] == 1


def test_a_pass_without_late_rows_gives_one_empty_batch() -> None:
    join = tw.join(on="a.k = b.k", window=5, time="t")
    (batch,) = join.late_over(a=B, b=B)
    assert batch.num_rows == 0
    assert batch.schema == next(iter(join.tagged_over(a=B, b=B))).schema


def test_tables_have_no_late_rows_and_are_not_read_for_them() -> None:
    class Untouched:
        """A table of which only the columns are read."""

        def __init__(self) -> None:
            self.given = 0

        def __iter__(self) -> Any:
            for _ in range(3):
                self.given += 1
                yield pa.record_batch({"k": [1], "name": ["x"]})

    table = Untouched()
    join = tw.join(on="a.k = b.k AND a.k = c.k", window={"a": 5, "b": 5}, time="t")
    late = rows_of(join.late_over(a=in_batches(A), b=B, c=table))
    assert sorted(row["lost"] for row in late) == ["a: late", "a: no time"]
    assert table.given == 1
    assert "c_name" in late[0]  # as a result has it


def test_nothing_is_joined_held_or_evaluated_for_late_rows() -> None:
    """The condition would fail the join; no window is large enough for a limit of one byte."""
    join = tw.join(
        on="a.k = b.k AND a.k * 9223372036854775807 > 1", window=5, time="t", max_bytes=1, max_matches=1
    )  # fmt: skip
    with pytest.raises(tw.ThalwegError):
        rows_of(join.tagged_over(a=in_batches(A), b=B))
    late = rows_of(join.late_over(a=in_batches(A), b=B))
    assert sorted(row["lost"] for row in late) == ["a: late", "a: no time"]
    section = join.report().sections[-1]
    assert section.results == 0
    counted = {
        alias: (stream.stream.rows, stream.stream.late, stream.stream.no_time)
        for alias, stream in section.streams.items()
    }
    assert counted == {"a": (4, 1, 1), "b": (2, 0, 0)}
    assert all(stream.window.rows == 0 for stream in section.streams.values())
    assert "late" in str(join.report())


def test_only_over_warns_of_late_rows() -> None:
    join = tw.join(on="a.k = b.k", window=5, time="t")
    with pytest.warns(UserWarning, match="rows of a were late"):
        rows_of(join.over(a=in_batches(A), b=B))
    with warnings.catch_warnings(action="error"):
        rows_of(join.tagged_over(a=in_batches(A), b=B))
        rows_of(join.late_over(a=in_batches(A), b=B))


def test_encoded_columns_come_as_plain_ones() -> None:
    coded = pa.table({"k": pa.array(["x", "x", "x"]).dictionary_encode(), "t": [10, 30, 5]})
    join = tw.join(on="a.k = b.k", window=5, time="t")
    late = list(join.late_over(a=in_batches(coded), b=pa.table({"k": ["x", "x"], "t": [11, 31]})))
    assert late[0].schema.field("a_k").type == pa.string()
    assert [(row["a_k"], row["a_t"]) for row in rows_of(late)] == [("x", 5)]


def test_columns_of_one_name_are_refused() -> None:
    one = pa.table({"k": [1], "t": [1], "b_k": [1]})
    two = pa.table({"k": [1], "t": [1], "b_k": [1]})
    join = tw.join(on="a.k = a_b.k AND a.b_k = a_b.b_k", window=5, time="t", select=["a.k"])
    assert rows_of(join.over(a=one, a_b=two)) == [{"a_k": 1, "event_time": 1}]
    for ask in (join.tagged_over, join.late_over):
        with pytest.raises(tw.PlanError, match=r"a\.b_k and a_b\.k would both be 'a_b_k' in \w+ rows; rename one"):
            ask(a=one, a_b=two)
