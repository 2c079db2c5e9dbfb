"""The part of filters that runs in Spark's Python workers.

A closure is unpickled for every task, so what was learned is kept here, in a module of the worker process: workers are
reused from task to task. Only what was learned is kept. The functions, the settings and the values of `setup` are
always those of the current task (`pickled_plan` decides whether the worker already has them).

What was learned is stored by DataFrame (with an identity per `transform`, so two filter sets and two applications never
mix) and by streaming query (so one DataFrame that is started twice does not mix). Inside `foreachBatch`, where every
micro-batch is a new DataFrame, it is stored by filter set instead. A new worker starts with what other workers on this
host have stored, or else with the order of the start of the query: that of an earlier run, if `events=` names its
records, or the written one. Workers of one host also share profile tuples (`tuple_pool`).
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import socket
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark import TaskContext

from thalweg.errors import PlanError
from thalweg.kernels import Chain, FilterChain
from thalweg.kernels.compiling import WorkingClock
from thalweg.kernels.filter_chain import set_up
from thalweg.plan import FilterPlan
from thalweg.runtime.filters.failed_row import FailedRow
from thalweg.runtime.filters.filter_loop import FilterLoop, LoopOptions, make_filter_loop
from thalweg.runtime.filters.outcome import Wanted
from thalweg.runtime.filters.recalled_order import RecalledOrder
from thalweg.runtime.filters.time_limit import TimeLimit
from thalweg.runtime.filters.work_record import encode
from thalweg.runtime.settings import FilterSettings
from thalweg.runtime.spark.call_mark import CallMark, give_up_if_it_always_dies
from thalweg.runtime.spark.host_file import HostFile
from thalweg.runtime.spark.pickled_plan import PickledPlan
from thalweg.runtime.spark.task_name import name_of
from thalweg.runtime.spark.tuple_pool import TuplePool
from thalweg.runtime.spark.verdict_column import verdicts
from thalweg.runtime.spark.worker_heap import settle

MOST_LOOPS = 64
"""The maximum number of queries that a worker remembers; the least recently used one is removed first."""
MOST_SETUPS = 8
"""The maximum number of filter sets whose set-up values a worker holds, which may be models of gigabytes. The least
recently used one is removed first."""


@dataclass(frozen=True)
class ChainTask:
    """What is sent to the workers: the plan with the user's functions, the settings, and the ids it belongs to."""

    plan: PickledPlan
    settings: FilterSettings
    filters: str
    """The id of the filter set, the same for every DataFrame it is applied to."""
    identity: str
    """The id of this application of it to a DataFrame."""
    application: str
    streaming: bool
    wanted: Wanted = Wanted.KEPT
    attempts: int = 1
    """How often Spark tries a task."""
    policy_digest: str = ""
    """The digest of the policy, if it is a class of the user."""
    recalled: RecalledOrder | None = None
    """What the event records of an earlier run contain; read by the driver, because the file is on its host."""

    def learns_as(self, query: str | None) -> str:
        """Return the key under which the state of the policy is stored."""
        in_each_batch = query is not None and not self.streaming
        return f"{self.filters if in_each_batch else self.identity}-{query or 'batch'}"


@dataclass(slots=True)
class _Kept:
    loop: FilterLoop[pa.RecordBatch]
    file: HostFile
    digest: str
    """The digest of the functions in the loop."""
    learning: tuple[object, ...]
    """The settings that the loop was made with."""


_KEPT: OrderedDict[str, _Kept] = OrderedDict()
_SETUPS: OrderedDict[str, dict[str, tuple[str, Any]]] = OrderedDict()
"""By filter set and predicate, what `setup` returned, and the digest of the function that returned it."""


def run_task(task: ChainTask, batches: Iterator[Any]) -> Iterator[pa.Array]:
    """Filter the batches of one task. Each result is held back until the next batch arrives, so that the last one is
    known and can contain what the task did. This is also sent after 1, 2, 4, 8... batches, for tasks that end early."""
    with chain_run(task) as run:
        yield from _verdicts(task, run, batches)
    settle()


