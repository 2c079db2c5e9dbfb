"""The work of a join, encoded as text in a column of the output, and as event records.

There is one record per stream, two per switch of its probing order, one per table, and one per inner result of a tree
of joins.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

from thalweg.events import JoinObserved, Origin, PlanObserved, Record
from thalweg.events.counts import from_plain, to_plain
from thalweg.events.parts import JoinedCounts, StreamCounts
from thalweg.events.records import UNKNOWN_ORIGIN
from thalweg.runtime.filters.work_record import compact, listed_switches, origin_of, switch_records
from thalweg.runtime.joins.join_protocol import WindowedJoin
from thalweg.runtime.watermark import END


class TakenStream(NamedTuple):
    """What a loop did with the rows of a stream, table or inner result between two reports."""

    record: JoinObserved
    switches: Sequence[Sequence[Any]] = ()
    """As `listed_switches` returned them."""


Taken = list[TakenStream]
R = TypeVar("R", JoinObserved, PlanObserved)


def observed(taken: Taken) -> list[JoinObserved]:
    """Return the records of streams, tables and inner results."""
    return [one.record for one in taken]


def take_counters(loop: WindowedJoin) -> Taken:
    """Return what the loop did since the last call, by stream, and reset the counters."""
    taken = []
    for alias in loop.streams:
        counts, probed = _counts(loop, alias), loop.take_probed(alias)
        counts.stream.tick_ns = loop.binding.tick_ns
        counts.matches.limit, counts.window.watermark = (
            loop.options.limits.max_matches, _current(loop.watermarks.streams[alias])
        )  # fmt: skip
        counts.matches.looked += probed.looked
        work = probed.work
        counts.times.add(work.times)
        listed = listed_switches(work.switches, redact=loop.options.redact)
        record = JoinObserved(
            UNKNOWN_ORIGIN, alias, probed.others, tuple(probed.others[k] for k in probed.order),
            omitted_switches=listed.get("omitted", 0), stream=counts.stream, matches=counts.matches,
            window=counts.window, probes=work.chain, times=counts.times, in_force=work.in_force, trials=work.trials,
            routes=work.routes,
        )  # fmt: skip
        taken.append(TakenStream(record, listed.get("switches", ())))
    for alias in loop.binding.plan.tables:
        counts = _counts(loop, alias)
        counts.window.measure(counts.window.rows, counts.window.bytes)
        taken.append(
            TakenStream(JoinObserved(UNKNOWN_ORIGIN, alias, table=True, stream=counts.stream, window=counts.window))
        )
    for name, counts in loop.take_inner().items():
        taken.append(
            TakenStream(JoinObserved(UNKNOWN_ORIGIN, name, inner=True, stream=counts.stream, window=counts.window))
        )
    return taken


def _counts(loop: WindowedJoin, alias: str) -> JoinedCounts:
    """Return the counters of a stream or table since the last call, with what its window holds now."""
    counts, window = loop.counts[alias].taken(), loop.windows[alias]
    counts.window.rows, counts.window.bytes = len(window), window.nbytes
    return counts


def _current(watermark: int | None) -> int | None:
    """Return the watermark; None also if the stream has ended."""
    return None if watermark is None or watermark >= END else watermark


def counted_elsewhere(taken: Taken, streams: Iterable[str]) -> Taken:
    """Return the counters without the rows of some streams. Several buckets get the same rows, but only one of them
    counts these; each still counts its results."""
    return [
        one._replace(record=replace(one.record, stream=StreamCounts())) if one.record.alias in streams else one
        for one in taken
    ]


def records_of(taken: Taken, origin: Origin, plan: PlanObserved | None = None) -> list[Record]:
    """Return the event records of the work that `take_counters` returned. `plan`: what is known of the plan."""
    records: list[Record] = [] if plan is None else [replace(plan, origin=origin)]
    for record, switches in taken:
        of_stream = replace(origin, worker=f"{origin.worker} {record.alias}")
        records += switch_records(of_stream, switches, record.others)
        records.append(replace(record, origin=origin))
    return records


def encode(
    taken: Taken, *, worker: str, task: Mapping[str, Any] | None = None, plan: PlanObserved | None = None
) -> str:  # fmt: skip
    """Return the work that `take_counters` returned as compact JSON. `task` identifies the Spark task."""
    streams = [_plain(one.record) | ({"switches": one.switches} if one.switches else {}) for one in taken]
    return compact({**(task or {}), "worker": worker, "streams": streams, **({"plan": _plain(plan)} if plan else {})})


def decode(
    text: str, *, policy: str, run: str, kind: str, batch: int | None, query_name: str | None = None
) -> list[Record]:
    """Return the event records of one encoded piece of work."""
    found: dict[str, Any] = json.loads(text)
    origin = origin_of(found, Origin(run, kind, batch, policy=policy, query_name=query_name))
    streams = [
        TakenStream(_record(JoinObserved, one, len(one.get("others", ()))), one.get("switches", ()))
        for one in found["streams"]
    ]
    return records_of(streams, origin, _record(PlanObserved, found["plan"], 0) if "plan" in found else None)


def _plain(record: JoinObserved | PlanObserved) -> dict[str, Any]:
    """Return a record for JSON, without its origin."""
    values = to_plain(record)
    del values["origin"]
    return values


def _record(kind: type[R], values: dict[str, Any], names: int) -> R:
    """Return the record that `_plain` described."""
    return from_plain(kind, values | {"origin": to_plain(UNKNOWN_ORIGIN)}, names)
