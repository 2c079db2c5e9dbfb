"""A query of a session: explained, given as a DataFrame or a table, or started."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from thalweg.errors import PlanError, ThalwegError
from thalweg.events import Record
from thalweg.optimizer import optimize
from thalweg.plan.query_plan import QueryPlan
from thalweg.plan.relation import UserFunction
from thalweg.session.explanation import Explanation, explanation
from thalweg.session.handle import BatchRun, Handle, Stopped, StreamRun
from thalweg.session.local_run import LocalRun
from thalweg.session.parts import Parts, QueryReport
from thalweg.session.query_settings import QuerySettings
from thalweg.session.running import Running
from thalweg.session.spark_run import SparkRun
from thalweg.stats import Knowledge

MOST_EVENTS = 10_000
"""Remembered; older ones are let go."""


class ContinuousQuery:
    """``q.explain()``, ``q.dataframe()``, ``q.batches()`` (in this process), ``q.start(...)``; then ``q.report()`` and
    ``q.events()``."""

    def __init__(
        self,
        plan: QueryPlan,
        functions: Mapping[str, UserFunction],
        given: Mapping[str, Any],
        data: Mapping[str, Any],
        *,
        name: str | None,
        args: Mapping[str, object],
        spark: Any,
        running: Running,
        known: Knowledge,
    ) -> None:
        self.name = name
        self._functions, self._given, self._data, self._spark = functions, given, data, spark
        self._plans = {plan.policy: plan}
        self._running, self._known = running, known
        self._args = {key: repr(value) for key, value in args.items()}
        self._parts = Parts()
        self._events: deque[Record] = deque(maxlen=MOST_EVENTS)
        self._asked = plan.query
        if spark is not None:
            self._spark_run().check()

    @property
    def schema(self) -> pa.Schema:
        """The columns of the result."""
        return self._asked.schema

    @property
    def plan(self) -> QueryPlan:
        """The first plan under the policy that applies now."""
        return self._planned(self._settings().policy_name)

    def _settings(self) -> QuerySettings:
        return QuerySettings.in_force(self._given, self._spark)

    def _planned(self, policy: str) -> QueryPlan:
        """A policy decides which order the query begins with, not what it answers."""
        if policy not in self._plans:
            engine = "local" if self._spark is None else "spark"
            self._plans[policy] = optimize(self._asked, engine, policy, self._known)
        return self._plans[policy]

    def explain(self) -> Explanation:
        """What will run, and of what ran what was counted: ``print(q.explain())``, or the last line of a cell."""
        return self.explained(self.plan, self._parts)

    def explained(self, plan: QueryPlan, parts: Parts) -> Explanation:
        """Of one run."""
        streaming = any(getattr(df, "isStreaming", False) for df in self._data.values())
        where = "this process" if self._spark is None else "a Spark stream" if streaming else "Spark, on finished data"
        return explanation(plan, where, parts.report())

    def dataframe(self) -> Any:
        """On Spark a DataFrame to go on with; in this process a table of all results."""
        if self._spark is None:
            return pa.Table.from_batches(list(self.batches()), self.schema)
        run = self._spark_run()
        made = run.dataframe()
        self._parts = run.parts
        return made

    def _spark_run(self) -> SparkRun:
        settings = self._settings()
        plan = self._planned(settings.policy_name)
        return SparkRun(plan, self._functions, settings, self._data, self._events.append)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """In this process: results as they are asked for. Every call is a pass of its own."""
        if self._spark is not None:
            raise PlanError("batches() is for sessions without Spark; q.dataframe() gives a DataFrame")
        run = self._local_run()
        return run.batches()

    def _local_run(self) -> LocalRun:
        data = {alias: _reader(source) for alias, source in self._data.items()}
        settings = self._settings()
        plan = self._planned(settings.policy_name)
        run = LocalRun(plan, self._functions, settings, data, self._events.append)
        self._parts = run.parts
        return run

    def start(
        self,
        path: str | None = None,
        format: str | None = None,
        options: Mapping[str, str] | None = None,
        trigger: str | Mapping[str, Any] | None = None,
        checkpoint: str | None = None,
    ) -> Handle:
        """Write the results, in the background.

        Parameters
        ----------
        path, format, options
            Of the sink, as in Spark's ``writeStream``: ``format="parquet"`` by default where a path is given. In this
            process parquet and csv.
        trigger
            ``"10 seconds"``, ``"availableNow"``, or what ``writeStream.trigger`` takes, as a dict.
        checkpoint
            The folder of a Spark stream's checkpoint. It is bound to this query: a restart goes on with the plan it was
            begun with, another query is refused.
        """
        path, checkpoint = (None if place is None else os.fspath(place) for place in (path, checkpoint))
        with self._running.lock:
            return self._start(path, format, dict(options or {}), trigger, checkpoint)

    def _start(
        self, path: str | None, format: str | None, options: dict[str, Any], trigger: Any, checkpoint: str | None
    ) -> Handle:
        if self.name is not None and self._running.named(self.name):
            raise PlanError(f"a query {self.name!r} is running: stop it first, or give this one another name=")
        streaming = self._spark is not None and any(df.isStreaming for df in self._data.values())
        kind = format or ("parquet" if path is not None else None)
        if kind is None:
            others = "format='console', 'memory', 'noop'" if streaming else "format='noop'"
            raise PlanError(f"start() needs to know where results go: path=..., or {others}")
        if streaming:
            handle: Handle = self._stream(path, kind, options, trigger, checkpoint)
        else:
            for given, value in (("trigger", trigger), ("checkpoint", checkpoint)):
                if value is not None:
                    raise PlanError(
                        f"{given}={value!r} is for Spark streams: this run reads its data to their end; leave it out"
                    )
            handle = self._finished(path, kind, options)
        self._running.add(handle)
        return handle

    def _stream(
        self, path: str | None, kind: str, options: dict[str, str], trigger: Any, checkpoint: str | None
    ) -> StreamRun:
        from thalweg.runtime.spark.sql.start import checkpoint_of, start_stream

        run = self._spark_run()
        place = checkpoint_of(self._spark, checkpoint, options, path, self.name)

        def made(plan: QueryPlan, buckets: int | None) -> Any:
            run.plan, run.buckets = plan, buckets
            return run.dataframe()

        query = start_stream(
            self._spark, run.plan, made, kind, path, options, trigger, place, self.name,
            {"query": self._asked.fingerprint, "text": self._asked.text, "args": self._args},
        )  # fmt: skip
        self._parts = run.parts
        return StreamRun(self, run, query, place)

    def _finished(self, path: str | None, kind: str, options: dict[str, str]) -> BatchRun:
        if self._spark is not None:
            run = self._spark_run()
            writer = (
                run.dataframe()
                .write.format(kind)
                .mode(options.pop("mode", "overwrite" if kind == "noop" else "error"))
                .options(**options)
            )
            self._parts = run.parts
            from thalweg.runtime.spark.sql.finished import FinishedJob

            job = FinishedJob(self._spark, writer, path, run.settings.redact)

            def save(told: Callable[[int | None], None]) -> None:
                try:
                    job.save()
                except ThalwegError:
                    if job.cancelled:
                        raise Stopped from None
                    raise

            return BatchRun(self, run, save, interrupt=job.cancel)
        from thalweg.session.local_sink import LocalSink

        local = self._local_run()
        sink = LocalSink.claim(path, kind, options, self.schema)

        def work(told: Callable[[int | None], None]) -> None:
            try:
                local.data = {alias: _telling(batches, told) for alias, batches in local.data.items()}
                sink.write(local.batches(), told)
            finally:
                sink.release()

        try:
            return BatchRun(self, local, work, release=sink.release)
        except BaseException:  # no thread could be started
            sink.release()
            raise

    def report(self) -> QueryReport:
        """What the adaptive parts of the latest run have counted so far. Never waits for a query."""
        return self._parts.report()

    def events(self) -> list[Record]:
        """What was observed and decided, as plain records, the latest last."""
        return list(self._events)

    def __repr__(self) -> str:
        text = " ".join(self._asked.text.split())
        return f"ContinuousQuery({self.name or ''}{': ' if self.name else ''}{text})"


def _telling(read: Callable[[], Any], told: Callable[[None], None]) -> Callable[[], Any]:
    """Every batch is told when it is read."""

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in read():
            told(None)
            yield batch

    return batches


def _reader(source: Any) -> Callable[[], Any]:
    def batches() -> Any:
        if isinstance(source, pa.RecordBatch):
            return [source]
        return source.to_batches() if hasattr(source, "to_batches") else source

    return batches