def _verdicts(task: ChainTask, run: ChainRun, batches: Iterator[Any]) -> Iterator[pa.Array]:
    columns_read = list(run.plan.needed)
    held: Callable[[str | None], pa.Array] | None = None
    for count, columns in enumerate(batches):
        arrays = columns if isinstance(columns, tuple) else (columns,)
        empty = len(arrays[0]) == 0  # if it is the last one, it has no row that could contain the work
        if held is not None:
            yield held(run.take_work() if empty or count & (count - 1) == 0 else None)
            held = None
        if empty:
            yield verdicts(np.zeros(0, dtype=bool), None)
            continue
        keep, failures = run.process(pa.RecordBatch.from_arrays(list(arrays), names=columns_read))
        if task.wanted is Wanted.KEPT:
            failures = []
        elif task.wanted is Wanted.FAILED:
            keep[:] = False
        held = partial(verdicts, keep, failures=failures)
    if held is not None:
        yield held(run.take_work())


class ChainRun:
    """One task that runs a chain, with what this worker has learned for such tasks."""

    def __init__(self, task: ChainTask, mark: CallMark, context: TaskContext | None, source: str) -> None:
        kept = _kept_for(task, context.getLocalProperty("sql.streaming.queryId") if context else None)
        self._loop, self._file = kept.loop, kept.file
        self._loop.begin(source)
        _watch(self._loop, task, mark)
        self._loop.take_work()  # of an earlier task that ended early; it is not reported
        self._worker, self._task_name = _worker(), name_of(context)

    @property
    def plan(self) -> FilterPlan:
        """The predicates that the chain evaluates."""
        assert isinstance(self._loop.chain, FilterChain)
        return self._loop.chain.plan

    def process(self, rows: pa.RecordBatch) -> tuple[NDArray[np.bool_], list[FailedRow]]:
        """Return one bit per row, whether it passes, and the rows that failed."""
        keep = self._loop.process(rows)
        if self._loop.work.switches:
            self.share()
        return keep, self._loop.take_failures()

    def take_work(self) -> str:
        """Return what was done since the last call, as text."""
        return encode(self._loop, self._worker, self._task_name)

    def share(self) -> None:
        """Offer what was learned to new workers of this host."""
        self._file.offer(partial(_learned, self._loop))


@contextlib.contextmanager
def chain_run(task: ChainTask, source: str | None = None) -> Iterator[ChainRun]:
    """Run the chain of a task within the block. Errors name `source` as the origin of rows, or else the partition."""
    context = TaskContext.get()
    mark = _mark_for(task, context)
    try:
        run = ChainRun(
            task, mark, context, source or (f"partition {context.partitionId()}" if context else "the input")
        )
        yield run
        run.share()
    finally:
        mark.remove()


def _learned(loop: FilterLoop[pa.RecordBatch]) -> dict[str, Any]:
    """Return what new workers of this host start with. With `redact` this has no mesh, whose tree has values of rows; a
    new worker then searches one again."""
    learned = loop.snapshot()
    return {**learned, "mesh": None} if loop.redact and "mesh" in learned else learned


def _worker() -> str:
    return f"{socket.gethostname()}/{os.getpid()}"


def _mark_for(task: ChainTask, context: TaskContext | None) -> CallMark:
    which = (context.stageId(), context.partitionId(), context.attemptNumber()) if context else (0, 0, 0)
    names = task.plan.names
    give_up_if_it_always_dies(task.application, task.filters, names, *which, attempts=task.attempts)
    if not faulthandler.is_enabled():
        with contextlib.suppress(Exception):  # standard error is not a file
            faulthandler.enable()  # a crash leaves its stack trace in the worker's standard error
    return CallMark(task.application, task.filters, *which)


