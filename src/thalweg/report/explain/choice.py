"""Explains the choice of a join's plan: a table of the candidates, sentences about why one won, and their curves.

The sentences follow from the numbers by which the candidates were ranked (`PlanChoice.first`, CPU time, memory), and
are true of them. "Equal" means within 1 %, as in the ranking.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, pairwise

import numpy as np

from thalweg.cost.ties import CAUTION, ROUNDING, TIES, ranked
from thalweg.draw.plan_curves import Crossing, Curve, Measured, PlanCurves, PlanMemory
from thalweg.formatting import WIDTH, aligned, byte_size, few_digits, listed, percent, wrapped
from thalweg.optimizer.joins.plan_choice import SHOWN, Band, Candidate, ComparedPlans, PlanChoice, TippingPoint
from thalweg.plan.joins.shape import MOST_STREAMS, plan_text, sorted_text
from thalweg.plan.objective import LEAST_CPU
from thalweg.report.explanation import Paragraph
from thalweg.report.join_report import JoinReport

TITLE = "Plans compared"
LEAST_SHOWN = 1e-5
"""The least CPU time, as a share of a core, that a table shows as a number."""
SHOWN_CROSSINGS = 3
"""The most sentences about plans that overtake others."""
MUST_SAVE = f"a plan that keeps sub-joins must save {percent(1 - 1 / CAUTION)}"
MANY = 1000.0
"""A plan that is worse by more times is only said to be so."""
_ORIGINS = {
    "counted": "counted numbers", "sampled": "sampled numbers", "learned": "learned numbers",
    "declared": "declared statistics", "assumed": "assumed numbers",
}  # fmt: skip


def explained_choice(title: str, compared: ComparedPlans, report: JoinReport) -> tuple[Paragraph, PlanCurves | None]:
    """Return the paragraph about the plans that were compared, and their curves with what the last run has measured."""
    last = report.sections[-1].plans if report.sections else None
    points = None if last is None else last.measured()
    measured = None if points is None else Measured(*points)
    curves = _curves(title, compared, measured, None if last is None else last.most_bytes or None)
    return _paragraph(compared, curves), curves


def _paragraph(compared: ComparedPlans, curves: PlanCurves | None) -> Paragraph:
    """Return the paragraph about the plans that were compared, or about what is missing to compare them; without lines
    if the user has set the plan."""
    choice, objective = compared.choice, compared.wanted.objective
    if compared.wanted.text is not None:
        return Paragraph("", ())
    if choice is None:
        return Paragraph(TITLE, tuple(_not_compared(compared)), wrapped=True)
    sentences = _sentences(choice, compared.tipping, () if curves is None else curves.crossings)
    text = [line for sentence in sentences for line in wrapped(sentence, 0, width=WIDTH - 2)]
    wanted = "least CPU time" if objective == LEAST_CPU else repr(objective)
    return Paragraph(f"{TITLE} ({wanted})", (*_table(choice, compared, curves), *text))


def _not_compared(compared: ComparedPlans) -> Iterator[str]:
    missing, adapts = compared.unknown, compared.may_change
    if compared.streams < 3:
        return
    if compared.streams > MOST_STREAMS:
        yield f"multiway, which keeps no sub-join, because plans are compared for up to {MOST_STREAMS} streams"
        return
    if missing:
        shown = [*missing[:3], f"{len(missing) - 3} more"] if len(missing) > 4 else missing
        begins = "it begins as multiway, which keeps no sub-join" if adapts else "multiway, which keeps no sub-join"
        yield f"{begins}, because these are unknown: {listed(shown)}; statistics= declares them"
    if adapts:
        yield "while it runs, rates and partners are counted, and the plan changes if that is expected to pay"


def _table(choice: PlanChoice, compared: ComparedPlans, curves: PlanCurves | None) -> list[str]:
    by = compared.seconds
    drawn = () if curves is None else curves.curves
    results = {one.plan: float(np.interp(by, one.times, one.results)) for one in drawn}
    shown = choice.candidates[:SHOWN]
    head = (
        "plan", "CPU", "90 % band", "results/s", *([f"by {few_digits(by)} s"] if results else []), "memory",
        "90 % band", "",
    )  # fmt: skip
    rows = [head, *(_row(candidate, choice, compared.buckets, results.get(candidate.plan)) for candidate in shown)]
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


def _sentences(choice: PlanChoice, tipping: TippingPoint | None, crossings: Sequence[Crossing]) -> Iterator[str]:
    yield f"{_count(choice.results)} results per second expected, from {_ORIGINS[choice.origin]}"
    yield from reason(choice)
    if tipping is not None:
        yield _tipping(tipping)
    for crossing in crossings[:SHOWN_CROSSINGS]:
        yield (
            f"{crossing.one} overtakes {crossing.other} after {few_digits(crossing.time)} s, at "
            f"{_whole(crossing.results)} results"
        )
    if not choice.complete:
        found = "" if choice.chosen.searched is None else f", the one that {choice.objective.search} finds"
        yield f"with so many streams, only the cheapest plan{found}, multiway and those that keep one pair are compared"


def _tipping(tipping: TippingPoint) -> str:
    (kind, *aliases), held = tipping.quantity, 1.0
    side = "below" if tipping.tips_at < tipping.value else "above"
    instead = "keep nothing" if plan_text(tipping.plan) == "multiway" else f"{plan_text(tipping.plan)} is better"
    if kind == "share":
        of, among = sorted(aliases, key=lambda alias: (-tipping.held[alias], alias))
        what, held = f"partners of a row of {of} in {among}", tipping.held[among]
    else:
        what = f"{'rows per second of' if kind == 'rate' else 'rows of'} {aliases[0]}"
    return (
        f"the number that decides: {few_digits(tipping.value * held)} {what}; {side} "
        f"{few_digits(tipping.tips_at * held)}, {instead}"
    )


def reason(choice: PlanChoice) -> Iterator[str]:
    """Yield why the chosen plan won, and how its CPU time compares with that of the cheapest other one."""
    chosen, compared = choice.chosen, choice.compared
    what = quantity(choice)
    if choice.over_memory:
        yield f"no plan is expected to stay within max_bytes: {_won(choice, what)}"
        return
    rivals = [candidate for candidate in choice.candidates[1:] if candidate.fits]
    cheapest = _least(rivals, lambda each: each.cpu) if rivals else None
    if cheapest is not None:
        yield f"{chosen.plan} takes {percent(chosen.cpu / cheapest.cpu)} of the CPU time of {cheapest.plan}"
    by_cpu = choice.objective == LEAST_CPU and _equal_cpu(compared) == 1
    if len(compared) > 1 and not (by_cpu and cheapest is not None and chosen.cpu <= cheapest.cpu * (1 + ROUNDING)):
        yield _won(choice, what)
    elif len(compared) == 1 and len(choice.candidates) > 1:
        within = "" if all(each.fits for each in choice.candidates) else " within max_bytes"
        finds = "" if chosen.searched is None else f" that {choice.objective.search} finds"
        yield f"{chosen.plan} is the only plan compared{within}{finds}"
    first: Callable[[Candidate], float] = choice.first
    if choice.objective == LEAST_CPU:  # without what a plan must save
        first = lambda each: each.regret  # noqa: E731
    alike = [each for each in choice.candidates if (each.searched is None) == (chosen.searched is None)]
    over = [each for each in alike if not each.fits]
    best = _least(over, first) if over else chosen
    if first(best) * (1 + TIES) < first(chosen):
        yield f"{best.plan} is better in {what}, but its memory may exceed max_bytes"


def quantity(choice: PlanChoice) -> str:
    """Return what the plans of a choice were compared by first, as a noun."""
    objective = choice.objective
    if choice.over_memory or objective.name == "least_memory":
        return "memory"
    if choice.chosen.searched is not None:
        return "estimated rate" if objective.by is not None else "estimated time"
    if objective.by is not None:
        return f"results by {few_digits(objective.seconds)} s"
    if objective.results is not None:
        return f"time of {few_digits(objective.results)} results"
    return {"least_cpu": "CPU time", "steady_rate": "output rate", "balance": "balance"}[objective.name]


def _won(choice: PlanChoice, what: str) -> str:
    """Return why the chosen plan is better than those it was compared with."""
    chosen, equal = choice.chosen, choice.equal
    if choice.objective == LEAST_CPU and not choice.over_memory:
        if _equal_cpu(choice.compared) == 1:
            return _less_cpu(chosen, choice.compared, "")
    elif len(equal) == 1:
        others = [each for each in choice.compared if each is not chosen]
        if choice.over_memory:
            return f"{chosen.plan} needs the least memory"
        second = _least(others, choice.first)
        worse = choice.first(second) / choice.first(chosen) - 1 if choice.first(chosen) else MANY
        by = f"{few_digits(MANY)} times or more" if worse >= MANY else percent(worse)
        mean = " on average" if chosen.searched is None else ""  # over the draws
        return f"{chosen.plan} is the best in {what}; {second.plan}, the next best, is worse by {by}{mean}"
    elif _equal_cpu(equal) == 1:
        return _less_cpu(chosen, equal, what)
    count = _equal_cpu(equal)
    same = what if what == "CPU time" else f"{what} and CPU time"
    in_cpu = [each for each in equal if each.cpu_weighted <= chosen.cpu_weighted * (1 + ROUNDING)]
    in_memory = [each for each in in_cpu if each.bytes <= chosen.bytes * (1 + ROUNDING)]
    if len(in_memory) == 1:
        return f"{chosen.plan} needs the least memory among {count} equal in {same}"
    same = same if what == "memory" else same.replace(" and ", ", ") + " and memory"
    return f"{chosen.plan} is the first by name among {len(in_memory)} equal in {same}"


def _equal_cpu(candidates: Sequence[Candidate]) -> int:
    """Return how many candidates have the least CPU time as it is compared."""
    limit = min(each.cpu_weighted for each in candidates) * (1 + ROUNDING)
    return sum(each.cpu_weighted <= limit for each in candidates)


def _less_cpu(chosen: Candidate, among: Sequence[Candidate], equal_in: str) -> str:
    """Return why the CPU time of the chosen plan is the least. `equal_in`: what the plans are equal in; empty if the
    CPU time is all that counts."""
    those = f" among {len(among)} equal in {equal_in}" if equal_in else ""
    rival = min((each for each in among if each is not chosen), key=lambda each: each.cpu)
    least = min(each.cpu_regret for each in among) * (1 + ROUNDING)
    if chosen.cpu <= rival.cpu * (1 + ROUNDING) and chosen.cpu_regret <= least:
        return f"{chosen.plan} takes the least CPU time{those}"
    best = _least([each for each in among if each is not chosen], lambda each: each.cpu_regret)
    band = f"over the whole band it takes {_times(chosen)} the least CPU time and {best.plan} {_times(best)}"
    if chosen.cpu_regret <= best.cpu_regret * (1 + ROUNDING):
        return f"{chosen.plan} takes the least CPU time on average{those}: {band}"
    return f"{chosen.plan} is chosen{those}: {band}, but {MUST_SAVE}"


def _least(candidates: Sequence[Candidate], number: Callable[[Candidate], float]) -> Candidate:
    """Return the candidate with the least number; of several, the first by name."""
    return next(ranked(candidates, [(number, ROUNDING)], lambda each: sorted_text(each.shape)))


def _times(candidate: Candidate) -> str:
    return f"{candidate.cpu_regret:.3f} times"


def _curves(
    title: str, compared: ComparedPlans, measured: Measured | None, measured_bytes: float | None
) -> PlanCurves | None:  # fmt: skip
    """Return the curves of the best plans; None if no plans were compared, or if no window has a length in time."""
    choice, over = compared.choice, compared.over_time
    if choice is None or over is None:
        return None
    shown = choice.candidates[:SHOWN]
    times = tuple(over.times.tolist())
    if measured is not None:  # what was measured later is not predicted
        early = [n for n, time in enumerate(measured.times) if time <= times[-1]]
        points = tuple(measured.times[n] for n in early), tuple(measured.results[n] for n in early)
        measured = Measured(*points) if early else None
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
    by = None if compared.wanted.objective.by is None else compared.seconds
    return PlanCurves(title, curves, measured, tuple(_crossings(curves)), by, memory, compared.all_memory)


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
