"""What is counted of a running join: rates, batches, shares of pairs that join, and results of sub-joins.

Answers: `numbers`, what costs of plans are computed from, and `rates`.
How: counters of each report are added to means over the last reports (`DecayedMean`). The shares of pairs that join are
sampled from the windows (`edge_sample`), and follow from probes where few rows find a partner. A share that was sampled
well and differs from its mean by more than a threshold is estimated anew.
Guarantee: a replayed round counts once, because snapshots are part of the state of the join.

Reference: Kulkarni, Ravishankar: OM: A Tunable Framework for Optimizing Continuous Queries over Data Streams, section
4.3.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from time import thread_time_ns
from typing import Any

import numpy as np

from thalweg.cost.join_numbers import JoinNumbers
from thalweg.events import JoinObserved
from thalweg.events.parts import StreamCounts
from thalweg.optimizer.joins.estimates import needed_pairs, neighbors
from thalweg.plan.joins.graph import JoinGraph
from thalweg.plan.joins.shape import nodes_of, streams_of, to_text
from thalweg.runtime.joins.edge_sample import PairCount, sample_pair
from thalweg.runtime.joins.join_protocol import WindowedJoin
from thalweg.stats.decayed_mean import DECAY, ROUNDS, THRESHOLD, DecayedMean, differs

LEAST_JOINED = 5
"""A share of pairs is known if at least so many of them joined, or..."""
ENOUGH_PAIRS = 20_000_000
"""...if so many pairs were tried."""
WELL_KNOWN = 200
"""If so many pairs have joined, a share is known well enough..."""
SELDOM = 10
"""...for this many reports. Then it is sampled again, because it may have changed."""
FEW = 0.3
"""The share of rows with a partner up to which their number of partners follows from it."""

Pair = tuple[str, str]


@dataclass(frozen=True)
class Estimating:
    """How means are made: d, a and the threshold of the paper."""

    rounds: int = ROUNDS
    decay: float = DECAY
    threshold: float = THRESHOLD


@dataclass(slots=True)
class Done:
    """What was done between two reports."""

    rows: dict[str, int]
    """The rows of each stream that were joined."""
    batches: int = 0
    work_ns: int = 0


class JoinCounts:
    """The counts of one join, or of one bucket of it."""

    def __init__(
        self, graph: JoinGraph, stay: Mapping[str, int | None], declared: Mapping[Pair, float] | None = None,
        scale: Mapping[str, float] | None = None, estimating: Estimating = Estimating(),  # noqa: B008 - frozen
    ) -> None:  # fmt: skip
        """`stay`: how long a row stays in the window of its stream, in ticks; None if that differs from row to row.
        `declared`: shares of pairs that join, until they are counted. `scale`: by what rows per tick are multiplied to
        be rows per second of all buckets."""
        self.graph, self.stay = graph, stay
        self.declared = dict(declared or {})
        self.scale = scale or dict.fromkeys(stay, 1.0)
        self.threshold = estimating.threshold
        new_mean = partial(DecayedMean, estimating.rounds, estimating.decay)
        self._rows = {alias: new_mean() for alias in stay}
        self._batches = new_mean()
        self._pairs = {pair: DecayedMean() for pair in neighbors(graph)}
        self._made: dict[frozenset[str], DecayedMean] = {}
        """By kept sub-join, its rows over all combinations of rows of its windows."""
        self._per_report = {alias: DecayedMean() for alias in stay}
        self._batches_per_report = DecayedMean()
        self._sampled: dict[Pair, int] = {}
        """The report at which each pair was last sampled."""
        self._waiting, self._batches_waiting = dict.fromkeys(stay, 0), 0
        """Rows and batches since the last round has ended."""
        self._seen = dict.fromkeys(stay, (0, 0))
        """Rows and batches since the last report that are counted already."""
        self.observed: dict[str, float] = {}
        """The rates of the last round, in rows per tick."""
        self._begun: int | None = None
        self._latest: int | None = None
        self.elapsed = 0
        """The event time from the first row to the last so far, in ticks."""
        self.rows = 0
        """The rows that were joined so far."""
        self.reports = 0

    def count(self, loop: WindowedJoin, taken: Sequence[JoinObserved]) -> Done:
        """Add the counters of a report to the means."""
        streams = [one for one in taken if one.alias in self.stay]
        done = Done({one.alias: one.stream.joined for one in streams})
        for one in streams:
            self._arrived(one.alias, one.stream.joined, one.stream.batches)
            self._seen[one.alias] = 0, 0  # the counters of the loop begin anew
            self._per_report[one.alias].add(one.stream.joined)
            done.batches += one.stream.batches
            done.work_ns += one.times.total_ns
        self._batches_per_report.add(done.batches)
        self._end_round([one.stream for one in streams])
        if all(isinstance(part, str) for part in loop.shape):
            self._count_probes(loop, streams)
        kept = {to_text(node): frozenset(streams_of(node)) for node in nodes_of(loop.shape)}
        made = {kept[one.alias]: one.stream.rows for one in taken if one.inner}
        if all(residual.at_intake for residual in loop.binding.plan.residuals):
            made[frozenset(self.graph.aliases)] = sum(one.matches.results for one in streams)
        for part, rows in made.items():
            tried = _combinations(part, done.rows, loop)
            self._made.setdefault(part, DecayedMean()).add(rows, tried)
        self.rows += sum(done.rows.values())
        return done

    def glance(self, loop: WindowedJoin, least_rows: int) -> bool:
        """Count the rows that have arrived so far, between two reports. Return whether a round has ended: at least so
        many rows have arrived since the last one, and time has passed."""
        streams = {alias: loop.counts[alias].stream for alias in self.stay}
        for alias, counts in streams.items():
            self._arrived(alias, counts.joined, counts.batches)
        if sum(self._waiting.values()) < least_rows:
            return False
        return self._end_round(streams.values())

    def _arrived(self, alias: str, rows: int, batches: int) -> None:
        """Count the rows and batches of a stream since the last report that are not counted yet."""
        seen_rows, seen_batches = self._seen[alias]
        self._waiting[alias] += rows - seen_rows
        self._batches_waiting += batches - seen_batches
        self._seen[alias] = rows, batches

    def _end_round(self, streams: Collection[StreamCounts]) -> bool:
        """Add the rows since the last round to the means, if time has passed. Otherwise they count with the next
        one."""
        passed = self._advance(streams)
        if not passed:
            return False
        for alias, rows in self._waiting.items():
            self._rows[alias].add(rows, passed)
        self._batches.add(self._batches_waiting, passed)
        self.observed = {alias: rows / passed for alias, rows in self._waiting.items()}
        self._waiting, self._batches_waiting = dict.fromkeys(self.stay, 0), 0
        return True

    def _count_probes(self, loop: WindowedJoin, streams: Sequence[JoinObserved]) -> None:
        """Add what the probes of a multiway join have found: few of the rows that probe find a partner, so their number
        follows from how many do."""
        for one in streams:
            for other, evaluated, passed in zip(one.others, one.probes.evaluated, one.probes.passed, strict=True):
                pair = (one.alias, other) if (one.alias, other) in self._pairs else (other, one.alias)
                held = len(loop.windows[other])  # 0 if all rows that were probed have expired: nothing is known then
                if held and pair in self._pairs and LEAST_JOINED <= passed <= FEW * evaluated:
                    partners = -evaluated * math.log1p(-passed / evaluated)
                    self._pairs[pair].add(partners, evaluated * held)

    def _advance(self, streams: Collection[StreamCounts]) -> int:
        """Return by how much the latest time has advanced, in ticks."""
        seen = StreamCounts()
        for stream in streams:
            seen.add(stream)
        first, last = seen.first_time, seen.last_time
        if last is None or first is None:
            return 0
        self._begun = first if self._begun is None else min(self._begun, first)
        before = self._begun if self._latest is None else self._latest
        self._latest = max(last, before)
        self.elapsed = self._latest - self._begun
        return self._latest - before

    def sample(self, loop: WindowedJoin, room_ns: float, rng: np.random.Generator) -> dict[Pair, PairCount]:
        """Sample pairs of rows, those first of which least is known, for about as long as there is room. Return the
        counts by the window whose rows looked for partners, and the window in which they looked."""
        counts: dict[Pair, PairCount] = {}
        begun = thread_time_ns()
        for pair in sorted(self._pairs, key=lambda pair: self._pairs[pair].total):
            known = self._pairs[pair].total >= WELL_KNOWN and self.reports - self._sampled.get(pair, 0) < SELDOM
            if known or not all(len(loop.windows[alias]) for alias in pair):
                continue
            self._sampled[pair] = self.reports
            one, other = sorted(pair, key=lambda alias: len(loop.windows[alias]))
            found = sample_pair(loop, one, other, rng)
            counts[one, other] = found
            mean = self._pairs[pair]
            if found.joined >= WELL_KNOWN and differs(
                mean.mean, found.joined / found.pairs, self.threshold
            ):  # fmt: skip
                mean.clear()  # it has changed, so what was counted before says nothing about it
            mean.add(found.joined, found.pairs)
            if thread_time_ns() - begun > max(room_ns, 0):
                break
        return counts

    def rows_when_full(self, loop: WindowedJoin, alias: str) -> float:
        """Return how many rows a window holds now, or will hold when the streams have run as long as a row stays."""
        stay = self.stay.get(alias)
        return max(len(loop.windows[alias]), 0.0 if stay is None else self._rows[alias].mean * stay)

    def share(self, pair: Pair) -> float | None:
        """Return the share of pairs of rows that join; None if too little is known."""
        mean = self._pairs[pair]
        if mean.total >= LEAST_JOINED or mean.of >= ENOUGH_PAIRS:
            return max(mean.total, 0.5) / mean.of
        return self.declared.get(pair)

    def numbers(self, loop: WindowedJoin) -> JoinNumbers | None:
        """Return the numbers for the next reports; None if too little is known."""
        shares = {pair: share for pair in self._pairs if (share := self.share(pair)) is not None}
        if any(pair not in shares for pair in needed_pairs(self.graph, shares)) or not self.elapsed:
            return None
        rates: dict[str, Any] = {}
        held: dict[str, Any] = {}
        columns: dict[str, int] = {}
        widths: dict[str, float] = {}
        for alias in self.graph.aliases:
            window = loop.windows[alias]
            columns[alias] = len(loop.binding.stored[alias].names)
            now = float(max(len(window), 1))
            rates[alias], held[alias] = 0.0, now
            if alias in self.stay:
                rates[alias] = self._rows[alias].mean
                stay = self.stay[alias]
                if stay is not None:  # windows that are filling will hold more
                    most = math.inf if self.declared else now * 1.5  # if the streams go on as long again
                    held[alias] = max(now, min(rates[alias] * stay, most))
            widths[alias] = sum(loop.binding.widths[alias].values())
        counted = {part: mean.mean for part, mean in self._made.items() if mean.total >= 100}
        return JoinNumbers(self.graph, rates, held, shares, columns, widths, self._batches.mean, counted)

    def rates(self) -> dict[str, float]:
        """Return the estimated rates of the streams, in rows per second of all buckets."""
        return {alias: mean.mean * self.scale[alias] for alias, mean in self._rows.items()}

    def coming(self, numbers: JoinNumbers) -> JoinNumbers:
        """Return numbers per report instead of per tick, for the next report, if it is as long as those before."""
        rates: dict[str, Any] = dict.fromkeys(self.graph.aliases, 0.0)
        rates |= {alias: mean.mean for alias, mean in self._per_report.items()}
        return JoinNumbers(
            self.graph, rates, numbers.held, numbers.shares, numbers.columns, numbers.widths,
            self._batches_per_report.mean, numbers.counted,
        )  # fmt: skip

    def snapshot(self) -> dict[str, Any]:
        """Return what was counted, as values for JSON."""
        return {
            "elapsed": self.elapsed, "rows": self.rows, "begun": self._begun, "latest": self._latest,
            "waiting": self._waiting, "batches_waiting": self._batches_waiting,
            "rates": {alias: mean.rounds for alias, mean in self._rows.items()}, "batches": self._batches.rounds,
            "pairs": [[*pair, mean.rounds] for pair, mean in self._pairs.items()],
            "made": [[sorted(part), mean.rounds] for part, mean in self._made.items()],
        }  # fmt: skip

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Continue from what was counted by others of the same join."""
        self.elapsed, self.rows = snapshot["elapsed"], snapshot["rows"]
        self._begun, self._latest = snapshot["begun"], snapshot["latest"]
        self._waiting |= {alias: rows for alias, rows in snapshot["waiting"].items() if alias in self._waiting}
        self._batches_waiting = snapshot["batches_waiting"]
        for alias, rounds in snapshot["rates"].items():
            if alias in self._rows:
                self._rows[alias].restore(rounds)
        self._batches.restore(snapshot["batches"])
        for one, other, rounds in snapshot["pairs"]:
            self._pairs[one, other].restore(rounds)
        for part, rounds in snapshot["made"]:
            self._made.setdefault(frozenset(part), DecayedMean()).restore(rounds)


def add_sample(taken: Sequence[JoinObserved], one: str, other: str, found: PairCount, rows: float) -> None:
    """Add the partners that sampled rows have in a window of so many rows to the counters of their stream."""
    for stream in taken:
        if stream.alias == one and other in stream.others:
            k, matches = stream.others.index(other), stream.matches
            scale = rows * found.probes / found.pairs  # a full window may have more rows than were searched
            matches.sampled[k] += found.probes
            matches.partners[k] += round(found.joined * scale)
            matches.partnered[k] += found.partnered


def _combinations(aliases: Collection[str], came: Mapping[str, int], loop: WindowedJoin) -> float:
    """Return how many combinations of rows were complete with one of the rows that came."""
    held = {alias: float(len(loop.windows[alias])) for alias in aliases}
    return sum(came.get(alias, 0) * math.prod(held[other] for other in aliases if other != alias) for alias in aliases)
