"""What tasks report, collected by Spark's `observe` and given to a function on the driver.

Of a stream it arrives with the progress of every micro-batch (`stream_watch`), of finished data with the first action
(`first_action`).
"""

from __future__ import annotations

from functools import partial

from pyspark.sql import Column, DataFrame, Observation

from thalweg.runtime.spark.first_action import Fetch, fetch_without_being_asked
from thalweg.runtime.spark.stream_watch import WorkSink, watch


def with_observed_work(
    df: DataFrame, metric: str, work: Column, report: WorkSink, identity: str, *, unasked: bool
) -> tuple[DataFrame, Fetch | None]:
    """`df`, whose column `work` (a list of texts) is observed, and, of finished data, what fetches it. `unasked`: it is
    fetched even if nobody asks for a report, because event records are written."""
    if df.isStreaming:
        watch(df.sparkSession, metric, report)
        return df.observe(metric, work), None
    observation = Observation(metric)
    observed = df.observe(observation, work)  # before anybody asks it
    fetch = Fetch(observation, partial(report, f"batch {identity[:8]}", None))
    if unasked:
        fetch_without_being_asked(fetch)
    return observed, fetch
