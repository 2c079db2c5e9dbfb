"""Collects what tasks report with Spark's `observe`, and passes it to a function on the driver.

For a stream it arrives with the progress of every micro-batch (`stream_watch`). For finished data it arrives with the
first action, and is fetched without ever waiting for one (`ObservationFetch`).
"""

from __future__ import annotations

import atexit
import contextlib
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from pyspark.sql import Column, DataFrame, Observation

from thalweg.runtime.spark.stream_watch import WorkSink, watch

POLL_S = 0.2


class ObservationFetch:
    """Fetches once what the first action observed."""

    def __init__(self, observation: Observation, use: Callable[[list[str]], None]) -> None:
        self._observation = observation
        self._use = use
        self._lock = threading.Lock()
        self.ended = False
        """Whether the first action has ended."""
        self.observed = False
        """Whether it observed anything: an action that fails, or reads no rows, observes nothing."""

    def __call__(self) -> bool:
        """Return whether the first action has ended. What it observed is used before this returns."""
        with self._lock:
            if not self.ended and (result := _result(self._observation)) is not None:
                self.ended = True
                texts = list(result.get("work") or ())
                self.observed = bool(texts)
                self._use(texts)
            return self.ended


def _result(observation: Observation) -> dict[str, Any] | None:
    """Return what was observed; None until an action has ended. `Observation.get` would wait for one on classic Spark,
    and is empty on Connect."""
    java = getattr(observation, "_jo", None)
    if java is not None:
        if not java.future().isCompleted():
            return None
        try:
            found: dict[str, Any] = observation.get
        except Exception:  # an action that failed, or whose plan is empty, has observed nothing
            return {}
        return found
    try:
        return observation.get or None
    except Exception:  # on Connect it raises the error of the action, which its caller has seen
        return {}


_OUTSTANDING: list[ObservationFetch] = []
_STARTED = threading.Event()


def fetch_without_being_asked(fetch: ObservationFetch) -> None:
    """Fetch in the background for event records, because `report()` may never be called. One thread serves all fetches,
    and they are tried once more at exit."""
    _OUTSTANDING.append(fetch)
    if not _STARTED.is_set():
        _STARTED.set()
        atexit.register(_fetch_all)
        threading.Thread(target=_keep_fetching, name="thalweg-events", daemon=True).start()


def _keep_fetching() -> None:
    while True:
        _fetch_all()
        time.sleep(POLL_S)


def _fetch_all() -> None:
    with contextlib.suppress(Exception):  # Spark was stopped
        for fetch in list(_OUTSTANDING):
            if fetch():
                _OUTSTANDING.remove(fetch)


def with_observed_work(
    df: DataFrame, metric: str, work: Column, report: WorkSink, identity: str, *, unasked: bool
) -> tuple[DataFrame, ObservationFetch | None]:
    """Return `df` with its column `work` (a list of texts) observed and, for finished data, the fetch of it. `unasked`:
    it is fetched even without a call of `report()`, because event records are written."""
    if df.isStreaming:
        watch(df.sparkSession, metric, report)
        return df.observe(metric, work), None
    observation = Observation(metric)
    observed = df.observe(observation, work)  # must precede the first use of the observation
    fetch = ObservationFetch(observation, partial(report, f"batch {identity[:8]}", None))
    if unasked:
        fetch_without_being_asked(fetch)
    return observed, fetch
