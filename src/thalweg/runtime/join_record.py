"""What a join did, as event records: one a stream, two a switch of its probing order, and one a table."""

from __future__ import annotations

from thalweg.events import JoinObserved, Record, Switched, VerdictGiven
from thalweg.runtime.join_intake import StreamCounts
from thalweg.runtime.join_loop import JoinLoop
from thalweg.runtime.watermark import END
from thalweg.runtime.work_record import MOST_SWITCHES


def records_of(loop: JoinLoop, *, run: str, kind: str, batch: int | None, worker: str, policy: str) -> list[Record]:
    """Since the last call."""
    records: list[Record] = []
    for alias, probing in loop.loops.items():
        names, counts, work = probing.chain.pipeline.names, loop.counts[alias], probing.take_work()
        for switch in work.switches[:MOST_SWITCHES]:
            old, new = (tuple(names[k] for k in order) for order in (switch.before, switch.after))
            records.append(VerdictGiven(run, batch, f"{worker} {alias}", policy, switch.at, old, new, switch.reason))
            records.append(Switched(run, batch, f"{worker} {alias}", switch.at, new))
        chain, store = loop.chains[alias], loop.stores[alias]
        looked, chain.looked = chain.looked, 0
        records.append(
            JoinObserved(
                run=run, kind=kind, batch=batch, worker=worker, policy=policy, stream=alias, others=names,
                order=tuple(names[k] for k in probing.order),
                rows=counts.rows, late=counts.late, most_late=counts.most_late, filtered=counts.filtered,
                most_rows=counts.most_rows, most_bytes=counts.most_bytes,
                no_time=counts.no_time, no_key=counts.no_key, kept=work.kept,
                results=counts.results, evaluated=tuple(work.evaluated), passed=tuple(work.passed),
                profiled=tuple(work.profiled), profile_tuples=work.profile_tuples, looked=looked + counts.looked,
                total_ns=work.total_ns + counts.putting_ns, profiling_ns=work.profiling_ns,
                reoptimizing_ns=work.reoptimizing_ns, expired=counts.expired, window_rows=len(store),
                window_bytes=store.nbytes, watermark=_told(loop.watermarks.streams[alias]),
                most_matches=counts.most_matches, hottest=counts.hottest, limit=loop.most_matches,
                omitted_switches=max(len(work.switches) - MOST_SWITCHES, 0),
            )
        )  # fmt: skip
        loop.counts[alias] = StreamCounts(
            most_late=counts.most_late, most_rows=counts.most_rows, most_bytes=counts.most_bytes,
            most_matches=counts.most_matches, hottest=counts.hottest,
        )  # fmt: skip
    for alias in loop.binding.plan.tables:
        counts, store = loop.counts[alias], loop.stores[alias]
        records.append(
            JoinObserved(
                run=run, kind=kind, batch=batch, worker=worker, policy=policy, stream=alias, table=True,
                others=(), order=(), rows=counts.rows, filtered=counts.filtered, no_key=counts.no_key,
                window_rows=len(store), window_bytes=store.nbytes, most_rows=len(store), most_bytes=store.nbytes,
                late=0, no_time=0, kept=0, results=0, evaluated=(), passed=(), profiled=(), profile_tuples=0, looked=0,
                total_ns=0, profiling_ns=0, reoptimizing_ns=0, expired=0, watermark=None, most_matches=0, hottest="",
                limit=loop.most_matches,
            )
        )  # fmt: skip
        loop.counts[alias] = StreamCounts()
    return records


def _told(watermark: int | None) -> int | None:
    """None too where the stream has ended."""
    return None if watermark is None or watermark >= END else watermark
