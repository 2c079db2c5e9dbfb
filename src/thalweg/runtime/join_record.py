"""What a join did, as text that travels in a column, and as event records: one a stream, two a switch of its
probing order, and one a table.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

from thalweg.events import JoinObserved, Record
from thalweg.runtime.join_intake import StreamCounts
from thalweg.runtime.join_loop import JoinLoop
from thalweg.runtime.watermark import END
from thalweg.runtime.work_record import IF_ANY, Behalf, compact, in_force, switches_of

Extras = Mapping[str, Mapping[str, Any]]
"""By stream: fields of `JoinObserved` that the loop does not know, or of which a carrier knows better."""
_LISTS = ("evaluated", "passed", "profiled", "evaluated_in_force", "passed_in_force")


def records_of(
    loop: JoinLoop, *, run: str, kind: str, batch: int | None, worker: str, policy: str, extras: Extras | None = None
) -> list[Record]:  # fmt: skip
    """Since the last call."""
    return _records(_taken(loop, extras or {}), Behalf(run, batch, worker, policy), kind, None)


def encode(
    loop: JoinLoop, *, worker: str, task: Mapping[str, Any] | None = None, extras: Extras | None = None
) -> str:  # fmt: skip
    """What the loop did since the last call, as compact JSON; `task` says on whose behalf it was done.

    What is nothing is left out: a micro-batch brings one text a bucket, and most of what could be counted is 0."""
    return compact({**(task or {}), "worker": worker, "streams": _taken(loop, extras or {})})


def decode(
    text: str, *, policy: str, run: str, kind: str, batch: int | None, query_name: str | None = None
) -> list[Record]:
    """The event records of one encoded piece of work."""
    told: dict[str, Any] = json.loads(text)
    behalf = Behalf.taken(told, run, policy, batch)
    return _records(told["streams"], behalf, kind, query_name)


def _taken(loop: JoinLoop, extras: Extras) -> list[dict[str, Any]]:
    """What was counted, by stream; counters begin again."""
    taken = []
    for alias, probing in loop.loops.items():
        counts, work, chain, store = loop.counts[alias], probing.take_work(), loop.chains[alias], loop.stores[alias]
        looked, chain.looked = chain.looked, 0
        told: dict[str, Any] = {
            "rows": counts.rows, "late": counts.late, "most_late": counts.most_late, "filtered": counts.filtered,
            "ahead": counts.ahead, "no_time": counts.no_time, "no_key": counts.no_key, "most_rows": counts.most_rows,
            "most_bytes": counts.most_bytes, "kept": work.kept, "results": counts.results,
            "evaluated": work.evaluated, "passed": work.passed, "profiled": work.profiled,
            "profile_tuples": work.profile_tuples,
            "looked": looked + counts.looked, "total_ns": work.total_ns + counts.putting_ns,
            "profiling_ns": work.profiling_ns, "reoptimizing_ns": work.reoptimizing_ns, "expired": counts.expired,
            "window_rows": len(store), "window_bytes": store.nbytes, "most_matches": counts.most_matches,
            "hottest": counts.hottest, "limit": loop.most_matches, "watermark": _told(loop.watermarks.streams[alias]),
            "tick_ns": loop.binding.tick_ns, **switches_of(work), **in_force(work),
            **{name: getattr(work, name) for name in IF_ANY}, "compiling_ns": work.compiling_ns + counts.compiling_ns,
            **extras.get(alias, {}),
        }  # fmt: skip
        some = {name: value for name, value in told.items() if _is_some(name, value)}
        taken.append({"stream": alias, "others": probing.chain.pipeline.names, "order": probing.order, **some})
        loop.counts[alias] = StreamCounts(
            most_late=counts.most_late, most_rows=counts.most_rows, most_bytes=counts.most_bytes,
            most_matches=counts.most_matches, hottest=counts.hottest,
        )  # fmt: skip
    for alias in loop.binding.plan.tables:
        counts, store = loop.counts[alias], loop.stores[alias]
        told = {
            "rows": counts.rows, "filtered": counts.filtered, "no_key": counts.no_key, "window_rows": len(store),
            "window_bytes": store.nbytes, "most_rows": len(store), "most_bytes": store.nbytes,
            "limit": loop.most_matches, **extras.get(alias, {}),
        }  # fmt: skip
        taken.append({"stream": alias, "table": True, "others": (), "order": (), **told})
        loop.counts[alias] = StreamCounts()
    return taken


def _told(watermark: int | None) -> int | None:
    """None too where the stream has ended."""
    return None if watermark is None or watermark >= END else watermark


def _is_some(name: str, value: Any) -> bool:
    if name in _LISTS:
        return any(value)
    return value is not None if name == "watermark" else bool(value)  # a watermark of 0 is one


_NOTHING: dict[str, Any] = {
    f.name: {"hottest": "", "watermark": None}.get(f.name, 0) for f in fields(JoinObserved) if f.default is MISSING
}
"""For what was left out; fields with a default have it."""


def _records(streams: list[dict[str, Any]], behalf: Behalf, kind: str, query_name: str | None) -> list[Record]:
    records: list[Record] = []
    for stream in streams:
        told = dict(stream)
        names, omitted = tuple(told["others"]), told.pop("omitted", 0)
        none = (0,) * len(names)
        records += behalf.switch_records(told.pop("switches", ()), names, told["stream"])
        told |= {name: tuple(told.get(name, none)) for name in _LISTS}
        told.setdefault("rows_in_force", 0)
        told |= {"others": names, "order": tuple(names[k] for k in told["order"])}
        named = {"kind": kind, "omitted_switches": omitted, "query_name": query_name}
        records.append(JoinObserved(**{**_NOTHING, **told, **named, **behalf.fields()}))
    return records
