"""The work of a join, encoded as text in a column of the output, and as event records.

There is one record per stream, two per switch of its probing order, one per table, and one per inner result of a tree
of joins.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from typing import Any

from thalweg.events import JoinObserved, PlanObserved, Record
from thalweg.runtime.filters.work_record import IF_ANY, RecordOrigin, by_route, compact, in_force, switches_of
from thalweg.runtime.joins.join_intake import StreamCounts
from thalweg.runtime.joins.join_protocol import WindowedJoin
from thalweg.runtime.watermark import END

Extras = Mapping[str, Mapping[str, Any]]
"""Fields of `JoinObserved` by stream that the loop does not know, or that the runtime knows better."""
Taken = list[dict[str, Any]]
"""The counters of streams, tables and kept sub-joins, each with its name."""
_SAMPLES = ("sampled", "partners", "partnered")
_INPUT = ("rows", "late", "filtered", "ahead", "no_time", "no_key")
_MAY_BE_ZERO = ("watermark", "first_time", "last_time", "mesh_version", "predicted_saving_ns", "realized_saving_ns")
_ROUTES = ("route_rows", "route_evaluated", "route_ns")
_LISTS = ("evaluated", "passed", "profiled", "evaluated_in_force", "passed_in_force")


def records_of(
    taken: Taken, record_origin: RecordOrigin, kind: str, plan: Mapping[str, Any] | None = None
) -> list[Record]:  # fmt: skip
    """Return the event records of the work that `take_counters` returned. `plan`: what is known of the plan."""
    return _records(taken, record_origin, kind, None, plan)


def encode(
    taken: Taken, *, worker: str, task: Mapping[str, Any] | None = None, plan: Mapping[str, Any] | None = None
) -> str:  # fmt: skip
    """Return the work that `take_counters` returned as compact JSON. `task` identifies the Spark task."""
    return compact({**(task or {}), "worker": worker, "streams": taken, **({"plan": plan} if plan else {})})


def decode(
    text: str, *, policy: str, run: str, kind: str, batch: int | None, query_name: str | None = None
) -> list[Record]:
    """Return the event records of one encoded piece of work."""
    record: dict[str, Any] = json.loads(text)
    record_origin = RecordOrigin.taken(record, run, policy, batch)
    return _records(record["streams"], record_origin, kind, query_name, record.get("plan"))


def take_counters(loop: WindowedJoin, extras: Extras | None = None) -> Taken:
    """Return what the loop did since the last call, by stream, and reset the counters.

    Zero and empty values are left out: a micro-batch has one text per bucket, and most counters are 0."""
    extras = extras or {}
    taken = []
    limit = loop.options.limits.max_matches
    for alias in loop.streams:
        counts, probed, window = loop.counts[alias], loop.take_probed(alias), loop.windows[alias]
        work = probed.work
        record: dict[str, Any] = {
            "rows": counts.rows, "late": counts.late, "most_late": counts.most_late, "filtered": counts.filtered,
            "ahead": counts.ahead, "no_time": counts.no_time, "no_key": counts.no_key, "most_rows": counts.most_rows,
            "most_bytes": counts.most_bytes, "kept": work.kept, "results": counts.results,
            "evaluated": work.evaluated, "passed": work.passed, "profiled": work.profiled,
            "profile_tuples": work.profile_tuples,
            "looked": probed.looked + counts.looked, "total_ns": work.total_ns + counts.putting_ns,
            "profiling_ns": work.profiling_ns, "reoptimizing_ns": work.reoptimizing_ns, "expired": counts.expired,
            "window_rows": len(window), "window_bytes": window.nbytes, "most_matches": counts.most_matches,
            "hottest": counts.hottest, "limit": limit, "watermark": _current(loop.watermarks.streams[alias]),
            "tick_ns": loop.binding.tick_ns, "batches": counts.batches, "first_time": counts.first_time,
            "last_time": counts.last_time, **switches_of(work, redact=loop.options.redact), **in_force(work),
            **{name: getattr(work, name) for name in IF_ANY}, "compiling_ns": work.compiling_ns + counts.compiling_ns,
            **by_route(work, probed.cost_ns, probed.mesh, redact=loop.options.redact), **extras.get(alias, {}),
        }  # fmt: skip
        some = {name: value for name, value in record.items() if _is_some(name, value)}
        taken.append({"stream": alias, "others": probed.others, "order": probed.order, **some})
        loop.counts[alias] = StreamCounts(
            most_late=counts.most_late, most_rows=counts.most_rows, most_bytes=counts.most_bytes,
            most_matches=counts.most_matches, hottest=counts.hottest,
        )  # fmt: skip
    for alias in loop.binding.plan.tables:
        counts, window = loop.counts[alias], loop.windows[alias]
        record = {
            "rows": counts.rows, "filtered": counts.filtered, "no_key": counts.no_key, "window_rows": len(window),
            "window_bytes": window.nbytes, "most_rows": len(window), "most_bytes": window.nbytes,
            "limit": limit, **extras.get(alias, {}),
        }  # fmt: skip
        taken.append({"stream": alias, "table": True, "others": (), "order": (), **record})
        loop.counts[alias] = StreamCounts()
    for name, inner in loop.take_inner().items():
        record = {
            "rows": inner.made, "expired": inner.expired, "window_rows": inner.rows, "window_bytes": inner.nbytes,
            "most_rows": inner.most_rows, "most_bytes": inner.most_bytes,
        }  # fmt: skip
        taken.append({"stream": name, "inner": True, "others": (), "order": (), **record})
    return taken


def counted_elsewhere(taken: Taken, streams: Iterable[str]) -> Taken:
    """Return the counters without the input rows of some streams. Several buckets get the same rows, but only one of
    them counts these; each still counts its results."""
    return [
        {name: value for name, value in one.items() if name not in _INPUT} if one["stream"] in streams else one
        for one in taken
    ]


def _current(watermark: int | None) -> int | None:
    """Return the watermark; None also if the stream has ended."""
    return None if watermark is None or watermark >= END else watermark


def _is_some(name: str, value: Any) -> bool:
    if name in _LISTS:
        return any(value)
    return value is not None if name in _MAY_BE_ZERO else bool(value)  # a time of 0 is one


_NOTHING: dict[str, Any] = {
    f.name: {"hottest": "", "watermark": None}.get(f.name, 0) for f in fields(JoinObserved) if f.default is MISSING
}
"""The values of fields that were left out of the text. Fields with a default use that."""


def _records(
    streams: Taken, record_origin: RecordOrigin, kind: str, query_name: str | None, plan: Mapping[str, Any] | None
) -> list[Record]:
    records: list[Record] = []
    if plan is not None:
        records.append(PlanObserved(kind=kind, **plan, **record_origin.fields()))
    for stream in streams:
        record = dict(stream)
        names, omitted = tuple(record["others"]), record.pop("omitted", 0)
        none = (0,) * len(names)
        records += record_origin.switch_records(record.pop("switches", ()), names, record["stream"])
        record |= {name: tuple(record.get(name, none)) for name in _LISTS}
        record.setdefault("rows_in_force", 0)
        record.pop("batches", None)
        record |= {name: tuple(record[name]) for name in (*_SAMPLES, *_ROUTES) if name in record}
        record |= {"others": names, "order": tuple(names[k] for k in record["order"])}
        named = {"kind": kind, "omitted_switches": omitted, "query_name": query_name}
        records.append(JoinObserved(**{**_NOTHING, **record, **named, **record_origin.fields()}))
    return records
