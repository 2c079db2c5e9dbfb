"""Values captured by functions: each micro-batch and each task uses those its functions were pickled with."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from functools import partial, reduce
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import thalweg as tw
from tests.runtime.spark.test_stream import add_file, source
from thalweg.plan import FilterPlan
from thalweg.runtime.settings import FilterSettings
from thalweg.runtime.spark import host_file, worker
from thalweg.runtime.spark.pickled_plan import PickledPlan
from thalweg.runtime.spark.verdict_column import KEPT
from thalweg.runtime.spark.worker import ChainTask, run_task

ROWS = 100
THRESHOLDS = (50, 65, 80)


class Limit:
    """An object whose attribute changes on the driver."""

    def __init__(self) -> None:
        self.least = 0

    def reached(self, x: int) -> bool:
        return x % ROWS >= self.least

    def load(self) -> int:
        return self.least


def at_least(least: int, x: int) -> bool:
    return x % ROWS >= least


class Changing:
    """Functions that read the same threshold in different ways, and how it is changed."""

    def __init__(self) -> None:
        self.limit = Limit()
        limit = self.limit
        self.shared = {"least": 0}
        shared = self.shared
        # of no importable module, so it is pickled with its globals, as a function of a script or a notebook is
        self.module: dict[str, Any] = {"rows": ROWS, "least": 0}
        exec("def of_a_global(x):\n    return x % rows >= least\n", self.module)
        nonlocal_value = 0

        def change(value: int) -> None:
            nonlocal nonlocal_value
            nonlocal_value = value

        self._change = change
        self.functions = {
            "cell": lambda x: x % ROWS >= nonlocal_value,
            "attribute": lambda x: x % ROWS >= limit.least,
            "method": limit.reached,
            "dictionary": lambda x: x % ROWS >= shared["least"],
            "partial": partial(lambda held, x: x % ROWS >= held["least"], shared),
            "global": self.module["of_a_global"],
        }
        self.filters: dict[str, Callable[[DataFrame], DataFrame]] = {
            name: tw.filters(tw.predicate(func, "id", name=name)) for name, func in self.functions.items()
        }
        self.filters["setup"] = tw.filters(tw.predicate(at_least, "id", setup=lambda: nonlocal_value))
        self.filters["setup method"] = tw.filters(tw.predicate(at_least, "id", setup=limit.load))
        self.filters["vectorized"] = tw.filters(
            tw.predicate(
                lambda ids: pa.array([x % ROWS >= nonlocal_value for x in ids.to_pylist()]),
                "id", name="vectorized", vectorized=True,
            )
        )  # fmt: skip
        both = tw.filters(tw.predicate(self.functions["cell"], "id", name="cell"), on_error="dead-letter")
        self.filters["tagged"] = lambda df: both.tagged(df).drop("thalweg_errors")

    def set(self, value: int) -> None:
        self.limit.least = self.shared["least"] = self.module["least"] = value
        self._change(value)


def test_each_micro_batch_uses_the_values_captured_for_it(spark: SparkSession, tmp_path: Path) -> None:
    from pyspark.sql import functions as F

    for number in range(len(THRESHOLDS)):
        add_file(tmp_path / "in", number, number * ROWS, ROWS)
    changing = Changing()
    kept: list[Counter[str]] = []
    plain: list[int] = []

    def each(batch: DataFrame, number: int) -> None:
        changing.set(THRESHOLDS[number])
        parts = [batch.transform(keep).select(F.lit(name), "id") for name, keep in changing.filters.items()]
        kept.append(Counter(name for name, _ in reduce(lambda a, b: a.union(b), parts).collect()))
        udf = F.udf(changing.functions["cell"], "boolean")  # what Spark itself makes of such a function
        plain.append(batch.filter(udf("id")).count())

    query = (
        source(spark, tmp_path / "in").writeStream.foreachBatch(each)
        .option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    )  # fmt: skip
    try:
        query.processAllAvailable()
    finally:
        query.stop()
    assert plain == [ROWS - least for least in THRESHOLDS]
    assert kept == [dict.fromkeys(changing.filters, count) for count in plain]


def test_a_dataframe_keeps_the_values_of_its_transform(spark: SparkSession) -> None:
    changing = Changing()
    changing.set(30)
    out = spark.range(ROWS).transform(changing.filters["dictionary"])
    changing.set(90)
    assert out.count() == ROWS - 30, "they are read when the filters are applied, as Spark reads those of a UDF"
    assert spark.range(ROWS).transform(changing.filters["dictionary"]).count() == ROWS - 90


@pytest.fixture
def a_worker(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """This process as a worker that has run nothing yet."""
    monkeypatch.setattr(host_file, "_base", lambda: tmp_path / "thalweg")
    monkeypatch.setattr(worker, "_KEPT", worker._KEPT.__class__())
    monkeypatch.setattr(worker, "_SETUPS", worker._SETUPS.__class__())


def a_task(
    *predicates: tw.Predicate, application: str = "one application", identity: str = "a", **settings: Any
) -> ChainTask:
    plan = PickledPlan.of(FilterPlan(predicates))
    return ChainTask(
        plan, FilterSettings.resolve(settings, environ={}), "one filter set", identity, application, streaming=False
    )


def kept_of(task: ChainTask, *columns: pa.Array) -> int:
    texts = [text for part in run_task(task, iter([columns])) for text in part.to_pylist()]
    return sum(text is not None and text.startswith(KEPT) for text in texts)


def kept_loop() -> Any:
    (kept,) = worker._KEPT.values()
    return kept.loop


IDS = pa.array(range(ROWS))


def above(least: int, **options: Any) -> tw.Predicate:
    return tw.predicate(lambda x: x >= least, "id", name="above", **options)


def counted(loads: Path, value: int) -> Any:
    def load() -> int:
        with loads.open("a") as out:
            out.write(f"{value}\n")
        return value

    return load


def test_a_setup_runs_again_only_if_its_values_changed(a_worker: None, tmp_path: Path) -> None:
    loads = tmp_path / "loads"

    def kept_with(setup_value: int, other: int, identity: str) -> int:
        return kept_of(
            a_task(
                tw.predicate(at_least, "id", setup=counted(loads, setup_value)), above(other), identity=identity
            ),
            IDS,
        )  # fmt: skip

    assert kept_with(50, 0, "a") == 50
    assert kept_with(50, 0, "a") == 50
    assert kept_with(50, 70, "a") == 30, "another predicate's function has changed, the setup has not"
    assert kept_with(50, 70, "another DataFrame") == 30
    assert loads.read_text().split() == ["50"]
    assert kept_with(60, 0, "a") == 40
    assert kept_with(60, 0, "a") == 40
    assert loads.read_text().split() == ["50", "60"]


def test_a_setup_that_fails_is_tried_again_with_the_next_task(a_worker: None, tmp_path: Path) -> None:
    model = tmp_path / "model"

    def task_with(value: int) -> ChainTask:
        def load() -> int:
            return int(model.read_text()) + value

        return a_task(tw.predicate(at_least, "id", setup=load))

    for value in (0, 10):
        model.unlink(missing_ok=True)
        with pytest.raises(tw.PredicateError, match="setup of predicate 'at_least' raised FileNotFoundError"):
            kept_of(task_with(value), IDS)
        model.write_text("50")
        assert kept_of(task_with(value), IDS) == 50 - value


def test_functions_that_did_not_change_are_not_unpickled_again(a_worker: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """So a function's own cache lives on, and a large captured value costs nothing per task."""
    opened: list[str] = []
    opens = PickledPlan.open

    def noted(self: PickledPlan) -> FilterPlan:
        opened.append(self.digest)
        return opens(self)

    monkeypatch.setattr(PickledPlan, "open", noted)
    tasks = [a_task(above(least)) for least in (10, 10, 10, 20, 10)]
    assert [kept_of(task, IDS) for task in tasks] == [90, 90, 90, 80, 90]
    assert len(opened) == 3


