"""What a join did, as event records: one a stream, and two a switch of its probing order."""

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
    return records


def _told(watermark: int | None) -> int | None:
    """None too where the stream has ended."""
    return None if watermark is None or watermark >= END else watermark
