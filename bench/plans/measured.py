"""The runs of all plans of one join, in rounds, and the figures that follow from them.

The first round runs every plan. Later rounds run only what can decide something: the plans that were nearly the best,
what runs by default, and the multiway join twice, which is the A/A control. A plan is stopped at five times the CPU
time of the multiway join, and then counts as that much.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import inf
from typing import Any

import numpy as np

from bench.plans.candidates import Prediction, all_plans, measured_plans, predicted, with_statistics
from bench.plans.declared import EXACT, statistics_for
from bench.plans.lines import join_line, trial_line
from bench.plans.shapes import MULTIWAY, same_plan
from bench.plans.streams import JoinRows
from bench.plans.trial import PlanTrial, join_of, run
from bench.rounds import demand
from thalweg.adaptive_joins import Join
from thalweg.cost.memory import rows_held

AGAIN = "multiway again"
STOPPED_AT = 5.0
NEAR = 1.3
"""Plans within this of the best one of the first round run in later rounds."""
MOST_NEAR = 8
APART = 1.1
"""Of a pair of plans, the measured order counts if their CPU times differ by this much."""
WARM_S = 0.02

Line = dict[str, Any]


def default(declared: str) -> str:
    """Return the name of the variant that has no plan, by what is declared."""
    return f"default, {declared} declared"


@dataclass(frozen=True)
class Measured:
    """The trials of a join. Variants are plans, `AGAIN` and defaults."""

    joined: JoinRows
    expected: tuple[int, int]
    trials: dict[str, list[PlanTrial]]
    predictions: tuple[Prediction, ...]
    chosen: dict[str, str]
    """By default variant: the plan that the search chose."""

    @property
    def plans(self) -> list[str]:
        """The plans that were measured."""
        return [name for name in self.trials if name != AGAIN and name not in self.chosen]

    def cpu(self, name: str) -> float:
        """Return the median CPU time."""
        return statistics.median(trial.cpu_seconds for trial in self.trials[name])

    def stopped(self, name: str) -> bool:
        """Return whether it was stopped."""
        return any(trial.stopped for trial in self.trials[name])

    def aa(self) -> float:
        """Return the largest ratio of the multiway join to itself in a round, at least 1."""
        pairs = zip(self.trials[AGAIN], self.trials[MULTIWAY], strict=True)
        ratios = [one.cpu_seconds / other.cpu_seconds for one, other in pairs]
        return max(max(ratio, 1 / ratio) for ratio in ratios)

    def ratio(self, name: str, to: str, what: Callable[[PlanTrial], float] = lambda trial: trial.cpu_seconds) -> float:
        """Return the median over the rounds of the CPU time of a variant divided by that of another."""
        pairs = zip(self.trials[name], self.trials[to], strict=False)
        return statistics.median(what(one) / what(other) for one, other in pairs)

    def best(self, what: Callable[[PlanTrial], float] = lambda trial: trial.cpu_seconds) -> str:
        """Return the plan with the least CPU time of those that ran in every round."""
        rounds = len(self.trials[MULTIWAY])
        able = [name for name in self.plans if len(self.trials[name]) == rounds and not self.stopped(name)]
        return min(able, key=lambda name: statistics.median(map(what, self.trials[name])))

    def tau(self) -> float | None:
        """Return Kendall's tau of predicted and measured CPU times over the pairs of plans that are apart; None if
        there is no such pair."""
        cost = {same_plan(each.plan): each.cpu for each in self.predictions}
        times = {name: inf if self.stopped(name) else self.cpu(name) for name in self.plans if same_plan(name) in cost}
        limit = STOPPED_AT * self.cpu(MULTIWAY)
        agree = [
            float(np.sign(cost[same_plan(one)] - cost[same_plan(other)]) * np.sign(times[one] - times[other]))
            for one, other in combinations(times, 2)
            if _apart(times[one], times[other], limit)
        ]
        return statistics.mean(agree) if agree else None

    def lines(self) -> Iterator[Line]:
        """Yield a line about the join, one per variant, and one with the figures."""
        about = {"bench": "plans", "seed": self.joined.drawn.seed, "join": self.joined.drawn.number}
        yield {"bench": "plans", "line": "join", **join_line(self.joined, self.expected)}
        cost = {same_plan(each.plan): each for each in self.predictions}
        for name, trials in self.trials.items():
            found = cost.get(same_plan(self.chosen.get(name, name.removesuffix(" again"))))
            yield {
                **about, "line": "variant", "variant": name, "plan": self.chosen.get(name, name),
                "rounds": len(trials), "cpu_seconds_median": round(self.cpu(name), 4),
                "trials": [trial_line(trial) for trial in trials],
                "predicted_cpu_seconds": None if found is None else found.cpu * self.joined.drawn.run_seconds,
                "predicted_bytes": None if found is None else found.nbytes,
            }  # fmt: skip
        yield {**about, "line": "figures", **self.figures()}

    def figures(self) -> Line:
        """Return the figures of the join. Ratios divide CPU times; below 1 is faster."""
        best = self.best()
        later = self.best(_second_half)
        tau = self.tau()
        line: Line = {
            "best": best, "best_over_multiway": round(self.ratio(best, MULTIWAY), 4), "aa": round(self.aa(), 4),
            "plans": len(self.plans), "stopped": sum(map(self.stopped, self.plans)),
            "tau": None if tau is None else round(tau, 4), **self._predicted(),
        }  # fmt: skip
        for name, plan in self.chosen.items():
            line[name] = {
                "plan": plan,
                "over_best": round(self.ratio(name, best), 4),
                "over_multiway": round(self.ratio(name, MULTIWAY), 4),
                "second_half_over_best": round(self.ratio(name, later, _second_half), 4),
            }
        return line

    def _predicted(self) -> Line:
        """Return what was predicted divided by what was measured, of the plan that was chosen from exact numbers."""
        joined, name = self.joined, default(EXACT)
        if name not in self.trials or self.stopped(name):
            return {}
        trial = self.trials[name][-1]
        slice_s = joined.drawn.run_seconds / joined.slices
        rows = sum(rows_held(joined.rate(a), joined.windows_us[a] / 1e6, 0.0, slice_s) for a in joined.drawn.aliases)
        line: Line = {"rows_held_predicted_over_measured": round(rows / max(trial.held_rows, 1), 4)}
        if self.predictions:
            first = self.predictions[0]
            rate = self.cpu(name) / joined.drawn.run_seconds
            line["bytes_predicted_over_measured"] = round(first.nbytes / max(trial.held_bytes + trial.kept_bytes, 1), 4)
            line["cpu_predicted_over_measured"] = round(first.cpu / rate, 4)
            if first.band is not None:
                line["in_band"] = bool(first.band[0] <= rate <= first.band[1])
        return line


def measure(
    joined: JoinRows, expected: tuple[int, int], declared: Sequence[str], rounds: int, factor: float = 10.0,
    everything: bool = False,
) -> Measured:  # fmt: skip
    """Run the plans of a join, and what runs by default. Raises WrongResultError if a result is not DuckDB's.
    `everything`: measure all plans of up to four streams."""
    rng = np.random.default_rng([joined.drawn.seed, joined.drawn.number, 1])
    predictions = predicted(joined, with_statistics(joined, joined.statistics))
    plans = all_plans(joined)
    if not everything or len(joined.drawn.aliases) > 4:
        plans = measured_plans(plans, predictions, rng)
    makers: dict[str, Callable[[], Join]] = {plan: _pinned(joined, plan) for plan in plans}
    makers[AGAIN] = _pinned(joined, MULTIWAY)
    chosen = {}
    for each in declared:
        makers[default(each)] = _free(joined, statistics_for(each, joined, factor))
        first = predicted(joined, makers[default(each)]())[:1]
        chosen[default(each)] = first[0].plan if first else MULTIWAY
    for make in makers.values():
        run(joined, make(), WARM_S)  # it loads compiled loops
    trials: dict[str, list[PlanTrial]] = {name: [] for name in makers}

    def trial(name: str, limit: float) -> PlanTrial:
        done = run(joined, makers[name](), limit)
        if done.result is not None:
            demand(f"join {joined.drawn.name}, {name}", done.result, expected)
        trials[name].append(done)
        return done

    limit = STOPPED_AT * trial(MULTIWAY, inf).cpu_seconds
    names = [name for name in makers if name != MULTIWAY]
    for k in rng.permutation(len(names)):
        trial(names[k], limit)
    again = [*_near(trials, plans), AGAIN, *chosen]
    for _ in range(rounds - 1):
        for k in rng.permutation(len(again)):
            trial(again[k], limit)
    return Measured(joined, expected, trials, tuple(predictions), chosen)


def _near(trials: dict[str, list[PlanTrial]], plans: Sequence[str]) -> list[str]:
    """Return the plans that were nearly the best, and the multiway join."""
    ran = sorted((plan for plan in plans if not trials[plan][0].stopped), key=lambda p: trials[p][0].cpu_seconds)
    least = trials[ran[0]][0].cpu_seconds
    near = [plan for plan in ran if trials[plan][0].cpu_seconds <= NEAR * least][:MOST_NEAR]
    return [*near, *([] if MULTIWAY in near else [MULTIWAY])]


def _apart(one: float, other: float, limit: float) -> bool:
    low, high = sorted((one, other))
    return low < inf and min(high, limit) >= APART * low


def _second_half(trial: PlanTrial) -> float:
    return max(trial.second_half, 1e-9)


def _pinned(joined: JoinRows, plan: str) -> Callable[[], Join]:
    return lambda: join_of(joined, plan=plan)


def _free(joined: JoinRows, known: dict[str, Any] | None) -> Callable[[], Join]:
    return lambda: with_statistics(joined, known)
