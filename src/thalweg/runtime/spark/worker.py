"""The part that runs in Spark's Python workers.

A closure is unpickled for every task, so what was learned lives here, in a module of the worker process: workers are
reused from task to task. Only what was learned is kept: the functions, the settings and the values of `setup` are
always those of the task at hand (`pickled_plan` tells whether the worker holds them already).

What was learned is keyed by the DataFrame it belongs to (an identity made once a `transform`, so two filter sets and
two applications never meet) and by the streaming query (so one DataFrame started twice does not mix). Inside
`foreachBatch`, where every micro-batch is a new DataFrame, the filter set takes the DataFrame's place. A worker that
has nothing yet starts from what its siblings left on this host, else from the order of the query's start: that of an
earlier run, if `events=` names its records, or the written one. Workers of
one host also share profile tuples (`tuple_pool`).
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
from pyspark import TaskContext

from thalweg.errors import PlanError
from thalweg.kernels import Chain, FilterChain
from thalweg.kernels.compiling import WorkingClock
from thalweg.kernels.filter_chain import set_up
from thalweg.plan import FilterPlan
from thalweg.runtime.filters.filter_loop import FilterLoop, LoopOptions, make_filter_loop
from thalweg.runtime.filters.outcome import Wanted
from thalweg.runtime.filters.recalled import Recalled
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
"""Queries a worker remembers; the one unused for longest is forgotten first."""
MOST_SETUPS = 8
"""Filter sets whose set-up values a worker holds: they may be models of gigabytes. The one unused for longest is
forgotten first."""


@dataclass(frozen=True)
class ChainTask:
    """What travels to the workers: the plan with the user's functions, the settings, and who it belongs to."""

    plan: PickledPlan
    settings: FilterSettings
    filters: str
    """The filter set, the same for every DataFrame it is applied to."""
    identity: str
    """This application of it to a DataFrame."""
    application: str
    streaming: bool
    wanted: Wanted = Wanted.KEPT
    attempts: int = 1
    """How often Spark tries a task."""
    policy_digest: str = ""
    """Of the policy, where it is a class of the user's own."""
    recalled: Recalled | None = None
    """What the event records of an earlier run say; read by the driver, because the file is on its host."""

    def learns_as(self, query: str | None) -> str:
        """What shares one policy's state."""
        in_each_batch = query is not None and not self.streaming
        return f"{self.filters if in_each_batch else self.identity}-{query or 'batch'}"


@dataclass(slots=True)
class _Kept:
    loop: FilterLoop[pa.RecordBatch]
    file: HostFile
    digest: str
    """Of the functions in the loop."""
    learning: tuple[object, ...]
    """What the loop was made with."""


_KEPT: OrderedDict[str, _Kept] = OrderedDict()
_SETUPS: OrderedDict[str, dict[str, tuple[str, Any]]] = OrderedDict()
"""By filter set and predicate: what `setup` returned, and the digest of the function that did."""


def run_task(task: ChainTask, batches: Iterator[Any]) -> Iterator[pa.Array]:
    """Filter the batches of one task. Each result is held back until the next batch is there, so that the last one is
    known and can carry the task's work; work is also sent after 1, 2, 4, 8... batches, for tasks that are cut short."""
    context = TaskContext.get()
    mark = _mark_for(task, context)
    try:
        yield from _run(task, batches, context, mark)
    finally:
        mark.remove()
    settle()


