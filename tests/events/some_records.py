"""Records as a run would write them, with arbitrary numbers."""

from __future__ import annotations

from hypothesis import strategies as st

from thalweg.events import NativeObserved, Observed, Origin, Record, Switched, VerdictGiven
from thalweg.events.parts import (
    CallCounts,
    ChainCounts,
    ChartCounts,
    InForceCounts,
    NativeCounts,
    TimeCounts,
    TrialCounts,
)

names = st.text(min_size=1, max_size=8)
counts = st.integers(0, 2**53)
batches = st.none() | st.integers(0, 10**6)


@st.composite
def records_of_a_run(draw: st.DrawFn, run: str = "run 1") -> list[Record]:
    """Draw records in the order in which a run writes them: verdicts before the observation they belong to."""
    predicates = tuple(draw(st.lists(names, min_size=1, max_size=4, unique=True)))
    n = len(predicates)
    order = st.permutations(predicates).map(tuple)
    per_predicate = st.lists(counts, min_size=n, max_size=n)
    costs = st.lists(st.none() | st.floats(0, 1e12), min_size=n, max_size=n)
    kind, policy = draw(st.sampled_from(["stream", "batch", "local"])), draw(names)
    records: list[Record] = []
    for _ in range(draw(st.integers(1, 4))):
        origin = Origin(run, kind, draw(batches), draw(names), policy)
        for _ in range(draw(st.integers(0, 3))):
            at, before, after = draw(counts), draw(order), draw(order)
            records.append(VerdictGiven(origin, at, before, after, draw(st.text())))
            records.append(Switched(origin, at, after))
        judged = draw(counts)
        records.append(
            Observed(
                origin, predicates, draw(order), draw(st.integers(0, 99)),
                ChainCounts(
                    draw(counts), draw(counts), draw(per_predicate), draw(per_predicate), draw(per_predicate),
                    draw(counts),
                ),
                CallCounts(
                    draw(counts), draw(per_predicate), draw(per_predicate), draw(per_predicate), draw(per_predicate),
                    draw(costs), draw(costs),
                ),
                TimeCounts(*(draw(counts) for _ in range(5))),
                InForceCounts(
                    draw(st.booleans()), draw(counts), draw(per_predicate), draw(per_predicate),
                    draw(st.text(max_size=8)),
                ),
                TrialCounts(*(draw(counts) for _ in range(4))),
                chart=ChartCounts(
                    draw(counts), draw(counts), draw(counts), judged, draw(st.integers(0, judged)),
                    draw(st.floats(1, 1e12)) if judged else 0,
                ),
            )
        )  # fmt: skip
    return records


@st.composite
def native_records(draw: st.DrawFn, run: str = "run 1", chain: tuple[str, ...] = ()) -> list[Record]:
    """Draw the records of a run about its native predicates, one per micro-batch."""
    predicates = tuple(draw(st.lists(names, min_size=1, max_size=4, unique=True)))
    n = len(predicates)
    order = st.permutations(predicates).map(tuple)
    before, after, kinds = draw(order), draw(order), draw(st.lists(names, min_size=n, max_size=n).map(tuple))
    records: list[Record] = []
    for _ in range(draw(st.integers(1, 3))):
        tested = draw(st.lists(st.integers(0, 1000), min_size=n, max_size=n))
        passed = [draw(st.integers(0, t)) for t in tested]
        masks = tuple(draw(st.lists(st.integers(0, 2**n - 1), max_size=5, unique=True)))
        records.append(
            NativeObserved(
                Origin(run, "stream", draw(batches), policy="a-greedy"), chain, predicates, "0123", kinds, (1.0,) * n,
                before, after, draw(st.text()), NativeCounts(tested, passed), masks, (7,) * len(masks),
            )
        )  # fmt: skip
    return records
