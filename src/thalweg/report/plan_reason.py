"""Sentences about why a plan of a join was chosen, and why the others were not.

Answers: `reason`, from the numbers by which the candidates were ranked (`PlanChoice.first`, CPU time, memory).
Guarantee: each sentence is true of these numbers. "Equal" means within 1 %, as in the ranking.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from thalweg.formatting import few_digits, percent
from thalweg.optimizer.choose_plan import Candidate, PlanChoice
from thalweg.optimizer.plan_scores import CAUTION
from thalweg.optimizer.ties import ROUNDING, TIES, ranked
from thalweg.plan.join_shape import sorted_text
from thalweg.plan.objective import LEAST_CPU

MUST_SAVE = f"a plan that keeps sub-joins must save {percent(1 - 1 / CAUTION)}"
MANY = 1000.0
"""A plan that is worse by more times is only said to be so."""


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
