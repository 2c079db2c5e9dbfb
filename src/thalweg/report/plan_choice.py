"""Explains the choice of a join's plan: a table of the candidates, sentences about why one won, and their curves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np

from thalweg.formatting import WIDTH, aligned, byte_size, few_digits, listed, percent, wrapped
from thalweg.optimizer.choose_plan import Band, Candidate, PlanChoice
from thalweg.optimizer.join_estimates import JoinEstimates
from thalweg.optimizer.joins.start_plan import StartPlan
from thalweg.optimizer.plan_scores import plan_text
from thalweg.optimizer.results_over_time import results_over_time
from thalweg.optimizer.search_plans import MOST_STREAMS
from thalweg.optimizer.tipping_point import TippingPoint, tipping_point
from thalweg.plan.objective import LEAST_CPU
from thalweg.report.explanation import Paragraph
from thalweg.report.plan_curves import Crossing, Curve, Measured, PlanCurves, PlanMemory
from thalweg.report.plan_reason import reason

SHOWN = 8
"""The most candidates in a table or a picture."""
TITLE = "Plans compared"
LEAST_SHOWN = 1e-5
"""The least CPU time, as a share of a core, that a table shows as a number."""
SHOWN_CROSSINGS = 3
"""The most sentences about plans that overtake others."""
_ORIGINS = {
    "counted": "counted numbers", "sampled": "sampled numbers", "learned": "learned numbers",
    "declared": "declared statistics", "assumed": "assumed numbers",
}  # fmt: skip


def plan_paragraph(start: StartPlan, curves: PlanCurves | None = None, *, adapts: bool = True) -> Paragraph:
    """Return the paragraph about the plans that were compared, or about what is missing to compare them. `adapts`:
    whether the plan may change while the join runs."""
    if start.choice is None:
        if len(start.estimates.graph.aliases) < 3:
            return Paragraph(TITLE, ())
        return Paragraph(TITLE, tuple(_not_compared(start.estimates, adapts=adapts)), wrapped=True)
    objective = start.wanted.objective
    sentences = _sentences(start.choice, start.estimates, () if curves is None else curves.crossings)
    text = [line for sentence in sentences for line in wrapped(sentence, 0, width=WIDTH - 2)]
    wanted = "least CPU time" if objective == LEAST_CPU else repr(objective)
    return Paragraph(f"{TITLE} ({wanted})", (*_table(start, start.choice, curves), *text))


def _not_compared(estimates: JoinEstimates, *, adapts: bool) -> Iterator[str]:
    missing, streams = estimates.unknown, len(estimates.graph.aliases)
    if streams > MOST_STREAMS:
        yield f"multiway, which keeps no sub-join, because plans are compared for up to {MOST_STREAMS} streams"
        return
    if missing:
        shown = [*missing[:3], f"{len(missing) - 3} more"] if len(missing) > 4 else missing
        begins = "it begins as multiway, which keeps no sub-join" if adapts else "multiway, which keeps no sub-join"
        yield f"{begins}, because these are unknown: {listed(shown)}; statistics= declares them"
    if adapts:
        yield "while it runs, rates and partners are counted, and the plan changes if that is expected to pay"


def _table(start: StartPlan, choice: PlanChoice, curves: PlanCurves | None) -> list[str]:
    objective = start.wanted.objective
    by = objective.seconds if objective.by is not None else max(start.estimates.seconds.values(), default=0.0)
    drawn = () if curves is None else curves.curves
    results = {one.plan: float(np.interp(by, one.times, one.results)) for one in drawn}
    shown = choice.candidates[:SHOWN]
    head = (
        "plan", "CPU", "90 % band", "results/s", *([f"by {few_digits(by)} s"] if results else []), "memory",
        "90 % band", "",
    )  # fmt: skip
    buckets = start.estimates.buckets
    rows = [head, *(_row(candidate, choice, buckets, results.get(candidate.plan)) for candidate in shown)]
    left = len(choice.candidates) - len(shown)
    return [*aligned(rows, left=range(len(head))), *([f"and {left} more"] if left else [])]


def _row(candidate: Candidate, choice: PlanChoice, buckets: int, by: float | None) -> tuple[str, ...]:
    load, memory = candidate.load, candidate.memory
    mark = "chosen" if candidate is choice.chosen else "" if candidate.fits else "over max_bytes"
    results = choice.results.value * min(1.0, buckets / load.value)
    return (
        candidate.plan, _cpu(load.value), _cpus(load), few_digits(results),
        *([] if by is None else [_whole(by)]), _size(memory.value),
        f"{_size(memory.low)} to {_size(memory.high)}", mark,
    )  # fmt: skip


def _sentences(choice: PlanChoice, estimates: JoinEstimates, crossings: Sequence[Crossing]) -> Iterator[str]:
    yield f"{_count(choice.results)} results per second expected, from {_ORIGINS[choice.origin]}"
    yield from reason(choice)
    tipping = tipping_point(estimates, choice)
    if tipping is not None:
        yield _tipping(tipping, estimates)
    for crossing in crossings[:SHOWN_CROSSINGS]:
        yield (
            f"{crossing.one} overtakes {crossing.other} after {few_digits(crossing.time)} s, at "
            f"{_whole(crossing.results)} results"
        )
    if not choice.complete:
        found = "" if choice.chosen.searched is None else f", the one that {choice.objective.search} finds"
        yield f"with so many streams, only the cheapest plan{found}, multiway and those that keep one pair are compared"


def _tipping(tipping: TippingPoint, estimates: JoinEstimates) -> str:
    kind, *aliases = tipping.quantity
    side = "below" if tipping.tips_at < tipping.value else "above"
    instead = "keep nothing" if plan_text(tipping.plan) == "multiway" else f"{plan_text(tipping.plan)} is better"
    if kind == "share":
        numbers = replace(estimates, buckets=1).numbers(estimates.expected())
        of, among = sorted(aliases, key=lambda alias: (-float(np.mean(numbers.held[alias])), alias))
        held = float(np.mean(numbers.held[among]))
        return (
            f"the number that decides: {few_digits(tipping.value * held)} partners of a row of {of} in {among}; "
            f"{side} {few_digits(tipping.tips_at * held)}, {instead}"
        )
    what = "rows per second of" if kind == "rate" else "rows of"
    return (
        f"the number that decides: {few_digits(tipping.value)} {what} {aliases[0]}; {side} "
        f"{few_digits(tipping.tips_at)}, {instead}"
    )


def plan_curves(
    title: str, start: StartPlan, measured: Measured | None = None, measured_bytes: float | None = None
) -> PlanCurves | None:  # fmt: skip
    """Return the curves of the best plans; None if no plans were compared, or if no window has a length in time."""
    choice, objective = start.choice, start.wanted.objective
    longest = max(start.estimates.seconds.values(), default=0.0)
    until = 1.5 * objective.seconds if objective.by is not None else 2.0 * longest
    if choice is None or not until:
        return None
    shown = choice.candidates[:SHOWN]
    if measured is not None:  # what was measured later is not predicted
        early = [n for n, time in enumerate(measured.times) if time <= until]
        points = tuple(measured.times[n] for n in early), tuple(measured.results[n] for n in early)
        measured = Measured(*points) if early else None
    over = results_over_time(start.estimates, [candidate.shape for candidate in shown], until)
    times = tuple(over.times.tolist())
    curves = tuple(
        Curve(
            candidate.plan, times, tuple(over.expected[candidate.shape].tolist()),
            tuple(over.low[candidate.shape].tolist()), tuple(over.high[candidate.shape].tolist()),
            chosen=candidate is choice.chosen,
        )
        for candidate in shown
    )  # fmt: skip
    memory = tuple(
        PlanMemory(
            candidate.plan, candidate.memory.value, candidate.memory.low, candidate.memory.high,
            measured_bytes if candidate is choice.chosen else None,
        )
        for candidate in shown
    )  # fmt: skip
    by = objective.seconds if objective.by is not None else None
    return PlanCurves(title, curves, measured, tuple(_crossings(curves)), by, memory, start.limits.all_memory)


def _crossings(curves: tuple[Curve, ...]) -> Iterator[Crossing]:
    """Yield where two plans have returned the same number of results and the other one takes the lead."""
    for one, other in combinations(curves, 2):
        ahead = np.array(one.results) - np.array(other.results)
        enough = 1e-3 * max(max(one.results), 1.0)
        signs = np.where(np.abs(ahead) < enough, 0, np.sign(ahead))
        places = signs.nonzero()[0]
        for before, after in pairwise(places):
            if signs[before] != signs[after]:
                share = abs(ahead[before]) / (abs(ahead[before]) + abs(ahead[after]))
                time = one.times[before] + share * (one.times[after] - one.times[before])
                results = float(np.interp(time, one.times, one.results))
                leader, behind = (one, other) if signs[after] > 0 else (other, one)
                yield Crossing(leader.plan, behind.plan, time, results)


def _cpus(load: Band) -> str:
    """Return the band of a load; a dash if all of it is too small to be shown."""
    return "-" if load.high < LEAST_SHOWN else f"{_cpu(load.low)} to {_cpu(load.high)}"


def _cpu(share: float) -> str:
    return percent(share) if share >= LEAST_SHOWN else f"<{percent(LEAST_SHOWN)}"


def _whole(number: float) -> str:
    """Return a number of results; only small ones have digits after the point."""
    return few_digits(round(number) if number >= 100 else number)


def _size(number: float) -> str:
    return byte_size(round(number))


def _count(band: Band) -> str:
    if band.low == band.high:
        return few_digits(band.value)
    return f"{few_digits(band.value)} ({few_digits(band.low)} to {few_digits(band.high)})"