def test_what_was_learned_outlives_other_functions(a_worker: None) -> None:
    def task_of(least: int) -> ChainTask:
        return a_task(
            tw.predicate(lambda x: x >= 0 * least, "id", name="all_pass"), above(least), policy="a-greedy(p=1.0)"
        )

    ids = pa.array(range(5000))
    for least in (4900, 4950, 4990):
        assert kept_of(task_of(least), ids) == 5000 - least
    loop = kept_loop()
    assert loop.order == (1, 0)
    assert loop.rows_seen == 15_000


def test_a_changed_guard_hides_rows_also_in_profiling(a_worker: None, tmp_path: Path) -> None:
    """Sampled rows wait from task to task: what the guard of an earlier task let through, this one's may not."""
    shown = tmp_path / "shown"
    shown.touch()

    def task_of(least: int) -> ChainTask:
        def guarded(x: int) -> bool:
            with shown.open("a") as out:
                out.write(f"{x} {least}\n")
            return x >= 0

        return a_task(
            above(least),
            tw.predicate(lambda x: x < 0, "id", name="none"),
            tw.predicate(guarded, "id", after="above"),
            policy="a-greedy(p=1.0)",
        )  # fmt: skip

    for least, start in ((0, 0), (50, 60), (50, 70)):  # too few rows at a time for a look at them
        kept_of(task_of(least), IDS.slice(start, 6))
    assert shown.read_text().split("\n")[:-1] == [f"{x} 50" for start in (60, 70) for x in range(start, start + 6)]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"policy": "auto"}, {"policy": "static"}),
        ({"policy": "a-greedy(p=0.5)"}, {"policy": "a-greedy(p=0.01)"}),
        ({"policy": "a-greedy"}, {"policy": "a-greedy(profile_window=10)"}),
        ({"policy": "static"}, {"policy": "static", "slice_rows": 7}),
    ],
)
def test_settings_that_changed_are_this_tasks(a_worker: None, before: dict[str, Any], after: dict[str, Any]) -> None:
    first, second = (a_task(above(10), above_too(20), **settings) for settings in (before, after))
    assert [kept_of(task, IDS) for task in (first, second)] == [80, 80]
    changed = kept_loop()
    fresh = worker._new_loop(second, changed.chain, None)
    assert changed.policy.name == fresh.policy.name == after["policy"].partition("(")[0]
    assert getattr(changed.policy, "settings", None) == getattr(fresh.policy, "settings", None)
    assert changed.slice_rows == after.get("slice_rows", changed.slice_rows)
    kept_of(second, IDS)
    assert kept_loop() is changed


def above_too(least: int) -> tw.Predicate:
    return tw.predicate(lambda x: x >= least, "id", name="above_too")


def test_a_learned_order_outlives_a_change_of_settings(a_worker: None) -> None:
    def task_of(p: float) -> ChainTask:
        all_pass = tw.predicate(lambda x: x >= 0, "id", name="all_pass")
        return a_task(all_pass, above(4900), policy=tw.policy("a-greedy", p=p))

    kept_of(task_of(1.0), pa.array(range(5000)))
    assert kept_loop().order == (1, 0)
    kept_of(task_of(0.5), IDS)
    assert kept_loop().order == (1, 0)


def test_a_task_with_known_functions_costs_no_more(a_worker: None) -> None:
    """A large captured value is neither unpickled nor hashed again. The best of many: the machine may be busy."""
    heavy = bytes(20_000_000)
    task = a_task(tw.predicate(lambda x: x < len(heavy), "id", name="heavy"))
    taken = []
    for _ in range(20):
        begun = time.perf_counter()
        worker._kept_for(task, None)
        taken.append(time.perf_counter() - begun)
    assert min(taken[1:]) < 0.0005
