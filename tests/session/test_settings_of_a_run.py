"""Settings are resolved once for a run of a query, wherever it runs: all of its filters and joins get the same."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import thalweg as tw
from thalweg.runtime.joins.join_settings import JoinSettings
from thalweg.runtime.settings import AdaptSettings, FilterSettings

ROWS = pa.table({"ts": pa.array(range(0, 60, 3), pa.timestamp("us")), "k": [n % 4 for n in range(20)]})
TEXT = (
    "SELECT a.k FROM a, b WHERE a.k = b.k AND odd(a.k) AND b.k < 3 AND differ(a.ts, b.ts) WINDOW 30 MICROSECONDS"
)  # fmt: skip


def odd(k: int) -> bool:
    return k % 2 == 1


def differ(one: Any, other: Any) -> bool:
    return bool(one != other)


def asked(spark: Any = None) -> tw.ContinuousQuery:
    s = tw.session(spark)
    for alias in "ab":
        s.stream(alias, ROWS if spark is None else spark.createDataFrame(ROWS), time="ts")
    s.function("odd", odd, "boolean")
    s.function("differ", differ, "boolean")
    return s.query(TEXT, on_error="dead-letter")


RUNS = ("dataframe", "failed", "late", "explain")


def resolved_by(q: tw.ContinuousQuery, run: str, monkeypatch: pytest.MonkeyPatch) -> list[type]:
    """Run a query, and return which settings were resolved."""
    found: list[type] = []
    resolve = AdaptSettings.resolve.__func__  # type: ignore[attr-defined]

    def noted(cls: Any, *given: Any, **named: Any) -> Any:
        found.append(cls)
        return resolve(cls, *given, **named)

    monkeypatch.setattr(AdaptSettings, "resolve", classmethod(noted))
    made = getattr(q, run)()
    if hasattr(made, "collect"):
        made.collect()
    return found


@pytest.mark.parametrize("run", RUNS)
def test_in_this_process(run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert resolved_by(asked(), run, monkeypatch) == [JoinSettings, FilterSettings]


@pytest.mark.parametrize("run", RUNS)
def test_on_spark(spark: Any, run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert resolved_by(asked(spark), run, monkeypatch) == [JoinSettings, FilterSettings]
