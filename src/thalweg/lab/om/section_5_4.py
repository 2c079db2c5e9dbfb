"""Ten queries in turn (OM, section 5.4)."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from thalweg.lab.claim import Statement, judged
from thalweg.lab.experiment import Experiment, Outcome, Track
from thalweg.lab.figure import Bars, Series
from thalweg.lab.om import multi_stream, single_stream
from thalweg.lab.om.figure_3a import NEAR, K, split
from thalweg.lab.om.figure_4a import BURSTS
from thalweg.lab.om.packet_streams import packets
from thalweg.lab.om.rounds import Rounds, Values

VARIATION = 0.17
"""The coefficient of variation of the streams, the middle one of figure 3b."""
PROJECTED = (1, 2, 3, 4, 5)
"""Single-stream queries: Q1 with projections that keep so many of the six columns."""
SIDES: tuple[tuple[str, str, str], ...] = (
    ("src", "dst", "dst"), ("dst", "dst", "dst"), ("src", "src", "dst"), ("dst", "src", "src"), ("src", "src", "src"),
)  # fmt: skip
"""Joins: Q2, and the same with other hosts of TCP, UDP and SF."""


@dataclass
class Ready:
    """A query that waits for its next round."""

    name: str
    is_join: bool
    running: Rounds
    rounds: Sequence[Values]
    done: int = 0
    waited: int = 0
    """The most rounds of other queries between two of its own."""
    last: int = 0


@dataclass(frozen=True)
class Results:
    """The queries after their last rounds."""

    queries: list[Ready]

    def of(self, joins: bool) -> list[Ready]:
        """Return the queries of one kind."""
        return [query for query in self.queries if query.is_join == joins]

    def fidelity(self, joins: bool) -> float:
        """Return the mean fidelity of one kind."""
        return float(np.mean([query.running.followed.chart.fidelity for query in self.of(joins)]))

    def shown(self, joins: bool) -> str:
        """Return the fidelities and regrets of one kind for a sentence."""
        each = "; ".join(f"{query.name}: {query.running.followed.chart}" for query in self.of(joins))
        return f"{self.fidelity(joins):.1%} on average; {each}{self._known() if joins else ''}"

    def _known(self) -> str:
        known = [query.running.followed.selected.fidelity for query in self.of(joins=True)]
        return f"; at the observed selectivities {min(known):.1%} to {max(known):.1%}"


CLAIMS: tuple[Statement[Results], ...] = (
    Statement(
        "single-stream queries have a fidelity of about 95 %",
        "section 5.4; the mean over the queries",
        holds=lambda r: abs(r.fidelity(joins=False) - 0.95) <= NEAR,
        measured=lambda r: r.shown(joins=False),
    ),
    Statement(
        "join queries have a fidelity of about 90 %",
        "section 5.4; the mean over the queries",
        holds=lambda r: abs(r.fidelity(joins=True) - 0.90) <= NEAR,
        why=BURSTS,
        measured=lambda r: r.shown(joins=True),
    ),
    Statement(
        "no query starves",
        "section 5.4: first in, first out; read as: each waits for one round of each other query",
        holds=lambda r: {query.waited for query in r.queries} == {len(r.queries) - 1},
        measured=lambda r: (
            f"at most {max(query.waited for query in r.queries)} rounds of others between two of its own; "
            f"{min(query.done for query in r.queries)} to {max(query.done for query in r.queries)} rounds each"
        ),
    ),
)


def in_turn(queries: list[Ready]) -> None:
    """Run all rounds: the query that has waited the longest runs one, and is put at the end of the queue."""
    queue = deque(queries)
    turn = 0
    while queue:
        query = queue.popleft()
        query.running.run(query.rounds[query.done])
        if query.done:
            query.waited = max(query.waited, turn - query.last - 1)
        query.done, query.last, turn = query.done + 1, turn, turn + 1
        if query.done < len(query.rounds):
            queue.append(query)


def ready(quick: bool) -> list[Ready]:
    """Return the ten queries, single-stream queries and joins alternately."""
    streams = {name: stream.with_variation(VARIATION) for name, stream in packets().items()}
    found = []
    for projected, sides in zip(PROJECTED, SIDES, strict=True):
        before, rounds = split(single_stream.observed(streams["tcp"]), quick)
        running = Rounds(single_stream.single_stream(projected), before, K)
        found.append(Ready(f"π of {projected}", False, running, rounds))
        before, rounds = split(multi_stream.observed(streams, sides), quick)
        joined = "=".join(f"{letter}.{side}" for letter, side in zip("TUS", sides, strict=True))
        found.append(Ready(joined, True, Rounds(multi_stream.multi_stream(), before, K), rounds))
    return found


def measure(quick: bool, track: Track) -> Outcome:
    """Run ten queries in turn."""
    queries = ready(quick)
    for _ in track([0]):
        in_turn(queries)
    results = Results(queries)
    return Outcome(judged(CLAIMS, results), (figure(results),))


def figure(r: Results) -> Bars:
    """Return the figure: the fidelity of each query."""
    ordered = [*r.of(joins=False), *r.of(joins=True)]
    fidelities = [100 * query.running.followed.chart.fidelity for query in ordered]
    layer = Series("fidelity", [float(i) for i in range(len(ordered))], fidelities, "blue")
    return Bars("section-5-4", "Fidelity of ten queries in turn", "", "%", (layer,),
                bars=tuple(query.name for query in ordered), groups=("single-stream queries", "joins"))  # fmt: skip


EXPERIMENT = Experiment(
    title="ten queries in turn",
    reference="section 5.4",
    measure=measure,
    setting="Five single-stream queries, Q1 with projections that keep one to five columns, and five joins, Q2 and the "
    "same with sources instead of destinations and the reverse, alternately in one queue; REAL with a coefficient of "
    f"variation of {VARIATION}, k = 10, 600 rounds each.",
)
