"""The properties that every policy must have, as checks that need no test framework.

Each check raises an AssertionError that says what happened, in which check, and how to reproduce it.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

import thalweg as tw
from thalweg.adapt import (
    Chosen,
    Observation,
    Policy,
    PolicyChoice,
    ProfilingRequest,
    Verdict,
    make_policy,
    policy_name,
    setting_names,
)
from thalweg.adapt.registry import policy_class
from thalweg.errors import PlanError
from thalweg.plan.filters.pipeline import Pipeline
from thalweg.testing.random_observations import draw_full_history, draw_history, draw_order, draw_pipeline, seen

TRIAL, SPENDING = "trial", "spending"
"""What a snapshot may leave out: work in progress, and what profiling has cost so far."""
MANY_ROWS = 10_000
"""The most rows in a batch of a drawn history."""
BROKEN_COSTS = (float("nan"), 0.0, 1e-300, 1e300)
"""Costs measured by a clock that stops or jumps."""


@dataclass(frozen=True)
class Example:
    """One policy, and the seed of all random numbers in this example."""

    policy: Chosen
    seed: int
    leaves_out: Collection[str] = ()

    @property
    def name(self) -> str:
        """The name of the policy, as reports show it."""
        return policy_name(self.policy)

    def rng(self) -> np.random.Generator:
        """Return a generator that yields the same numbers each time."""
        return np.random.default_rng(self.seed)

    def choice(self) -> PolicyChoice:
        """Return the policy with settings with which it acts on the few rows of an example, if it has them."""
        small = {"p": 0.5, "profile_window": 60, "alpha": 0.9}
        return PolicyChoice(self.policy, {key: small[key] for key in small if key in setting_names(self.policy)})

    def fresh(self, pipeline: Pipeline, seed: int = 1) -> Policy:
        """Return a new policy object without the wrapper that a loop puts around a user's own policy."""
        made: Policy = policy_class(self.policy)(pipeline, self.choice().settings, np.random.default_rng(seed))
        return made

    def expect(self, holds: bool, otherwise: str) -> None:
        """Raise an AssertionError with the sentence `otherwise` if a condition does not hold."""
        if not holds:
            raise AssertionError(f"policy {self.name!r} {otherwise}")


def has_a_name_and_settings(example: Example) -> None:
    """The class can be given as `policy=`, and its defaults are settings that it takes."""
    cls = policy_class(example.policy)
    found, defaults = PolicyChoice(example.policy).settings, getattr(cls, "defaults", None)
    example.expect(found == defaults, f"has the defaults {defaults!r}, but gets {found!r} without arguments")
    policy = example.fresh(Pipeline(("a", "b")))
    example.expect(
        isinstance(policy.standing, str), f"has standing={policy.standing!r}: it must be a str, which may be empty"
    )


def changes_its_order_only_by_a_verdict(example: Example) -> None:
    """The order stays valid; a verdict is the new order, with a reason in one line that names a filter."""
    rng = example.rng()
    pipeline = draw_pipeline(rng)
    policy = example.fresh(pipeline, seed=int(rng.integers(100)))
    example.expect(
        policy.order == pipeline.start, f"begins with {policy.order!r}, not with pipeline.start {pipeline.start}"
    )
    for update in _any_history(rng, len(pipeline)) * 4:
        before = policy.order
        verdict = policy.update(update)
        _expect_valid(example, pipeline, policy.order)
        if verdict is None:
            example.expect(
                policy.order == before, f"changed its order from {before} to {policy.order} without a verdict"
            )
            continue
        _expect_verdict(example, pipeline, verdict, policy.order, before)