def _run(task: ChainTask, batches: Iterator[Any], context: TaskContext | None, mark: CallMark) -> Iterator[pa.Array]:
    kept = _kept_for(task, context.getLocalProperty("sql.streaming.queryId") if context else None)
    loop, file = kept.loop, kept.file
    loop.begin(f"partition {context.partitionId()}" if context else "the input")
    _watch(loop, task, mark)
    assert isinstance(loop.chain, FilterChain)
    columns_read = list(loop.chain.plan.columns)
    loop.take_work()  # of an earlier task that was cut short: it belongs to nobody now
    worker = _worker()
    told_for = name_of(context)
    held: Callable[[str | None], pa.Array] | None = None
    for count, columns in enumerate(batches):
        arrays = columns if isinstance(columns, tuple) else (columns,)
        empty = len(arrays[0]) == 0  # has no row that could carry work, if it should be the last
        if held is not None:
            yield held(encode(loop, worker, told_for) if empty or count & (count - 1) == 0 else None)
            held = None
        if empty:
            yield verdicts(np.zeros(0, dtype=bool), None)
            continue
        keep = loop.process(pa.RecordBatch.from_arrays(list(arrays), names=columns_read))
        failures = loop.take_failures()
        if task.wanted is Wanted.KEPT:
            failures = []
        elif task.wanted is Wanted.FAILED:
            keep[:] = False
        held = partial(verdicts, keep, failures=failures)
        if loop.work.switches:
            file.offer(loop.snapshot)
    if held is not None:
        yield held(encode(loop, worker, told_for))
    file.offer(loop.snapshot)


def _worker() -> str:
    return f"{socket.gethostname()}/{os.getpid()}"


def _mark_for(task: ChainTask, context: TaskContext | None) -> CallMark:
    which = (context.stageId(), context.partitionId(), context.attemptNumber()) if context else (0, 0, 0)
    names = task.plan.names
    give_up_if_it_always_dies(task.application, task.filters, names, *which, attempts=task.attempts)
    if not faulthandler.is_enabled():
        with contextlib.suppress(Exception):  # a standard error that is no file
            faulthandler.enable()  # a crash leaves its stack trace in the worker's standard error
    return CallMark(task.application, task.filters, *which)


def _watch(loop: FilterLoop[pa.RecordBatch], task: ChainTask, mark: CallMark) -> None:
    """Who is told of every call, and what becomes of rows that fail; a loop may outlive a change of settings."""
    settings = task.settings
    assert isinstance(loop.chain, FilterChain)
    loop.dead_letter, loop.redact = settings.dead_letter, settings.redact
    if settings.time_limit is None:
        loop.time_limit = contextlib.nullcontext()
        loop.chain.sentry = mark
    else:
        loop.time_limit = limit = TimeLimit(settings.time_limit, task.plan.names, kills=True)
        loop.chain.sentry = _Both(mark, limit)


@dataclass(frozen=True, slots=True)
class _Both:
    mark: CallMark
    limit: TimeLimit

    def enter(self, k: int) -> None:
        self.mark.enter(k)
        self.limit.enter(k)

    def leave(self) -> None:
        self.mark.leave()
        self.limit.leave()


def _kept_for(task: ChainTask, query: str | None) -> _Kept:
    """What this worker has learned for such tasks, with the functions and settings of this one."""
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
    """The settings that a loop is made with; `_watch` sets the others for every task."""
    settings = task.settings
    return settings.policy_name, task.policy_digest or settings.profile, settings.slice_rows, settings.seed


def _new_loop(
    task: ChainTask, chain: Chain[pa.RecordBatch], learned: dict[str, Any] | None
) -> FilterLoop[pa.RecordBatch]:
    settings = task.settings
    options = LoopOptions(settings.policy, settings.profile, settings.slice_rows)
    recalled = task.recalled if learned is None else None
    loop = make_filter_loop(chain, options, np.random.default_rng(settings.seed), recalled)
    if learned is not None:
        try:
            loop.restore(learned)
        except (PlanError, KeyError, ValueError, TypeError, ArithmeticError):
            # written by another version, or by another policy: it may be half restored, so begin anew
            return _new_loop(task, chain, None)
    return loop


def _chain(task: ChainTask) -> FilterChain:
    plan = task.plan.open()
    return FilterChain(plan, WorkingClock(), _setups(task, plan), time.thread_time_ns)


def _setups(task: ChainTask, plan: FilterPlan) -> dict[str, Any]:
    """What the `setup` functions return. Each is called once per worker, and again only where the function has
    changed, by what it captures or otherwise."""
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
