"""Tables take part in joins: rows without a time, which join with rows of any time and stay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import thalweg as tw
from thalweg.errors import PlanError
from thalweg.plan.joins.join_plan import JoinPlan
from thalweg.runtime.joins.join_binding import JoinBinding
from thalweg.runtime.joins.join_loop import JoinLoop
from thalweg.runtime.joins.join_options import JoinOptions
from thalweg.runtime.watermark import BEGINNING, END
from thalweg.simulation import MultiwayJoin, tree_join

CLICKS = pa.table({"user": [1, 2, 1], "page": ["x", "y", "x"], "t": [0, 50, 10**12]})
BUYS = pa.table({"page": ["x", "y", "x"], "t": [5, 90, 10**12 + 5]})
USERS = pa.table({"id": [1, 2, 2, None], "name": ["one", "two", "too", "nobody"], "t": [None, 3, 4, 5]})
ON = "clicks.page = buys.page AND clicks.user = users.id"


def made(join: tw.Join, **sources: Any) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for batch in join.over(**sources) for row in batch.to_pylist())


@pytest.mark.parametrize(
    "arguments",
    [
        {"window": {"clicks": 10, "buys": 10}, "time": "t"},
        {"window": 10, "time": {"clicks": "t", "buys": "t"}},
        {"window": {"clicks": 10, "buys": 10}, "time": {"clicks": "t", "buys": "t"},
         "lateness": {"clicks": 0, "buys": 0}},
    ],
)  # fmt: skip
def test_what_no_dict_names_is_a_table(arguments: dict[str, Any]) -> None:
    join = tw.join(on=ON, **arguments, select=["users.name", "users.t"])
    wanted = [("one", None, 5), ("one", None, 10**12 + 5)]
    for users in (
        USERS,
        USERS.to_batches(max_chunksize=1),
        iter(USERS.to_batches()),
        USERS.combine_chunks().to_batches()[0],
    ):
        assert (
            made(join, clicks=CLICKS, buys=BUYS, users=users) == wanted
        )  # the second long after every window has passed


def test_one_stream_and_tables_only() -> None:
    """Each row is joined as it comes; its window is for no other row."""
    join = tw.join(on="clicks.user = users.id AND users.name = names.name", window={"clicks": 0}, time="t",
                   select=["clicks.t", "names.name"])  # fmt: skip
    names = pa.table({"name": ["two", "too", "too"]})
    assert made(join, clicks=CLICKS, users=USERS, names=names) == [(50, "too", 50), (50, "too", 50), (50, "two", 50)]


def test_a_condition_on_a_table_alone_and_what_the_report_says() -> None:
    join = tw.join(on=f"{ON} AND users.name <> 'one'", window={"clicks": 40, "buys": 40}, time="t",
                   select=["users.name"])  # fmt: skip
    assert made(join, clicks=CLICKS, buys=BUYS, users=USERS) == [("too", 90), ("two", 90)]
    report = join.report()
    (section,) = report.sections
    assert list(section.streams) == ["clicks", "buys"]
    assert section.streams["clicks"].others == ("buys", "users")
    table = section.to_dict()["tables"]["users"]
    assert (table["rows"], table["window_rows"], table["no_key"], table["filtered"]) == (4, 2, 1, 1)
    assert "users: a table, 2 rows held" in str(report)
    assert "1 with a key that equals nothing, 1 dropped by a condition on this table" in " ".join(str(report).split())


def test_batches_of_a_table_may_differ_in_nullability_only() -> None:
    join = tw.join(on="a.k = b.k", window={"a": 1}, time="t", select=["b.v"])
    a = pa.table({"k": [1, 2], "t": [1, 2]})
    sure = pa.schema([pa.field("k", pa.int64(), nullable=False), ("v", pa.string())])
    b = [pa.record_batch({"k": [1], "v": ["p"]}), pa.RecordBatch.from_pylist([{"k": 2, "v": "q"}], sure)]
    assert made(join, a=a, b=b) == [("p", 1), ("q", 2)]
    with pytest.raises(PlanError, match="the batches of b differ"):
        made(join, a=a, b=[b[0], pa.record_batch({"k": ["1"], "v": ["p"]})])


def test_a_table_is_in_no_snapshot_and_never_expires() -> None:
    plan = JoinPlan.of("a.k = t.k", {"a": 1}, "t", 0)
    rows = pa.table({"k": range(5000), "v": [f"value {n}" for n in range(5000)]})
    schemas = {"a": pa.schema([("k", pa.int64()), ("t", pa.int64())]), "t": rows.schema}
    loop = JoinLoop(
        JoinBinding.of(plan, schemas), JoinOptions("a-greedy", snapshots=True), lambda: 0, np.random.default_rng(0),
        {"t": rows},
    )  # fmt: skip
    times = [BEGINNING, -1, 0, 10**15, END]
    for n, time in enumerate(times):
        batch = pa.record_batch({"k": [n, 10**6], "t": [time, time]})
        assert [row for out in loop.process("a", batch) for row in out.to_pylist()] == [
            {"a_k": n, "a_t": time, "t_k": n, "t_v": f"value {n}", "event_time": time}
        ]
        loop.end_round()
        changes = loop.stores["t"].changes()
        assert (changes.added, changes.removed, len(loop.stores["t"])) == ({}, (), 5000)
        assert len(loop.stores["a"]) == 0, "no other stream probes for these rows"
    loop.watermarks.ended("a")
    loop.end_round()
    assert len(loop.stores["t"]) == 5000
    assert list(loop.watermarks.streams) == ["a"]


def test_tables_that_are_known_only_when_data_is_given() -> None:
    plan = JoinPlan.of(ON, 10, "t", 0)
    assert (plan.streams, plan.tables) == (("clicks", "buys", "users"), ())
    static = plan.with_tables(["users"])
    assert (static.streams, static.tables) == (("clicks", "buys"), ("users",))
    assert static.with_tables(["users"]) == static == plan.with_tables(iter(["users"]))
    assert list(static.windows) == list(static.times) == list(static.lateness) == ["clicks", "buys"]
    with pytest.raises(PlanError, match=r"'user' is not a stream.*did you mean 'users'"):
        plan.with_tables(["user"])
    with pytest.raises(PlanError, match="all inputs are tables"):
        plan.with_tables(plan.streams)
    named: dict[str, dict[str, Any]] = {
        "window": {"window": dict.fromkeys(plan.streams, 1), "time": "t", "lateness": 0},
        "time": {"window": 1, "time": dict.fromkeys(plan.streams, "t"), "lateness": 0},
        "lateness": {"window": 1, "time": "t", "lateness": dict.fromkeys(plan.streams, 0)},
    }
    for name, given in named.items():
        with pytest.raises(
            PlanError, match=f"users cannot be a table, because {name} names it.*remove users from {name}"
        ):
            JoinPlan.of(ON, **given).with_tables(["users"])


def test_simulated_joins_take_no_tables() -> None:
    for make in (
        lambda: MultiwayJoin("j", "a.k = b.k", {"a": 1}, "t"),
        lambda: tree_join("j", ("a", "b"), "a.k = b.k", {"a": 1}, "t"),
    ):
        with pytest.raises(PlanError, match="b is missing, and simulated joins take no tables; add 'b'"):
            make()
