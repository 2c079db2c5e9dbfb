"""Every sentence that `explain` prints about a choice of a plan, against numbers that are computed here."""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import thalweg as tw
from thalweg import objective
from thalweg.cost.join_bytes import plan_bytes
from thalweg.cost.join_work import work_ns
from thalweg.optimizer.joins.estimates import JoinEstimates, Quantity
from thalweg.optimizer.joins.heuristic_plan import heuristic_scores
from thalweg.optimizer.joins.plan_scores import PlanScores, PlanWork
from thalweg.optimizer.joins.search_plans import all_plans
from thalweg.plan.joins.shape import Shape, nodes_of, of_text, sorted_text
from thalweg.plan.objective import Objective, objective_of

CAUTION, EQUAL, SAME = 1.15, 1.01, 1 + 1e-9
"""By what factor a plan that keeps sub-joins must be better; up to which factors plans are equal."""
OBJECTIVES: tuple[Objective | None, ...] = (
    None, None, objective.most_results(by="10 seconds"), objective.first_results(1000), objective.steady_rate(),
    objective.least_memory(), objective.balance(rate=0.4, memory=0.6),
    objective.most_results(by="10 seconds", search="local_rate_maximization"),
    objective.first_results(1000, search="local_time_minimization"),
)  # fmt: skip
GRAPHS = (
    ("a.k = b.k AND b.m = c.m", ("a.k = b.k", "b.m = c.m")),
    ("a.k = b.k AND a.k = c.k", ("a.k = b.k", "a.k = c.k")),
    ("a.k = b.k AND a.m = c.m", ("a.k = b.k", "a.m = c.m")),
    ("a.k = b.k AND b.m = c.m AND c.n = d.n", ("a.k = b.k", "b.m = c.m", "c.n = d.n")),
)
PLAN = r"(multiway|\([abcd ()]+\))"
NUMBER = r"([\d,.]+(?:e[+-]?\d+)?)"
BAND = rf"over the whole band it takes {NUMBER} times the least CPU time and {PLAN} {NUMBER} times"
OVER = "(?:no plan is expected to stay within max_bytes: )?"
"""What the sentence about memory begins with."""
AMONG = r"(?: among (\d+) equal in (.+?))?"


