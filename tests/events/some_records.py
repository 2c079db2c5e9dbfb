"""Records as a run would write them, with arbitrary numbers."""

from __future__ import annotations

from hypothesis import strategies as st

from thalweg.events import NativeObserved, Observed, Record, Switched, VerdictGiven

names = st.text(min_size=1, max_size=8)
counts = st.integers(0, 2**53)
batches = st.none() | st.integers(0, 10**6)


@st.composite
def records_of_a_run(draw: st.DrawFn, run: str = "run 1") -> list[Record]:
    """Draw records in the order in which a run writes them: verdicts before the observation they belong to."""
    predicates = tuple(draw(st.lists(names, min_size=1, max_size=4, unique=True)))
    n = len(predicates)
    order = st.permutations(predicates).map(tuple)
    per_predicate = st.lists(counts, min_size=n, max_size=n).map(tuple)
    costs = st.lists(st.none() | st.floats(0, 1e12), min_size=n, max_size=n).map(tuple)
    kind, policy = draw(st.sampled_from(["stream", "batch", "local"])), draw(names)
    records: list[Record] = []
    for _ in range(draw(st.integers(1, 4))):
        batch, worker = draw(batches), draw(names)
        for _ in range(draw(st.integers(0, 3))):
            at, before, after = draw(counts), draw(order), draw(order)
            records.append(VerdictGiven(run, batch, worker, policy, at, before, after, draw(st.text())))
            records.append(Switched(run, batch, worker, at, after))
        judged = draw(counts)
        records.append(
            Observed(
                run, kind, batch, worker, policy, predicates, draw(order), draw(counts), draw(counts),
                draw(per_predicate), draw(per_predicate), draw(per_predicate), draw(costs), draw(per_predicate),
                draw(per_predicate), draw(per_predicate), draw(counts), draw(counts), draw(counts), draw(counts),
                draw(st.integers(0, 99)), failed=draw(counts), raised=draw(st.just(()) | per_predicate),
                fixed_ns=draw(st.just(()) | costs), switched=draw(st.booleans()),
                rows_in_force=draw(st.none() | counts), evaluated_in_force=draw(st.just(()) | per_predicate),
                passed_in_force=draw(st.just(()) | per_predicate), standing=draw(st.text(max_size=8)),
                trials=draw(counts), trial_rows=draw(counts), trial_ns=draw(counts),
                trial_loss_ns=draw(counts), compiling_ns=draw(counts), rounds=draw(counts), moves=draw(counts),
                outside=draw(counts), judged=judged, hits=draw(st.integers(0, judged)),
                regret=draw(st.floats(1, 1e12)) if judged else None,
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
        tested = draw(st.lists(st.integers(0, 1000), min_size=n, max_size=n).map(tuple))
        passed = tuple(draw(st.integers(0, t)) for t in tested)
        masks = tuple(draw(st.lists(st.integers(0, 2**n - 1), max_size=5, unique=True)))
        records.append(
            NativeObserved(
                run, "stream", draw(batches), "a-greedy", chain, predicates, "0123", kinds, (1.0,) * n, before, after,
                draw(st.text()), tested, passed, masks, (7,) * len(masks),
            )
        )  # fmt: skip
    return records