def wants_what_may_be_profiled(example: Example) -> None:
    """On a row dropped at a position only filters after it are evaluated, and only those that may be profiled. If rows
    take routes of their own, the loop knows which filters are after it."""
    rng = example.rng()
    pipeline = draw_pipeline(rng)
    n = len(pipeline)
    policy = example.fresh(pipeline)
    for update in _any_history(rng, n):
        policy.update(update)
        wants = policy.wants()
        example.expect(isinstance(wants, ProfilingRequest), f"returned {wants!r} from wants(), not a ProfilingRequest")
        example.expect(0.0 <= wants.p <= 1.0, f"wants p={wants.p!r}: it must be at least 0 and at most 1")
        least = min(wants.together, wants.rows, wants.ns, wants.most)
        example.expect(least >= 0, f"wants a number below 0: {wants!r}")
        rows = wants.slice_rows
        example.expect(rows is None or rows >= 1, f"wants slice_rows={rows!r}: it must be at least 1, or None")
        evaluate, routed = wants.evaluate, getattr(policy, "mesh", None) is not None
        shaped = evaluate.shape == (n, n) and evaluate.dtype == np.bool_
        example.expect(shaped, f"wants evaluate of {evaluate.dtype} {evaluate.shape}, not of bool ({n}, {n})")
        for i in range(n):
            for j, k in enumerate(policy.order):
                example.expect(
                    not evaluate[i, k] or ((i < j or routed) and pipeline.profiled[k]),
                    f"wants {pipeline.names[k]} evaluated on rows that were dropped at position {i}, although it is at "
                    f"position {j} and profiled={pipeline.profiled[k]}",
                )


def tries_one_filter_further_forward(example: Example) -> None:
    """A trial moves one filter that may be profiled, and guards still come first."""
    rng = example.rng()
    pipeline = draw_pipeline(rng, least=2)
    policy = example.fresh(pipeline)
    for update in draw_full_history(rng, len(pipeline), int(rng.integers(1, 21))):
        policy.update(update)
        trial = policy.wants().trial
        if trial is None:
            continue
        k, order = trial.candidate, policy.order
        _expect_valid(example, pipeline, trial.order)
        example.expect(pipeline.profiled[k], f"tries {pipeline.names[k]}, which must not be profiled")
        example.expect(
            trial.order.index(k) < order.index(k),
            f"tries {pipeline.names[k]} at a position that is not earlier: {trial!r}",
        )
        others = [other for other in trial.order if other != k] == [other for other in order if other != k]
        example.expect(others, f"moves more than one filter in a trial: {order} to {trial.order}")
        example.expect(
            1 <= trial.rows <= MANY_ROWS,
            f"wants a trial of {trial.rows} rows: it must have at least 1, and at most those of a batch",
        )
        example.expect(0.0 <= trial.expected_ns < np.inf, f"expects a trial to take {trial.expected_ns} ns")


def tolerates_impossible_costs(example: Example) -> None:
    """Costs measured by a clock that stops or jumps break nothing. One filter and its bounds have such a cost."""
    rng = example.rng()
    pipeline = draw_pipeline(rng, least=2)
    odd = int(rng.integers(len(pipeline)))
    for cost_ns in BROKEN_COSTS:
        policy = example.fresh(pipeline)
        for update in draw_full_history(rng, len(pipeline), int(rng.integers(1, 11))):
            costs = update.costs
            assert costs is not None, "full histories have them"
            for numbers in (update.cost_ns, costs.most_ns, costs.fixed_ns):
                numbers[odd] = cost_ns
            costs.least_ns[odd] = 0.0
            with np.errstate(all="ignore"):  # dividing by such a cost may warn, and no more
                policy.update(update)
            wants = policy.wants()
            _expect_valid(example, pipeline, policy.order)
            example.expect(0.0 <= wants.p <= 1.0, f"wants p={wants.p!r} if a cost is {cost_ns}")
            rows = wants.slice_rows
            example.expect(rows is None or rows >= 1, f"wants slice_rows={rows!r} if a cost is {cost_ns}")
            tried = wants.trial is None or wants.trial.rows >= 1
            example.expect(tried, f"wants the trial {wants.trial!r} if a cost is {cost_ns}")