@dataclass
class Numbers:
    """The numbers of all plans of a join, by the text that is shown."""

    estimates: JoinEstimates
    wanted: Objective
    max_bytes: float

    def __post_init__(self) -> None:
        self.shapes = {_text(shape): shape for shape in all_plans(self.estimates.graph)}
        drawn = self.estimates.drawn()
        numbers = self.estimates.numbers(drawn)
        shape = np.shape(next(iter(drawn.values())))
        self.loads = {plan: np.broadcast_to(work_ns(each, numbers), shape) / 1e9 for plan, each in self.shapes.items()}
        self.sizes = {plan: np.broadcast_to(plan_bytes(each, numbers), shape) for plan, each in self.shapes.items()}
        self.cpu = {plan: float(each[0]) for plan, each in self.loads.items()}
        self.bytes = {plan: float(each[0]) for plan, each in self.sizes.items()}
        self.fits = {p: max(np.quantile(each, 0.95), each[0]) <= self.max_bytes for p, each in self.sizes.items()}
        self.cpu_regret = _regrets(self.loads)
        self.rate = float(np.broadcast_to(numbers.rate(frozenset(self.estimates.graph.aliases)), shape)[0])

    @cached_property
    def searched(self) -> dict[str, float]:
        """What the heuristic compares, less is better, of the trees that it finds."""
        if self.wanted.search is None:
            return {}
        trees = [each for each in self.shapes.values() if all(len(node) == 2 for node in nodes_of(each))]
        found = heuristic_scores(self.estimates, self.wanted, trees)
        is_rate = self.wanted.by is not None
        return {_text(each): 1 / score if is_rate else score for each, score in found.items()}

    @cached_property
    def regret(self) -> dict[str, float]:
        return _regrets(self._scores())

    def _scores(self) -> dict[str, NDArray[np.float64]]:
        name = self.wanted.name
        if name == "least_cpu":
            return self.loads
        if name == "least_memory":
            return self.sizes
        if name == "steady_rate":
            return {plan: np.maximum(load, 1.0) for plan, load in self.loads.items()}
        if name == "balance":
            least = [np.min([each[p] for p in self.shapes], axis=0) for each in (self.loads, self.sizes)]
            return {p: 0.4 * self.loads[p] / least[0] + 0.6 * self.sizes[p] / least[1] for p in self.shapes}
        drawn, shapes = self.estimates.drawn(), list(self.shapes.values())  # compared with simulations elsewhere
        score = PlanScores(self.wanted, self.estimates, drawn, PlanWork(self.estimates.numbers(drawn)), shapes)
        return {plan: score(shape) for plan, shape in self.shapes.items()}

    @cached_property
    def over(self) -> bool:
        return not any(self.fits.values())

    @cached_property
    def compared(self) -> list[str]:
        fit = [plan for plan in self.shapes if self.fits[plan]]
        return [plan for plan in fit if plan in self.searched] or fit or list(self.shapes)

    def first(self, plan: str) -> float:
        """What plans are compared by first."""
        if self.over:
            return self.bytes[plan]
        if self.wanted.name == "least_cpu":
            return self.weighted(plan)
        return self.searched.get(plan, self.regret[plan])

    def weighted(self, plan: str) -> float:
        return self.cpu_regret[plan] * (1.0 if plan == "multiway" else CAUTION)

    @cached_property
    def equal(self) -> list[str]:
        return [plan for plan in self.compared if self.first(plan) <= min(map(self.first, self.compared)) * EQUAL]

    @property
    def chosen(self) -> str:
        """The plan to choose, by the rule itself."""
        least = min(map(self.weighted, self.equal))
        in_cpu = [plan for plan in self.equal if self.weighted(plan) <= least * SAME]
        small = [plan for plan in in_cpu if self.bytes[plan] <= min(self.bytes[p] for p in in_cpu) * SAME]
        return min(small, key=lambda plan: sorted_text(self.shapes[plan]))

    def what(self) -> str:
        """The quantity that plans are compared by first."""
        if self.over:
            return "memory"
        if any(plan in self.searched for plan in self.compared):
            return "estimated rate" if self.wanted.by is not None else "estimated time"
        return {
            "least_cpu": "CPU time", "least_memory": "memory", "steady_rate": "output rate", "balance": "balance",
            "most_results": "results by 10 s", "first_results": "time of 1,000 results",
        }[self.wanted.name]  # fmt: skip


def _text(shape: Shape) -> str:
    return "multiway" if all(isinstance(part, str) for part in shape) else sorted_text(shape)


def _regrets(scores: dict[str, NDArray[np.float64]]) -> dict[str, float]:
    """By how many times scores exceed the least ones, on average; infinite ones are equal to each other."""
    least = np.min(list(scores.values()), axis=0)
    found = {}
    for plan, each in scores.items():
        ratios = [1.0 if a == b else min(a / b if b else math.inf, 1e12) for a, b in zip(each, least, strict=True)]
        found[plan] = float(np.mean(ratios))
    return found


def shown(number: str) -> float:
    return float(number.replace(",", ""))


def near(text: str, value: float) -> bool:
    """Whether a number with three digits is this one."""
    return shown(text) == pytest.approx(value, rel=0.006)


# what each form of a sentence says


def fact(n: Numbers, share: str, rival: str) -> bool:
    others = [plan for plan in n.shapes if n.fits[plan] and plan != n.chosen]
    return near(share, 100 * n.cpu[n.chosen] / n.cpu[rival]) and n.cpu[rival] <= min(n.cpu[p] for p in others) * SAME


