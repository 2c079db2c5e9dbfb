"""The choice of a plan: the least of all for exact numbers, the least regret otherwise, memory limits, objectives, the
number that decides, and objectives that are refused."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import thalweg as tw
from tests.long_run import examples
from tests.optimizer.joins.test_search_plans import graphs
from thalweg import Estimate, objective
from thalweg.cost.join_bytes import plan_bytes
from thalweg.cost.join_numbers import JoinNumbers
from thalweg.cost.join_work import work_ns
from thalweg.cost.ties import CAUTION
from thalweg.optimizer.joins import choose_plan as module
from thalweg.optimizer.joins.choose_plan import choose_plan
from thalweg.optimizer.joins.compare_plans import results_over_time, tipping_point
from thalweg.optimizer.joins.estimates import JoinEstimates, Quantity, neighbors
from thalweg.optimizer.joins.plan_choice import Band, PlanChoice
from thalweg.optimizer.joins.search_plans import all_plans
from thalweg.plan.estimate import ORIGINS
from thalweg.plan.joins.graph import JoinGraph
from thalweg.plan.joins.shape import Shape, plan_text
from thalweg.plan.objective import LEAST_CPU, Objective

SEEDS = st.integers(0, 2**32)
ON = "a.k = b.k AND b.m = c.m"
CHAIN = JoinGraph.of([("a", "k", "b", "k"), ("b", "m", "c", "m")])


def drawn_estimates(graph: JoinGraph, seed: int, spread: float = 0.0) -> JoinEstimates:
    """Rates over 1:1000, 0.01 to 100 partners per edge. `spread`: the relative deviation of each number."""
    r = random.Random(seed)
    quantities: dict[Quantity, Estimate] = {}

    def estimate(value: float, high: float = math.inf) -> Estimate:
        return Estimate(value, "counted", (value * spread) ** 2, 0.0, high)

    for alias in graph.aliases:
        quantities["rate", alias] = estimate(10 ** r.uniform(2, 5))
    seconds = {alias: r.choice([1.0, 10.0, 60.0]) for alias in graph.aliases}
    for one, other in neighbors(graph):
        held = quantities["rate", other].value * seconds[other]
        quantities["share", one, other] = estimate(min(10 ** r.uniform(-2, 2) / held, 1.0), 1.0)
    return JoinEstimates(graph, graph.aliases, quantities, seconds)


def expected_numbers(estimates: JoinEstimates, seconds: float | None = None) -> JoinNumbers:
    """Numbers that are plain, computed here from the estimates."""
    rates: dict[str, Any] = {alias: estimates.quantities["rate", alias].value for alias in estimates.graph.aliases}
    stay = {a: s if seconds is None else min(s, seconds) for a, s in estimates.seconds.items()}
    held: dict[str, Any] = {alias: rates[alias] * stay[alias] for alias in rates}
    shares: dict[Any, Any] = {(q[1], q[2]): e.value for q, e in estimates.quantities.items() if q[0] == "share"}
    return JoinNumbers(estimates.graph, rates, held, shares)


def weighted(shape: Shape, cost: float) -> float:
    """A plan that keeps something must be better than keeping nothing by a factor."""
    return cost if plan_text(shape) == "multiway" else cost * CAUTION


@examples(25, long=500)
@given(graph=graphs(3, 5), seed=SEEDS)
def test_exact_numbers_choose_the_least_cpu_time(graph: JoinGraph, seed: int) -> None:
    estimates = drawn_estimates(graph, seed)
    numbers = expected_numbers(estimates)
    choice = choose_plan(estimates)
    costs = {shape: float(work_ns(shape, numbers)) for shape in all_plans(graph)}
    least = min(weighted(shape, cost) for shape, cost in costs.items())
    chosen = choice.chosen
    assert weighted(chosen.shape, costs[chosen.shape]) == pytest.approx(least, rel=1e-9)
    assert choice.complete
    assert {each.shape for each in choice.candidates} == set(costs)
    for each in choice.candidates:
        assert each.cpu == pytest.approx(costs[each.shape] / 1e9)
        assert each.load.low == pytest.approx(each.cpu) == pytest.approx(each.load.high)
        assert each.bytes == pytest.approx(float(plan_bytes(each.shape, numbers)))
        assert each.regret == pytest.approx(costs[each.shape] / min(costs.values()), rel=1e-6)


@examples(10, long=200)
@given(graph=graphs(3, 4), seed=SEEDS, spread=st.sampled_from([0.2, 1.0, 3.0]))
def test_the_least_mean_regret_is_chosen(graph: JoinGraph, seed: int, spread: float) -> None:
    """The ratios are computed here, draw by draw."""
    estimates = drawn_estimates(graph, seed, spread)
    numbers = estimates.numbers(estimates.drawn(7))
    choice = choose_plan(estimates, seed=7)
    costs = {shape: np.asarray(work_ns(shape, numbers)).tolist() for shape in all_plans(graph)}
    least = [min(each) for each in zip(*costs.values(), strict=True)]
    ratios = {shape: [cost / best for cost, best in zip(each, least, strict=True)] for shape, each in costs.items()}
    regrets = {shape: float(np.mean(values)) for shape, values in ratios.items()}
    for each in choice.candidates:
        assert each.regret == pytest.approx(regrets[each.shape], rel=1e-6)
        assert each.load.low <= each.load.value <= each.load.high
    best = min(weighted(shape, regret) for shape, regret in regrets.items())
    assert weighted(choice.chosen.shape, regrets[choice.chosen.shape]) == pytest.approx(best, rel=1e-6)


def fan_out(
    a: float = 20e3, b: float = 3e3, c: float = 300.0, partners: float = 30.0, found: float = 0.01, spread: float = 0.0
) -> JoinEstimates:
    """A row of a finds this many in b, and such a share of b one in c; windows of 10 seconds."""

    def estimate(value: float, high: float = math.inf) -> Estimate:
        return Estimate(value, "declared", (value * spread) ** 2, 0.0, high)

    quantities: dict[Quantity, Estimate] = {
        ("rate", "a"): estimate(a), ("rate", "b"): estimate(b), ("rate", "c"): estimate(c),
        ("share", "a", "b"): estimate(partners / (10 * b), 1.0), ("share", "b", "c"): estimate(found / (10 * c), 1.0),
    }  # fmt: skip
    return JoinEstimates(CHAIN, CHAIN.aliases, quantities, dict.fromkeys("abc", 10.0))


def test_a_fan_out_keeps_the_small_sub_join() -> None:
    assert choose_plan(fan_out()).chosen.plan == "(a (b c))"
    assert choose_plan(fan_out(partners=0.1)).chosen.plan == "multiway"
    assert choose_plan(fan_out()).origin == "declared"


@pytest.mark.parametrize("spread", [0.0, 1.0])
def test_the_upper_end_of_memory_must_be_within_the_limit(spread: float) -> None:
    estimates = fan_out(found=0.5, partners=100.0, spread=spread)
    free = choose_plan(estimates)
    assert free.chosen.plan == "(a (b c))"
    multiway = next(each for each in free.candidates if each.plan == "multiway")
    high = free.chosen.memory.high
    assert multiway.memory.high < high
    assert choose_plan(estimates, max_bytes=high).chosen.plan == "(a (b c))"
    tight = choose_plan(estimates, max_bytes=high - 1)
    assert tight.chosen.plan == "multiway"
    assert not tight.over_memory
    assert [each.fits for each in tight.candidates] == [each.memory.high <= high - 1 for each in tight.candidates]
    if spread:
        assert free.chosen.memory.low < free.chosen.bytes < high
    over = choose_plan(estimates, max_bytes=1000)
    assert over.over_memory
    assert over.chosen.bytes == min(each.bytes for each in over.candidates)
    assert tipping_point(estimates, over) is None


STATISTICS = {
    "a": {"rows_per_second": 20_000}, "b": {"rows_per_second": 3_000}, "c": {"rows_per_second": 300},
    "partners": {"a.k = b.k": (30, 200), "b.m = c.m": (0.01, 0.1)},
}  # fmt: skip
SCHEMA = pa.schema([("t", pa.timestamp("us")), ("k", pa.int64()), ("m", pa.int64())])


def join(**given: Any) -> tw.Join:
    return tw.join(ON, "10 seconds", "t", **given)


def test_a_join_that_no_plan_fits_warns_before_it_starts() -> None:
    j = join(statistics=STATISTICS, max_bytes=100_000)
    with pytest.warns(
        UserWarning, match=r"every plan of the join of a, b and c is expected to need more than 100\.0 kB"
    ):
        list(j.over(**dict.fromkeys("abc", SCHEMA.empty_table())))


def test_the_declared_plan_is_explained() -> None:
    text = str(join(statistics=STATISTICS).explain())
    assert "(a (b c))" in text
    assert "declared" in text


# objectives


def results_by(shape: Shape, estimates: JoinEstimates, by: float, steps: int = 4000) -> float:
    """Simulated in small steps of time: arrivals wait, and the oldest are worked off first."""
    step = by / steps
    waiting: list[list[float]] = []
    first, returned = 0, 0.0
    whole = frozenset(estimates.graph.aliases)
    for n in range(steps):
        numbers = expected_numbers(estimates, (n + 0.5) * step)
        waiting.append([float(work_ns(shape, numbers)) / 1e9 * step, float(numbers.rate(whole)) * step])
        left = step
        while first < len(waiting) and left > 0:
            work, results = waiting[first]
            part = min(left / work, 1.0) if work else 1.0
            returned += results * part
            left -= work * part
            if part >= 1.0:
                first += 1
            else:
                waiting[first] = [work * (1 - part), results * (1 - part)]
    return returned


OVERLOAD = {"a": 400e3, "b": 60e3, "c": 6e3, "partners": 60.0}


@pytest.mark.parametrize("by", [3, 30])
def test_most_results_by_a_time_are_those_of_a_simulation(by: int) -> None:
    estimates = fan_out(**OVERLOAD)
    choice = choose_plan(estimates, objective.most_results(by=by))
    simulated = {shape: results_by(shape, estimates, by, 600) for shape in all_plans(CHAIN)}
    assert min(simulated.values()) < 0.8 * max(simulated.values())
    assert simulated[choice.chosen.shape] == pytest.approx(max(simulated.values()), rel=0.01)
    for each in choice.candidates:
        assert 1.0 / each.score == pytest.approx(simulated[each.shape], rel=0.03)
    curves = results_over_time(estimates, list(simulated), float(by))
    for shape, results in simulated.items():
        assert curves.expected[shape][-1] == pytest.approx(results, rel=0.03)
        assert np.all(np.diff(curves.expected[shape]) >= 0)


@pytest.mark.parametrize("results", [10, 100_000])
def test_first_results_come_when_a_simulation_has_them(results: int) -> None:
    estimates = fan_out(**OVERLOAD)
    choice = choose_plan(estimates, objective.first_results(results))
    for each in choice.candidates:
        before, after = (results_by(each.shape, estimates, each.score * factor, steps=600) for factor in (0.95, 1.05))
        assert before < results < after
    assert choice.chosen.score == min(each.score for each in choice.candidates)


def test_the_numbers_of_a_bucket_are_those_of_rows_spread_by_their_key() -> None:
    """Rows of a and b go to the bucket of their key, rows of c to all of them."""
    rng, buckets, keys = np.random.default_rng(3), 4, 400
    of_a, of_b = rng.integers(0, keys, 8000), rng.integers(0, keys, 4000)
    m_of_b, of_c = rng.integers(0, 100, 4000), rng.integers(0, 100, 500)
    quantities = {
        ("rate", "a"): Estimate(800.0, "counted", 0.0), ("rate", "b"): Estimate(400.0, "counted", 0.0),
        ("rate", "c"): Estimate(50.0, "counted", 0.0), ("share", "a", "b"): Estimate(1 / keys, "counted", 0.0),
        ("share", "b", "c"): Estimate(1 / 100, "counted", 0.0),
    }  # fmt: skip
    whole = JoinEstimates(CHAIN, CHAIN.aliases, quantities, dict.fromkeys("abc", 10.0))
    estimates = replace(whole, buckets=buckets, spread=frozenset("ab"))
    one = estimates.numbers(estimates.expected())
    in_a, in_b = of_a % buckets == 0, of_b % buckets == 0
    pairs = np.equal.outer(of_a[in_a], of_b[in_b])
    assert one.rows(frozenset("a")) == pytest.approx(in_a.sum(), rel=0.1)
    assert one.rows(frozenset("c")) == len(of_c)
    assert one.partners(frozenset("a"), frozenset("b")) == pytest.approx(pairs.sum() / in_a.sum(), rel=0.1)
    partners = np.equal.outer(m_of_b[in_b], of_c).sum(axis=1)
    assert one.partners(frozenset("b"), frozenset("c")) == pytest.approx(partners.mean(), rel=0.1)
    assert one.rows(frozenset("abc")) == pytest.approx((pairs @ partners).sum(), rel=0.1)
    # all of it together
    choice, alone = choose_plan(estimates), choose_plan(whole)
    assert choice.results.value == pytest.approx(alone.results.value)
    multiway, once = (next(each for each in made.candidates if each.plan == "multiway") for made in (choice, alone))
    held = [float(plan_bytes(CHAIN.aliases, numbers)) for numbers in (one, whole.numbers(whole.expected()))]
    assert (multiway.bytes, once.bytes) == (buckets * held[0], held[1])


def test_steady_rate_prefers_a_plan_that_keeps_up() -> None:
    light, heavy = fan_out(a=2e4, b=3e3, c=3e2), fan_out(**OVERLOAD)
    assert all(each.score == 1.0 for each in choose_plan(light, objective.steady_rate()).candidates)
    choice = choose_plan(heavy, objective.steady_rate())
    assert choice.chosen.load.value == min(each.load.value for each in choice.candidates)
    assert choice.chosen.score == pytest.approx(max(choice.chosen.cpu, 1.0))
    assert max(each.score for each in choice.candidates) > 2 * choice.chosen.score


def test_least_memory_is_the_least() -> None:
    for partners in (0.1, 30.0, 1000.0):
        choice = choose_plan(fan_out(partners=partners), objective.least_memory())
        assert choice.chosen.bytes == min(each.bytes for each in choice.candidates)


# the number that decides


def with_value(estimates: JoinEstimates, quantity: Quantity, value: float) -> JoinEstimates:
    old = estimates.quantities[quantity]
    return estimates.with_quantity(quantity, Estimate(min(value, old.high), old.origin, 0.0, old.low, old.high))


@examples(15, long=300)
@given(graph=graphs(3, 4), seed=SEEDS, wanted=st.sampled_from([LEAST_CPU, objective.least_memory()]))
def test_beyond_the_tipping_point_the_other_plan_is_better(graph: JoinGraph, seed: int, wanted: Objective) -> None:
    estimates = drawn_estimates(graph, seed)
    choice = choose_plan(estimates, wanted)

    def cost(shape: Shape, numbers: JoinNumbers) -> float:
        if wanted == LEAST_CPU:
            return weighted(shape, float(work_ns(shape, numbers)))
        return float(plan_bytes(shape, numbers))

    tipping = tipping_point(estimates, choice)
    if tipping is None:
        return
    assert tipping.value == pytest.approx(estimates.quantities[tipping.quantity].value)
    assert tipping.tips_at != tipping.value
    there = expected_numbers(with_value(estimates, tipping.quantity, tipping.tips_at))
    assert cost(tipping.plan, there) < cost(choice.chosen.shape, there)
    assert choose_plan(with_value(estimates, tipping.quantity, tipping.tips_at), wanted).chosen.shape != (
        choice.chosen.shape
    )


def test_a_fan_out_tips_where_keeping_nothing_is_better() -> None:
    """Also if the chosen plan is cheaper only because keeping nothing is preferred."""
    for partners in (30.0, 8.0, 4.0, 3.0, 2.0, 1.0):
        estimates = fan_out(partners=partners)
        choice = choose_plan(estimates)
        tipping = tipping_point(estimates, choice)
        assert tipping is not None
        there = with_value(estimates, tipping.quantity, tipping.tips_at)
        assert choose_plan(there).chosen.shape == tipping.plan != choice.chosen.shape


# bands


def monte_carlo(estimates: JoinEstimates, of: Callable[[JoinNumbers], Any], draws: int = 4000) -> np.ndarray:
    """Values drawn one by one, from log-normal quantities with the mean and variance of the estimates."""
    rng = np.random.default_rng(1)
    found = []
    for _ in range(draws):
        values = {}
        for quantity, estimate in estimates.quantities.items():
            square = math.log1p((estimate.variance or 0.0) / estimate.value**2)
            value = rng.lognormal(math.log(estimate.value) - square / 2, math.sqrt(square))
            values[quantity] = min(value, estimate.high)
        found.append(float(of(estimates.numbers(values))))
    return np.array(found)


def test_bands_contain_nine_of_ten_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """With many draws, the ends of a band are the quantiles of 5 and 95 %."""
    monkeypatch.setattr("thalweg.optimizer.joins.estimates.DRAWS", 4000)
    estimates = fan_out(spread=0.5)
    choice = choose_plan(estimates)
    for each in choice.candidates:
        shape = each.shape
        drawn = monte_carlo(estimates, lambda numbers, shape=shape: work_ns(shape, numbers))  # type: ignore[misc]
        assert each.load.low * 1e9 == pytest.approx(np.quantile(drawn, 0.05), rel=0.1)
        assert each.load.high * 1e9 == pytest.approx(np.quantile(drawn, 0.95), rel=0.1)
    # 20,000 rows of a per second, each with 30 partners of which 1 % have one; as many results by rows of b and of c
    mean, square = 3 * 20e3 * 30 * 0.01, 5 * math.log1p(0.5**2)  # a product of five numbers
    ends = [mean * math.exp(-square / 2 + sign * 1.645 * math.sqrt(square)) for sign in (-1, 1)]
    assert [choice.results.low, choice.results.high] == pytest.approx(ends, rel=0.1)


def test_a_band_from_few_draws_is_near_that_of_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """The share of a thousand true values that the bands of thirty-two draws contain."""
    estimates = fan_out(spread=0.5)
    drawn = monte_carlo(estimates, lambda numbers: work_ns(("a", "b", "c"), numbers), 1000)
    inside = []
    for seed in range(20):
        choice = choose_plan(estimates, seed=seed)
        band = next(each.load for each in choice.candidates if each.plan == "multiway")
        inside.append(np.mean((drawn >= band.low * 1e9) & (drawn <= band.high * 1e9)))
    assert 0.8 <= np.mean(inside) <= 0.97


def test_a_number_without_an_interval_has_a_band_by_its_origin() -> None:
    known = fan_out().quantities.items()
    wide, narrow = (
        choose_plan(replace(fan_out(), quantities={q: Estimate(e.value, origin, None, 0, e.high) for q, e in known}))
        for origin in ORIGINS[-1:-3:-1]
    )
    assert _width(wide) > 2 * _width(narrow) > 2


def _width(choice: PlanChoice) -> float:
    return choice.results.high / choice.results.low


def test_the_expected_value_is_within_its_band() -> None:
    assert Band.of(np.array([10.0, 1.0, 2.0, 3.0])) == Band(10.0, pytest.approx(1.15), 10.0)  # type: ignore[arg-type]


def test_more_streams_than_all_plans_are_searched() -> None:
    graph = JoinGraph.of([(f"s{n}", "k", f"s{n + 1}", "m") for n in range(module.ALL_PLANS)])
    estimates = drawn_estimates(graph, 3)
    choice = choose_plan(estimates)
    assert not choice.complete
    numbers = expected_numbers(estimates)
    costs = {shape: float(work_ns(shape, numbers)) for shape in all_plans(graph)}
    best = min(costs, key=lambda shape: costs[shape])
    assert plan_text(choice.chosen.shape) in (plan_text(best), "multiway")
    assert any(each.shape == best for each in choice.candidates)


# objectives that are refused


NO_COUNTS: tuple[Any, ...] = (10**400, 0, -1, 1.5, True, math.nan, "10", None)
BAD: list[tuple[Callable[[], Any], str]] = [
    (lambda: objective.most_results(by=0), r"most_results\(by=0\): the time must be above 0, such as '10 seconds'"),
    (lambda: objective.most_results(by="0 seconds"), r"the time must be above 0"),
    (lambda: objective.most_results(by=timedelta(0)), r"the time must be above 0"),
    (lambda: objective.most_results(by=-5), r"by=-5"),
    (lambda: objective.most_results(by="-1 second"), r"by='-1 second'"),
    (lambda: objective.most_results(by=math.nan), r"by=nan: must be a length of time such as '10 seconds'"),
    (lambda: objective.most_results(by=math.inf), r"by=inf: must be a length of time"),
    (lambda: objective.most_results(by="soon"), r"by='soon': write a number and a unit"),
    (lambda: objective.most_results(by=True), r"by=True"),
    (lambda: objective.most_results(by=None), r"by=None"),  # type: ignore[arg-type]
    *(
        (partial(objective.first_results, n), rf"first_results\({n!r}\): must be a whole number of results, from 1 to")
        for n in NO_COUNTS
    ),
]  # fmt: skip


@pytest.mark.parametrize(("make", "says"), BAD, ids=[says for _, says in BAD])
def test_an_objective_without_a_usable_number_is_refused(make: Callable[[], Any], says: str) -> None:
    with pytest.raises(tw.PlanError, match=says):
        make()


WRONG: list[tuple[Any, str]] = [
    ("most_results", r"objective='most_results': it needs a number; write .*\.most_results\(by='10 seconds'\)"),
    ("first_results", r"objective='first_results': it needs a number; write tw\.objective\.first_results\(1000\)"),
    ("steady", r"objective='steady': must be one of .*'steady_rate'"),
    ("stedy_rate", r"objective='stedy_rate': .*did you mean 'steady_rate'"),
    ("", r"objective='': must be one of"),
    (7, r"objective=7: must be one of"),
    (True, r"objective=True: must be one of"),
    (objective.steady_rate, r"must be one of"),
    (["least_memory"], r"must be one of"),
]  # fmt: skip


@pytest.mark.parametrize(("wrong", "says"), WRONG, ids=[repr(wrong)[:20] for wrong, _ in WRONG])
def test_an_unknown_objective_is_refused_before_anything_runs(wrong: Any, says: str) -> None:
    with pytest.raises(tw.PlanError, match=says) as of_join:
        join(objective=wrong)
    s = tw.session()
    for name in "abc":
        s.stream(name, SCHEMA.empty_table(), time="t")
    sql = (
        "SELECT a.k FROM a [RANGE 10 SECONDS], b [RANGE 10 SECONDS], c [RANGE 10 SECONDS] WHERE a.k = b.k AND b.m = c.m"
    )
    with pytest.raises(tw.PlanError, match=says) as of_query:
        s.query(sql, objective=wrong)
    for error in (of_join, of_query):
        assert "\n" not in str(error.value)
    for right in (
        "steady_rate",
        "least_memory",
        objective.most_results(by="1 second"),
        objective.first_results(5),
        None,
    ):
        assert join(objective=right) is not None
        assert s.query(sql, objective=right) is not None


def test_local_time_minimization_refuses_many_streams() -> None:
    graph = JoinGraph.of([("s0", "k", f"s{n}", "k") for n in range(1, 9)])
    wanted = objective.first_results(1000, search="local_time_minimization")
    with pytest.raises(tw.PlanError, match=r"is for at most 8 streams, and this join has 9; leave search= out"):
        choose_plan(drawn_estimates(graph, 0), wanted)