def restores_the_same_order_and_requests(example: Example) -> None:
    """A snapshot is JSON. A policy that has observed other rows gets the same order and requests by restoring it."""
    rng = example.rng()
    pipeline = draw_pipeline(rng)
    policy, other = example.fresh(pipeline), example.fresh(pipeline, seed=2)
    _show(policy, draw_history(rng, len(pipeline), int(rng.integers(1, 11))))
    snapshot = _through_json(example, policy.snapshot())
    _show(other, draw_history(rng, len(pipeline), int(rng.integers(1, 3))))  # `restore` discards what it observed
    other.restore(snapshot)
    example.expect(
        other.order == policy.order, f"has the order {other.order} after restore(), but the snapshot has {policy.order}"
    )
    _expect_same_wants(example, other, policy, spent_alike=False)
    found, given = other.snapshot(), policy.snapshot()
    example.expect(found == given, f"restored the snapshot {given}, but then returned another snapshot: {found}")


def continues_like_the_original(example: Example) -> None:
    """Two policies that are restored from one snapshot behave the same. So does the policy from which it was taken,
    unless the snapshot leaves out work in progress."""
    rng = example.rng()
    pipeline = draw_pipeline(rng)
    policy = example.fresh(pipeline)
    _show(policy, draw_history(rng, len(pipeline), int(rng.integers(1, 11))))
    snapshot = policy.snapshot()
    if TRIAL in example.leaves_out:
        policy = example.fresh(pipeline)
        policy.restore(snapshot)
    other = example.fresh(pipeline)
    other.restore(snapshot)
    for update in draw_history(rng, len(pipeline), int(rng.integers(1, 11))) * 3:
        one, two = policy.update(update), other.update(update)
        example.expect(
            one == two and policy.order == other.order,
            f"continues differently after restore(): {two} instead of {one}. If its snapshot leaves out work in "
            "progress on purpose, pass leaves_out=['trial']",
        )
        _expect_same_wants(example, policy, other, spent_alike=True)
    example.expect(policy.snapshot() == other.snapshot(), "returns another snapshot than the policy it was taken from")


def keeps_its_order_valid_after_any_restore(example: Example) -> None:
    """The order stays valid if the policy is restored in the middle of a run, with a sibling's order."""
    rng = example.rng()
    pipeline = draw_pipeline(rng)
    policy, sibling = example.fresh(pipeline), example.fresh(pipeline, seed=3)
    _show(policy, draw_history(rng, len(pipeline), int(rng.integers(1, 5))) * 9)
    policy.restore({**sibling.snapshot(), "order": list(draw_order(rng, pipeline))})
    for update in draw_history(rng, len(pipeline), int(rng.integers(1, 5))) * 9:
        policy.update(update)
        _expect_valid(example, pipeline, policy.order)


def begins_in_an_order_or_keeps_its_own(example: Example) -> None:
    """`begin` takes the order of an earlier run. All later orders are valid, and change only with a verdict."""
    rng = example.rng()
    pipeline = draw_pipeline(rng)
    policy, order = example.fresh(pipeline), draw_order(rng, pipeline)
    policy.begin(order)
    example.expect(policy.order in (order, pipeline.start), f"started with {policy.order}, but was given {order}")
    for update in _any_history(rng, len(pipeline)) * 2:
        before = policy.order
        verdict = policy.update(update)
        _expect_valid(example, pipeline, policy.order)
        example.expect(
            verdict is not None or policy.order == before, f"changed its order from {before} without a verdict"
        )


def takes_randomness_from_its_generator(example: Example) -> None:
    """Two policies with the same seed and the same observations behave the same: there is no clock, and no other source
    of randomness."""
    rng = example.rng()
    pipeline = draw_pipeline(rng)
    one, two = example.fresh(pipeline, seed=5), example.fresh(pipeline, seed=5)
    for update in _any_history(rng, len(pipeline)) * 3:
        first, second = one.update(update), two.update(update)
        example.expect(first == second, f"decided {first} and then {second} with the same seed and the same rows")
    example.expect(one.snapshot() == two.snapshot(), "has different snapshots with the same seed and the same rows")