def best(n: Numbers, plan: str, what: str, second: str, worse: str | None, mean: str | None) -> bool:
    ratio = n.first(second) / n.first(plan) if n.first(plan) else math.inf
    others = [each for each in n.compared if each != plan]
    is_next = n.first(second) <= min(map(n.first, others)) * SAME and n.first(second) > n.first(plan) * EQUAL
    right = ratio >= 1001 * (1 - 1e-9) if worse is None else shown(worse) == pytest.approx(100 * (ratio - 1), rel=0.006)
    is_mean = (mean is None) == (plan in n.searched)
    return n.equal == [plan] and what == n.what() and is_next and right and is_mean


def group(n: Numbers, count: str | None, what: str | None) -> list[str] | None:
    """The plans that are said to be equal in some quantities; None if that is false."""
    if count is None:
        return n.compared if n.wanted.name == "least_cpu" and not n.over else None
    assert what is not None
    found, named = n.equal, n.what()
    if what.startswith(named):
        rest = what[len(named) :]
        if "CPU time" in rest or (named == "CPU time"):
            least = min(map(n.weighted, n.equal))
            found = [plan for plan in found if n.weighted(plan) <= least * SAME]
        if rest.endswith(" and memory"):
            found = [plan for plan in found if n.bytes[plan] <= min(n.bytes[p] for p in found) * SAME]
        return found if len(found) == int(count) else None
    return None


def least_cpu(n: Numbers, plan: str, count: str | None, what: str | None) -> bool:
    among = group(n, count, what)
    return among is not None and len(among) > 1 and all(n.cpu[plan] <= n.cpu[each] * SAME for each in among)


def on_average(n: Numbers, plan: str, count: str | None, what: str | None, own: str, rival: str, its: str) -> bool:
    among = group(n, count, what)
    numbers = near(own, n.cpu_regret[plan]) and near(its, n.cpu_regret[rival])
    return among is not None and numbers and all(n.cpu_regret[plan] <= n.cpu_regret[each] * SAME for each in among)


def by_caution(n: Numbers, plan: str, count: str | None, what: str | None, own: str, rival: str, its: str) -> bool:
    numbers = near(own, n.cpu_regret[plan]) and near(its, n.cpu_regret[rival])
    saved = 1 - n.cpu_regret[rival] / n.cpu_regret[plan]
    is_enough = not 0 <= saved <= 0.131
    return group(n, count, what) is not None and plan == "multiway" != rival and numbers and not is_enough


def least_memory(n: Numbers, plan: str, count: str | None, what: str | None) -> bool:
    if count is None:
        return n.over and n.equal == [plan] and n.bytes[plan] == min(n.bytes.values())
    among = group(n, count, what)
    return among is not None and all(n.bytes[plan] < n.bytes[each] for each in among if each != plan)


def by_name(n: Numbers, plan: str, count: str, what: str) -> bool:
    among = group(n, count, what)
    return among is not None and len(among) > 1 and plan == min(among, key=lambda each: sorted_text(n.shapes[each]))


def only(n: Numbers, plan: str, within: str | None, finds: str | None) -> bool:
    return (
        n.compared == [plan] and (within is None) == all(n.fits.values())
        and (finds is None) == (plan not in n.searched) and (finds is None or finds == n.wanted.search)
    )  # fmt: skip


def too_large(n: Numbers, plan: str, what: str) -> bool:
    first = n.cpu_regret.__getitem__ if n.wanted.name == "least_cpu" else n.first
    return not n.fits[plan] and first(plan) < first(n.chosen) and what == n.what()


