"""A micro-batch that was run again after a restart counts once, as it was the last time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.report.test_report import observed
from thalweg.events import Observed, Origin, Record, VerdictGiven
from thalweg.report import Tally, fold
from thalweg.report.tally import LATEST_BATCHES, MOST_EARLY


def told(query: str, start: int, chain: str, batch: int, rows: int) -> list[Record]:
    """The records of one chain for one micro-batch: a switch, and `rows` rows by one worker."""
    run, start_id = f"{query} run {start} chain {chain}{start}", str(start)
    return [
        VerdictGiven(
            Origin(run, "stream", batch, f"w{rows}", "a-greedy", query, start_id), 1, ("a", "b"), ("b", "a"), f"{rows}"
        ),
        observed(run, kind="stream", batch=batch, rows=rows, worker=f"w{rows}", query=query, start=start_id),
    ]


@st.composite
def restarts(draw: st.DrawFn) -> list[tuple[str, int, int]]:
    """Query, start and batch as they happen: each start of a query goes on a batch or two before where it was left."""
    happened: list[tuple[str, int, int]] = []
    following = {"q1": 0, "q2": 0}
    for start in range(draw(st.integers(1, 5))):
        query = draw(st.sampled_from(sorted(following)))
        begin = max(0, following[query] - draw(st.integers(0, 2)))
        following[query] = begin + draw(st.integers(1, 4))
        happened += [(query, start, batch) for batch in range(begin, following[query])]
    return happened


@given(restarts(), st.integers(1, 2))
def test_every_micro_batch_counts_once_as_it_was_the_last_time(
    happened: list[tuple[str, int, int]], chains: int
) -> None:
    tally, last = Tally(), {}
    for number, (query, start, batch) in enumerate(happened):
        last[query, batch] = (start, 100 + number)
        for chain in "cd"[:chains]:
            for record in told(query, start, chain, batch, 100 + number):
                tally.add(record)
    report = tally.report()
    expected: dict[tuple[str, int], list[int]] = {}
    for (query, _), (start, count) in last.items():
        expected.setdefault((query, start), []).append(count)
    assert len(report.sections) == len(expected) * chains, "a start of which nothing counts has no section"
    for (query, start), rows in expected.items():
        found = [s for s in report.sections if s.run.startswith(f"{query} run {start} ")]
        batches = [batch for (q, batch), (at, _) in last.items() if (q, at) == (query, start)]
        for section in found:
            assert section.rows == sum(rows)
            assert section.chain.evaluated == [200 * len(rows), 1000 * len(rows)]
            assert section.switch_count == len(rows)
            assert sorted(s.reason for s in section.switches) == sorted(map(str, rows))
            assert set(section.workers) == {f"w{r}" for r in rows}
            assert (section.first_batch, section.last_batch) == (min(batches), max(batches))


def test_records_of_an_earlier_version_are_summed_as_they_stand() -> None:
    records = [observed(f"run {k}", kind="stream", batch=3) for k in range(2)]
    assert [section.rows for section in fold(records).sections] == [1000, 1000]


def test_what_is_remembered_apart_is_bounded_and_the_sum_is_not() -> None:
    records = [r for batch in range(3 * LATEST_BATCHES) for r in told("q", 1, "c", batch, 10)]
    first = [r for r in told("q", 2, "c", 3 * LATEST_BATCHES - 1, 7) if isinstance(r, Observed)]
    report = fold([*records, *first])
    assert [section.rows for section in report.sections] == [10 * (3 * LATEST_BATCHES - 1), 7]


def test_a_late_record_of_an_earlier_start_takes_nothing_away() -> None:
    tally = Tally()
    for record in [*told("q", 0, "c", 0, 10), *told("q", 1, "c", 1, 20), *told("q", 0, "c", 1, 30)]:
        tally.add(record)
    assert [(section.rows, section.switch_count) for section in tally.report().sections] == [(10, 1), (20, 1)]


def test_verdicts_without_an_observation_are_forgotten() -> None:
    tally = Tally()
    for start in range(1_000):
        tally.add(told("q", start, "c", 0, 10)[0])
    assert len(tally._runs._early) <= MOST_EARLY
