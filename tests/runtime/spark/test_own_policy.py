"""A policy of the user's own in Spark's workers: importable or by value, refused when it cannot travel."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark import cloudpickle

import thalweg as tw
from tests.adapt.forward import Forward, ForwardSettings
from thalweg.adapt import PolicyLike
from thalweg.plan import FilterPlan, Pipeline
from thalweg.runtime.settings import FilterSettings
from thalweg.runtime.spark import host_file, worker
from thalweg.runtime.spark.pickled_plan import PickledPlan, policy_digest
from thalweg.runtime.spark.worker import ChainTask, run_task

ROWS = 20_000


def of_a_notebook(**more: Any) -> type[Any]:
    """A class of no importable module, which travels by value, with settings that do, too."""

    @dataclass(frozen=True)
    class Mine:
        p: float = 0.5
        patience: int = 1

    return type("Notebook", (Forward,), {"name": "notebook", "defaults": Mine(), **more})


def chain() -> tuple[tw.Predicate, ...]:
    return (
        tw.predicate(lambda x: x % 2 == 0, "id", name="even"),
        tw.predicate(lambda x: x % 7 < 3, "id", name="seven"),
        tw.predicate(lambda x: 1000 // x > 0, "id", name="small", after=["even"]),
    )


def numbers(spark: Any) -> Any:
    return spark.range(1, ROWS, 1, 2)


EXPECTED = [x for x in range(1, ROWS) if x % 2 == 0 and x % 7 < 3 and 1000 // x > 0]


@pytest.mark.parametrize("policy", [Forward, of_a_notebook()], ids=["importable", "by value"])
def test_filters_run_under_it_in_the_workers(spark: Any, policy: type[Any]) -> None:
    keep = tw.filters(*chain(), policy=policy, slice_rows=200)
    assert sorted(row.id for row in numbers(spark).transform(keep).collect()) == EXPECTED
    (section,) = keep.report().sections
    assert section.policy == policy.name
    assert section.switch_count > 3
    assert section.switches[0].reason.startswith("it is the turn of ")


def test_joins_run_under_it_in_the_workers(spark: Any) -> None:
    frames = {a: spark.range(2_000).selectExpr("id", "id % 50 AS k", "id AS t") for a in "abc"}

    def found(policy: Any) -> tuple[list[tuple[int, ...]], Any]:
        join = tw.join("a.k = b.k AND a.k = c.k", 60, "t", policy=policy, buckets=2, slice_rows=50)
        out = join(**frames).select("a_id", "b_id", "c_id").collect()
        return sorted(tuple(row) for row in out), join.report()

    out, report = found(of_a_notebook())
    assert out == [
        (a, b, c) for a in range(2_000) for b in range(a % 50, 2_000, 50) for c in range(a % 50, 2_000, 50)
        if max(a, b, c) - min(a, b, c) <= 60
    ]  # fmt: skip
    assert {section.policy for section in report.sections} == {"notebook"}


def test_queries_run_under_it_in_the_workers(spark: Any) -> None:
    s = tw.session(spark)
    s.stream("numbers", numbers(spark).selectExpr("id", "timestamp_seconds(id) AS t"), time="t")
    s.function("seven", lambda x: x % 7 < 3, returns="boolean", safe=True)
    s.function("even", lambda x: x % 2 == 0, returns="boolean", safe=True)
    q = s.query("SELECT id FROM numbers WHERE seven(id) AND even(id)", policy=of_a_notebook())
    assert "notebook" in str(q.explain())
    assert sorted(row.id for row in q.dataframe().collect()) == [x for x in range(1, ROWS) if x % 7 < 3 and x % 2 == 0]
    (part,) = [part for _, part in q.report().parts]
    assert part.sections[0].policy == "notebook"


@pytest.mark.parametrize(
    "more",
    [
        {"lock": threading.Lock()},
        {"defaults": ForwardSettings(patience=threading.Lock())},  # type: ignore[arg-type]  # on purpose
    ],
    ids=["class", "settings"],
)
def test_a_class_that_cannot_be_pickled_is_refused_early(spark: Any, more: dict[str, Any]) -> None:
    policy = of_a_notebook(**more)
    s = tw.session(spark)
    s.stream("numbers", numbers(spark).selectExpr("id", "timestamp_seconds(id) AS t"), time="t")
    s.function("even", lambda x: x % 2 == 0, returns="boolean", safe=True)
    frames = {a: numbers(spark).selectExpr("id", "id AS t") for a in "ab"}
    doors: tuple[Callable[[], Any], ...] = (
        lambda: numbers(spark).transform(tw.filters(*chain(), policy=policy)),
        lambda: tw.join("a.id = b.id", window=5, time="t", policy=policy)(**frames),
        lambda: s.query("SELECT id FROM numbers WHERE even(id)", policy=policy).dataframe(),
    )
    for door in doors:
        with pytest.raises(tw.PlanError, match=r"policy 'notebook' \(class Notebook\) cannot be sent.*lock"):
            door()
    if "lock" in more:  # in this process it need not travel; a lock is no number of looks, though
        list(tw.filters(*chain(), policy=policy).over(pa.table({"id": [1]})))


@pytest.fixture
def a_worker(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """This process as a worker that has run nothing yet."""
    monkeypatch.setattr(host_file, "_base", lambda: tmp_path / "thalweg")
    monkeypatch.setattr(worker, "_KEPT", worker._KEPT.__class__())
    monkeypatch.setattr(worker, "_SETUPS", worker._SETUPS.__class__())


def pickled(policy: PolicyLike) -> bytes:
    """A task as it leaves the driver, which pickles it anew for each micro-batch and unpickles nothing."""
    settings = FilterSettings.resolve({"policy": policy}, environ={})
    digest = policy_digest(settings)
    assert policy_digest(settings) == digest
    plan = PickledPlan.of(FilterPlan(chain()))
    data: bytes = cloudpickle.dumps(  # type: ignore[no-untyped-call]
        ChainTask(plan, settings, "filters", "a", "app", streaming=False, policy_digest=digest)
    )
    return data


def run(task: bytes) -> Any:
    """In a worker, which unpickles a class for each task."""
    list(run_task(cloudpickle.loads(task), iter([(pa.array(np.arange(1, 500)),)])))
    (kept,) = worker._KEPT.values()
    return kept.loop


def test_what_was_learned_outlives_task_and_class_changes(a_worker: None) -> None:
    """Only another class, or other settings, make another policy."""
    policy = of_a_notebook()
    calmer = type("Notebook", (policy,), {"defaults": ForwardSettings(patience=1000)})
    other = type("Other", (policy,), {"name": "other"})
    first, second, third = pickled(policy), pickled(calmer), pickled(other)
    loop = run(first)
    assert run(first) is loop
    order = loop.order
    changed = run(second)
    assert changed is not loop
    assert changed.order == order  # of the same name, so that it goes on from its snapshot
    assert changed.policy.policy.settings == ForwardSettings(patience=1000)
    chosen = run(pickled(tw.policy(policy, patience=7)))
    assert chosen is not changed
    assert chosen.policy.policy.settings.patience == 7
    assert run(pickled(tw.policy(policy, patience=7))) is chosen
    assert run(third).policy.name == "other"
    assert run(third).order == Pipeline(("even", "seven", "small"), ((), (), (0,))).start