def decides(n: Numbers, quantity: Quantity, value: float, tips_at: float, instead: str) -> bool:
    """A bit beyond the value that is shown, the other plan is better."""
    values = n.estimates.expected()
    scale = 1.0 if quantity[0] == "rate" else value / values[quantity]
    if quantity[0] == "rate" and value != pytest.approx(values[quantity], rel=0.006):
        return False
    beyond = tips_at / scale * (1.007 if tips_at > value else 1 / 1.007)
    values[quantity] = beyond if quantity[0] == "rate" else min(beyond, 1.0)
    exact = {name: tw.Estimate(each, "declared", 0.0) for name, each in values.items()}
    at = Numbers(JoinEstimates(n.estimates.graph, n.estimates.streams, exact, n.estimates.seconds,
                               n.estimates.columns, n.estimates.widths), n.wanted, n.max_bytes)  # fmt: skip
    scores = {plan: float(score[0]) for plan, score in at._scores().items()}
    if n.wanted.name == "least_cpu":
        scores = {plan: score * (1.0 if plan == "multiway" else CAUTION) for plan, score in scores.items()}
    return scores[instead] < scores[n.chosen]


def rate_decides(n: Numbers, value: str, alias: str, tips_at: str, instead: str | None) -> bool:
    return decides(n, ("rate", alias), shown(value), shown(tips_at), instead or "multiway")


def partners_decide(n: Numbers, value: str, of: str, among: str, tips_at: str, instead: str | None) -> bool:
    pair = (of, among) if ("share", of, among) in n.estimates.quantities else (among, of)
    held = float(np.mean(n.estimates.numbers(n.estimates.expected()).held[among]))
    expected = n.estimates.expected()["share", *pair] * held
    return near(value, expected) and decides(n, ("share", *pair), shown(value), shown(tips_at), instead or "multiway")


def results(n: Numbers, count: str) -> bool:
    return near(count, n.rate)


def crossing(n: Numbers, leader: str, behind: str, time: str, count: str) -> bool:
    """A bit earlier the other plan has more results, a bit later this one. Curves have 64 steps."""

    def returned(factor: float) -> list[float]:
        wanted = objective.most_results(by=f"{round(shown(time) * factor * 1e6)} microseconds")
        scores = Numbers(n.estimates, wanted, n.max_bytes)._scores()
        return [1 / float(scores[plan][0]) for plan in (leader, behind)]

    before, after = returned(0.85), returned(1.15)
    is_between = min(before) * 0.99 <= shown(count) <= max(after) * 1.01
    return before[0] <= before[1] * 1.001 and after[0] >= after[1] * 0.999 and is_between


FORMS: dict[str, tuple[str, Callable[..., bool]]] = {
    "results": (rf"{NUMBER}(?: \(.*\))? results per second expected, from declared statistics", results),
    "share of the CPU time": (rf"CHOSEN takes {NUMBER} % of the CPU time of {PLAN}", fact),
    "best": (rf"{PLAN} is the best in (.+); {PLAN}, the next best, is worse by "
             rf"(?:{NUMBER} %|1,000 times or more)( on average)?",
             best),
    "least CPU time": (rf"{OVER}{PLAN} takes the least CPU time{AMONG}", least_cpu),
    "on average": (rf"{OVER}{PLAN} takes the least CPU time on average{AMONG}: {BAND}", on_average),
    "must save": (rf"{OVER}{PLAN} is chosen{AMONG}: {BAND}, but a plan that keeps sub-joins must save 13 %",
                  by_caution),
    "least memory": (rf"{OVER}{PLAN} needs the least memory{AMONG}",
                     least_memory),
    "first by name": (rf"{OVER}{PLAN} is the first by name among (\d+) equal in (.+)", by_name),
    "only": (rf"{PLAN} is the only plan compared( within max_bytes)?(?: that (\w+) finds)?", only),
    "too large": (rf"{PLAN} is better in (.+), but its memory may exceed max_bytes", too_large),
    "rate": (rf"the number that decides: {NUMBER} rows per second of (\w); (?:below|above) {NUMBER}, "
             rf"(?:keep nothing|{PLAN} is better)", rate_decides),
    "partners": (rf"the number that decides: {NUMBER} partners of a row of (\w) in (\w); (?:below|above) {NUMBER}, "
                 rf"(?:keep nothing|{PLAN} is better)", partners_decide),
    "crossing": (rf"{PLAN} overtakes {PLAN} after {NUMBER} s, at {NUMBER} results", crossing),
}  # fmt: skip