def returns_snapshots_that_do_not_change(example: Example) -> None:
    """A snapshot does not change when its policy continues."""
    policy = example.fresh(Pipeline(("a", "b", "c")))
    snapshot = policy.snapshot()
    text = json.dumps(snapshot)
    for updates in (1, 2, 40):
        _push(policy, updates)
        policy.snapshot()
        example.expect(json.dumps(snapshot) == text, "changes a snapshot that it has returned: return a copy")


def refuses_snapshots_of_other_policies(example: Example) -> None:
    """In a loop, a snapshot of another policy or of other filters raises a PlanError with the policy's name."""
    pipeline = Pipeline(("a", "b", "c"))
    settings = example.choice().settings
    policy = make_policy(example.policy, pipeline, settings, np.random.default_rng(1))
    snapshot = policy.snapshot()
    guarded = Pipeline(("a", "b", "c"), guards=((), (0,), ()))
    in_guards = make_policy(example.policy, guarded, settings, np.random.default_rng(1))
    for made, wrong in (
        (policy, {**snapshot, "policy": "another"}),
        (policy, {**snapshot, "order": [0, 1]}),
        (policy, {**snapshot, "order": [0, 1, 1]}),
        (policy, {**snapshot, "order": [0, 1, 2, 3]}),
        (policy, {}),
        (in_guards, {**snapshot, "order": [1, 0, 2]}),
    ):
        before = made.order
        try:
            made.restore(wrong)
        except PlanError as error:
            example.expect(example.name in str(error), f"refuses a foreign snapshot without giving its name: {error}")
        else:
            example.expect(False, f"restores a snapshot that is not its own: {wrong}")
        example.expect(made.order == before, "changes its order although it refuses the snapshot")