def _watch(loop: FilterLoop[pa.RecordBatch], task: ChainTask, mark: CallMark) -> None:
    """Set what watches calls of predicates, and what happens to rows that fail. A loop may outlive these settings."""
    settings = task.settings
    assert isinstance(loop.chain, FilterChain)
    loop.dead_letter, loop.redact = settings.dead_letter, settings.redact
    if settings.time_limit is None:
        loop.time_limit = contextlib.nullcontext()
        loop.chain.sentry = mark
    else:
        loop.time_limit = limit = TimeLimit(settings.time_limit, task.plan.names, kills=True)
        loop.chain.sentry = _MarkAndLimit(mark, limit)


@dataclass(frozen=True, slots=True)
class _MarkAndLimit:
    mark: CallMark
    limit: TimeLimit

    def enter(self, k: int) -> None:
        self.mark.enter(k)
        self.limit.enter(k)

    def leave(self) -> None:
        self.mark.leave()
        self.limit.leave()


def _kept_for(task: ChainTask, query: str | None) -> _Kept:
    """Return what this worker has learned for such tasks, with the functions and settings of this task."""
    key = task.learns_as(query)
    kept = _KEPT.get(key)
    if kept is None:
        file = HostFile(task.application, key)
        loop = _new_loop(task, _chain(task), file.read())
        loop.pool = TuplePool(file, _worker(), 2 * len(task.plan.names))
        kept = _KEPT[key] = _Kept(loop, file, task.plan.digest, _learning(task))
        while len(_KEPT) > MOST_LOOPS:
            _KEPT.popitem(last=False)
        return kept
    _KEPT.move_to_end(key)
    if kept.digest != task.plan.digest:
        kept.loop.take_chain(_chain(task))
        kept.digest = task.plan.digest
    if kept.learning != (learning := _learning(task)):
        pool = kept.loop.pool
        kept.loop = _new_loop(task, kept.loop.chain, kept.loop.snapshot())
        kept.loop.pool = pool
        kept.learning = learning
    return kept


def _learning(task: ChainTask) -> tuple[object, ...]:
    """Return the settings that a loop is made with; `_watch` sets the others for every task."""
    settings = task.settings
    return settings.policy_name, task.policy_digest or settings.profile, settings.slice_rows, settings.seed


def _new_loop(
    task: ChainTask, chain: Chain[pa.RecordBatch], learned: dict[str, Any] | None
) -> FilterLoop[pa.RecordBatch]:
    settings = task.settings
    options = LoopOptions(settings.policy.kind, settings.profile, settings.slice_rows)
    recalled = task.recalled if learned is None else None
    loop = make_filter_loop(chain, options, np.random.default_rng(settings.seed), recalled)
    if learned is not None:
        try:
            loop.restore(learned)
        except (PlanError, KeyError, ValueError, TypeError, ArithmeticError):
            # written by another version or policy: it may be partly restored, so start again
            return _new_loop(task, chain, None)
    return loop


def _chain(task: ChainTask) -> FilterChain:
    plan = task.plan.open()
    return FilterChain(plan, WorkingClock(), _setups(task, plan), time.thread_time_ns)


def _setups(task: ChainTask, plan: FilterPlan) -> dict[str, Any]:
    """Return the values of the `setup` functions. Each is called once per worker, and again only if the function or
    what it captures has changed."""
    held = _SETUPS.setdefault(task.filters, {})
    _SETUPS.move_to_end(task.filters)
    while len(_SETUPS) > MOST_SETUPS:
        _SETUPS.popitem(last=False)
    for predicate in plan.predicates:
        name, digest = predicate.name, task.plan.setups.get(predicate.name)
        if digest is not None and (name not in held or held[name][0] != digest):
            held.pop(name, None)
            held[name] = digest, set_up(predicate)
    return {name: value for name, (_, value) in held.items()}