def drawn_join(seed: int) -> tuple[tw.Join, Numbers]:
    """A join of three or four streams; numbers are often the same, so that plans are equally good."""
    r = random.Random(seed)
    on, edges = r.choice(GRAPHS[:3] * 3 + GRAPHS[3:])
    aliases = sorted(set(re.findall(r"([a-d])\.", on)))
    alike, fast = r.random() < 0.4, r.choice([1.0, 1.0, 100.0, 1000.0])
    one_rate, one_pair = fast * r.choice([10.0, 300.0, 5000.0]), r.choice([0.01, 0.3, 3.0])

    one_spread = r.choice([1.0, 1.2, 10.0])

    def number(value: float) -> Any:
        spread = one_spread if alike else r.choice([1.0, 1.0, 1.2, 10.0])
        return {"low": value / spread, "high": value * spread}

    statistics: dict[str, Any] = {
        alias: {"rows_per_second": number(one_rate if alike else fast * 10 ** r.uniform(0.5, 4))} for alias in aliases
    }
    statistics["partners"] = {
        edge: (number(one_pair if alike else 10 ** r.uniform(-2, 1.5)), None) for edge in edges
    }  # fmt: skip
    wanted = r.choice(OBJECTIVES)
    made = tw.join(on, "10 seconds", "ts", objective=wanted, statistics=statistics)
    estimates = made._estimates.with_columns({alias: {"k": 8.0, "x": r.choice([8.0, 64.0])} for alias in aliases})
    limit = 1e12
    if r.random() < 0.3:  # between the sizes of some plans, or below all of them
        sizes = sorted(Numbers(estimates, objective_of(wanted), limit).bytes.values())
        limit = float(round(r.choice([*sizes, sizes[0]]) * r.choice([0.9, 1.1])))
    given = {**made._given, "max_bytes": int(limit)}
    join = tw.Join(made._plan, given)
    join._estimates = estimates
    return join, Numbers(estimates, objective_of(wanted), limit)


def sentences(join: tw.Join) -> tuple[str, list[str]]:
    """The chosen plan, and the sentences below the table."""
    text = str(join.explain())
    lines = text[text.index("Plans compared") :].split("\n\n")[0].splitlines()[1:]
    (chosen,) = (line.split("  ")[1].strip() for line in lines if line.endswith("  chosen"))
    begin = next(n for n, line in enumerate(lines) if "results per second expected" in line)
    found: list[str] = []
    for line in lines[begin:]:
        if line.startswith("    "):
            found[-1] += " " + line.strip()
        else:
            found.append(line.strip())
    return chosen, found


def in_sorted(text: str) -> str:
    """Plans as they are compared here."""
    return text if text == "multiway" else sorted_text(of_text(text))


def test_every_sentence_is_true_of_the_numbers() -> None:
    seen: Counter[str] = Counter()
    for seed in range(300):
        join, numbers = drawn_join(seed)
        chosen, found = sentences(join)
        assert in_sorted(chosen) == numbers.chosen, (seed, numbers.wanted)
        for sentence in found:
            form = [
                (name, match, says) for name, (pattern, says) in FORMS.items()
                if (match := re.fullmatch(pattern.replace("CHOSEN", re.escape(chosen)), sentence))
            ]  # fmt: skip
            assert len(form) == 1, (seed, sentence)
            ((name, match, says),) = form
            parts = [in_sorted(p) if p and re.fullmatch(PLAN, p) else p for p in match.groups()]
            assert says(numbers, *parts), (seed, numbers.wanted, sentence)
            seen[name] += 1
    assert set(seen) == set(FORMS), f"never printed: {set(FORMS) - set(seen)}; {seen}"