def stops_growing(example: Example) -> None:
    """Memory and snapshot do not grow after the first rows, except for longer numbers."""
    policy = example.fresh(Pipeline(("a", "b", "c")))

    def largest(updates: int) -> tuple[int, int]:
        sizes = []
        for _ in range(updates // 20):
            _push(policy, 20)
            sizes.append((_held(policy), len(json.dumps(policy.snapshot()))))
        return max(size for size, _ in sizes), max(written for _, written in sizes)

    size, written = largest(600)
    later, written_later = largest(1400)
    example.expect(later <= size + 60, f"holds {later} bytes after 2,000 updates, but held {size} after 600")
    example.expect(
        written_later <= written + 60,
        f"writes snapshots of {written_later} bytes after 2,000 updates, but of {written} after 600",
    )


def keeps_the_same_rows(example: Example) -> None:
    """A chain with guards that runs with the policy keeps the rows that all predicates keep."""
    rng = example.rng()
    odd, size = int(rng.integers(2, 9)), int(rng.integers(50, 3_000))
    x = rng.integers(0, 1000, size)
    chain = (
        tw.predicate(lambda x: 1000 // x < 500, "x", name="divides", after=["not_zero"]),
        tw.predicate(lambda x: x % odd > 0, "x", name="odd"),
        tw.predicate(lambda x: x != 0, "x", name="not_zero"),
        tw.predicate(lambda x: x < 700, "x", name="small", profile=False),
    )
    keep = tw.filters(*chain, policy=example.choice(), slice_rows=int(rng.integers(1, 200)), seed=1)
    found = [value for batch in keep.over(pa.table({"x": x})) for value in batch.column("x").to_pylist()]
    wanted = [value for value in x.tolist() if value and 1000 // value < 500 and value % odd and value < 700]
    example.expect(found == wanted, f"keeps {len(found)} rows with a chain that should keep {len(wanted)}")
    shown = keep.report().sections[0].policy
    example.expect(shown == example.name, f"is called {shown!r} in the report")


Check = Callable[[Example], None]
ONCE: tuple[Check, ...] = (
    has_a_name_and_settings, returns_snapshots_that_do_not_change, refuses_snapshots_of_other_policies, stops_growing,
)  # fmt: skip
"""Checks without random examples, which run once."""
FEW: tuple[Check, ...] = (keeps_the_same_rows,)
"""Checks that run a loop, and so run on few examples."""
MANY: tuple[Check, ...] = (
    changes_its_order_only_by_a_verdict, wants_what_may_be_profiled, takes_randomness_from_its_generator,
    restores_the_same_order_and_requests, continues_like_the_original, keeps_its_order_valid_after_any_restore,
    begins_in_an_order_or_keeps_its_own, tries_one_filter_further_forward, tolerates_impossible_costs,
)  # fmt: skip


def _any_history(rng: np.random.Generator, n: int) -> list[Observation]:
    draw = draw_history if rng.random() < 0.5 else draw_full_history
    return draw(rng, n, int(rng.integers(1, 11)))


def _show(policy: Policy, updates: list[Observation]) -> None:
    for update in updates:
        policy.update(update)


def _push(policy: Policy, updates: int) -> None:
    """Update a policy with a stream whose rates rotate, so that the policy does everything it can do."""
    for i in range(updates):
        k = i // 20 % 3
        tuples = [tuple(c == k for c in range(3))] * 9 + [(True, True, True)]
        work = [100 + i % 7, 60, 30]
        policy.update(seen(3, tuples, [1.0, 2.0, 4.0], work, [work[1], work[2], 10], [900, 50 + i % 90, 70]))


def _held(policy: Policy) -> int:
    """Return the size of what the object holds, in bytes; 0 if it cannot be measured."""
    try:
        return len(pickle.dumps(policy.__reduce_ex__(2)[2]))
    except Exception:  # the class cannot be pickled; the size of the snapshot is still checked
        return 0


def _through_json(example: Example, snapshot: dict[str, Any]) -> dict[str, Any]:
    try:
        read: dict[str, Any] = json.loads(json.dumps(snapshot))
    except TypeError as error:
        raise AssertionError(f"policy {example.name!r} returns a snapshot that is not JSON: {error}") from error
    return read


def _expect_valid(example: Example, pipeline: Pipeline, order: tuple[int, ...]) -> None:
    example.expect(
        isinstance(order, tuple) and pipeline.respects(order),
        f"has the order {order!r}, but it must be a tuple of all {len(pipeline)} filters with guards {pipeline.guards} "
        "first",
    )


def _expect_verdict(
    example: Example, pipeline: Pipeline, verdict: Verdict, order: tuple[int, ...], before: tuple[int, ...]
) -> None:
    example.expect(isinstance(verdict, Verdict), f"returned {verdict!r} from update(), not a Verdict or None")
    new = verdict.order == order != before
    example.expect(new, f"returned a verdict for {verdict.order}, but changed its own order from {before} to {order}")
    reason = verdict.reason
    line = isinstance(reason, str) and reason.strip() == reason != "" and "\n" not in reason
    example.expect(line, f"gave the reason {reason!r}: it must be one line of text without spaces around it")
    named = any(name in reason for name in pipeline.names)
    example.expect(named, f"gave the reason {reason!r}, which names none of the filters {', '.join(pipeline.names)}")


def _expect_same_wants(example: Example, one: Policy, other: Policy, *, spent_alike: bool) -> None:
    first, second = one.wants(), other.wants()
    if spent_alike or SPENDING not in example.leaves_out:
        example.expect(first.p == second.p, f"wants p={first.p} after restore() and p={second.p} without")
    example.expect(np.array_equal(first.evaluate, second.evaluate), "wants other filters evaluated after restore()")
