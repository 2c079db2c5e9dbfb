"""A user's own class as a policy: what is refused, how a loop runs it, and what `assert_policy` finds."""

from __future__ import annotations

import re
import time
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pytest

import thalweg as tw
from tests.adapt.forward import Forward, ForwardSettings
from thalweg.adapt import POLICIES, Policy, Verdict, make_policy, policy_name, setting_names
from thalweg.adapt.auto import Auto
from thalweg.adapt.mesh import MeshPolicy
from thalweg.adapt.policy import Trial
from thalweg.events import Observed, VerdictGiven, read
from thalweg.plan import Pipeline
from thalweg.report.kept_order_reason import derived
from thalweg.runtime.settings import FilterSettings, unknown_settings
from thalweg.simulation import MultiwayJoin, Selection
from thalweg.testing import assert_policy

ROWS = pa.table({"x": [n * 7 % 1000 for n in range(5_000)]})
THREE = Pipeline(("a", "b", "c"), guards=((), (0,), ()), profiled=(True, True, False))


def chain() -> tuple[tw.Predicate, ...]:
    """The second fails on rows that the first one drops."""
    return (
        tw.predicate(lambda x: x > 0, "x", name="positive"),
        tw.predicate(lambda x: 500 // x < 100, "x", name="not_tiny", after=["positive"]),
        tw.predicate(lambda x: x % 3 == 0, "x", name="third", profile=False),
    )


KEPT = [x for x in ROWS.column("x").to_pylist() if x > 0 and 500 // x < 100 and x % 3 == 0]


def test_filters_run_with_it_and_report_its_name(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    keep = tw.filters(*chain(), policy=Forward, events=path, seed=1)
    assert [x for batch in keep.over(ROWS) for x in batch.column("x").to_pylist()] == KEPT
    (section,) = keep.report().sections
    assert section.policy == "forward"
    assert section.switch_count > 3
    assert section.switches[0].reason.startswith("it is the turn of ")
    assert section.standing == "it waits"
    assert "policy forward" in str(keep.report())
    decided = [record for record in read(path) if isinstance(record, Observed | VerdictGiven)]
    assert {record.origin.policy for record in decided} == {"forward"}
    again = tw.filters(*chain(), policy=Forward, events=path, seed=1)  # begins where the first run ended
    assert [x for batch in again.over(ROWS) for x in batch.column("x").to_pylist()] == KEPT


def test_joins_run_with_one_policy_per_stream() -> None:
    rng = np.random.default_rng(1)
    streams = {a: pa.table({"k": rng.integers(0, 40, 900), "t": np.arange(900)}) for a in "abc"}

    def rows(policy: Any) -> tuple[list[str], Any]:
        join = tw.join("a.k = b.k AND a.k = c.k", window=60, time="t", policy=policy, seed=1, slice_rows=50)
        return sorted(str(row) for batch in join.over(**streams) for row in batch.to_pylist()), join.report()

    found, report = rows(Forward)
    assert found == rows("static")[0]
    assert len(found) > 100
    assert {section.policy for section in report.sections} == {"forward"}


def test_queries_run_with_it_and_explain_shows_its_name() -> None:
    s = tw.session()
    times = pa.array(range(5_000), pa.timestamp("us"))
    s.stream("numbers", ROWS.append_column("t", times), time="t")
    s.function("third", lambda x: x % 3 == 0, returns="boolean", safe=True)
    q = s.query("SELECT x FROM numbers WHERE third(x) AND x > 500", policy=Forward)
    assert "forward" in str(q.explain())
    found = [x for batch in q.batches() for x in batch.column("x").to_pylist()]
    assert found == [x for x in ROWS.column("x").to_pylist() if x % 3 == 0 and x > 500]
    assert q.plan.policy == "forward"


def test_simulations_take_it() -> None:
    assert "'forward'" in repr(Selection("s", "a", *chain(), policy=tw.policy(Forward, p=0.1)))
    assert "'forward'" in repr(MultiwayJoin("j", "a.k = b.k", 5, "t", policy=Forward))


def test_its_settings_are_the_fields_of_its_defaults() -> None:
    assert setting_names(Forward) == ("p", "patience")
    assert tw.policy(Forward).settings == ForwardSettings()
    assert tw.policy(Forward, p=0.1, patience=9).settings == ForwardSettings(0.1, 9)
    keep = tw.filters(*chain(), policy=tw.policy(Forward, p=0.25))
    assert FilterSettings.in_force(keep._given).profile == ForwardSettings(0.25)
    with pytest.raises(tw.PlanError, match=r"policy 'forward' has no setting alpha=0\.5; it has p and patience"):
        tw.filters(*chain(), policy=tw.policy(Forward, alpha=0.5))

    class Plain(Forward):
        name = "plain"
        defaults = None

        def __init__(self, pipeline: Pipeline, settings: None, rng: np.random.Generator) -> None:
            super().__init__(pipeline, ForwardSettings(), rng)

    assert tw.policy(Plain).settings is None
    with pytest.raises(tw.PlanError, match=r"policy 'plain' has no setting p=0\.5; it takes none"):
        tw.filters(*chain(), policy=tw.policy(Plain, p=0.5))


def test_what_its_settings_raise_is_reported_with_its_name() -> None:
    @dataclass(frozen=True)
    class Picky:
        patience: int = 2

        def __post_init__(self) -> None:
            if self.patience > 9:
                raise ValueError("nobody waits so long")
            if self.patience < 1:
                raise tw.PlanError(f"patience={self.patience}: must be 1 or more")

    picky = type("Waiting", (Forward,), {"name": "waiting", "defaults": Picky()})
    with pytest.raises(tw.PlanError, match=r"^policy 'waiting': patience=0: must be 1 or more$"):
        tw.policy(picky, patience=0)
    with pytest.raises(
        tw.PlanError, match=r"^policy 'waiting' cannot have the settings .*'patience': 10.*: ValueError: no"
    ):
        tw.policy(picky, patience=10)
    assert repr(tw.policy(picky, patience=9)) == "tw.policy(Waiting, patience=9)"
    assert tw.policy(picky, patience=9).text == "waiting(patience=9)"


def test_without_a_name_it_is_shown_by_the_name_of_its_class() -> None:
    class Mine(Forward):
        name: ClassVar[Any] = None

    assert policy_name(Mine) == "Mine"
    keep = tw.filters(*chain(), policy=Mine)
    list(keep.over(ROWS))
    assert keep.report().sections[0].policy == "Mine"


def test_a_built_in_policy_may_be_passed_as_a_class() -> None:
    keep = tw.filters(*chain(), policy=Auto, budget=0.1)
    list(keep.over(ROWS))
    assert keep.report().sections[0].policy == "auto"


def test_a_report_does_not_say_that_it_never_profiled() -> None:
    """It is unknown whether it profiles. For a built-in policy that does not, the report does not mention missing rows
    either."""
    assert derived("forward", 3, 100, 0) == "nothing better found"


def without(*names: str) -> type[Any]:
    return type("Half", (), {name: value for name, value in vars(Forward).items() if name not in names})


class OnlyTheProtocol(Policy):
    """Has the methods of the protocol, and none of its own."""


REFUSED: dict[str, tuple[Any, str]] = {
    "no method": (without("snapshot"), r"policy=Half: this class has no snapshot\(\), which a policy needs"),
    "no methods": (int, r"policy=int: this class has no wants\(\), update\(\), begin\(\), snapshot\(\), restore\(\)"),
    "protocol": (OnlyTheProtocol, r"this class has no wants\(\), update\(\), begin\(\)"),
    "an object": (
        Forward(THREE, ForwardSettings(), np.random.default_rng(1)),
        "is an object: pass its class, policy=Forward",
    ),
    "our name": (type("Other", (Forward,), {"name": "sweep"}), "'sweep' is the name of a built-in policy"),
    "no line": (type("Other", (Forward,), {"name": "a\nb"}), "its name is 'a\\\\nb'"),
    "blank": (type("Other", (Forward,), {"name": " "}), "its name is ' '"),
    "a dict": (type("Other", (Forward,), {"defaults": {"p": 1}}), "must be a dataclass instance or None"),
    "a class": (type("Other", (Forward,), {"defaults": ForwardSettings}), "must be a dataclass instance or None"),
    "classes of rows": (
        type("Other", (Forward,), {"classifies": True}),
        "policy=Other: its class attribute `classifies` is true, but a policy of your own has one order for all rows",
    ),
    "a mesh": (type("Other", (MeshPolicy,), {"name": "my mesh"}), "set it to False, or use policy='mesh'"),
    "constructor": (
        type("Other", (Forward,), {"__init__": lambda self, pipeline: None}),
        r"Other\(pipeline, settings, rng\) is not possible: too many positional arguments",
    ),
    "a function": (len, "there is no policy <built-in function len>"),
    "a list": (["auto"], r"there is no policy \['auto'\]"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_a_policy_is_refused_when_it_is_passed(what: str) -> None:
    given, message = REFUSED[what]
    s = tw.session()
    s.stream("numbers", ROWS.append_column("t", pa.array(range(5_000), pa.timestamp("us"))), time="t")
    for door in (
        lambda: tw.filters(*chain(), policy=given),
        lambda: tw.join("a.k = b.k", window=5, time="t", policy=given),
        lambda: s.query("SELECT x FROM numbers", policy=given),
    ):
        with pytest.raises(tw.PlanError, match=message):
            door()


def test_the_environment_accepts_only_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THALWEG_POLICY", "tests.adapt.forward.Forward")
    with pytest.raises(
        tw.PlanError, match=r"^THALWEG_POLICY='tests.adapt.forward.Forward': .*pass your own class as policy= in code"
    ):
        tw.filters(*chain()).over(ROWS)


def broken(**changes: Any) -> type[Any]:
    return type("Broken", (Forward,), {"name": "broken", **changes})


def initially(**attributes: Any) -> Any:
    def init(self: Any, *given: Any) -> None:
        Forward.__init__(self, *given)
        for name, value in attributes.items():
            setattr(self, name, value(self) if callable(value) else value)

    return init


def wants_with(**changes: Any) -> Any:
    return lambda self: replace(self._wants, **{k: v(self) if callable(v) else v for k, v in changes.items()})


def turned(self: Any, seen: Any) -> None:
    self._turn(self.order[::-1])


def all_of(self: Any) -> Any:
    return np.ones((len(self.pipeline),) * 2, dtype=bool)


IN_THE_LOOP = {
    "short order": (broken(update=lambda self, seen: Verdict((0,), "why")), r"returned a verdict for the order \(0,\)"),
    "no order": (
        broken(update=lambda self, seen: Verdict(None, "why")),  # type: ignore[arg-type]
        "returned a verdict for the order None",
    ),
    "other order": (broken(update=lambda self, seen: Verdict((0, 2, 1), "a")), r"but its own order is \(0, 1, 2\)"),
    "silent": (broken(update=turned), r"changed its order to \(2, 1, 0\) in update\(\) without returning a verdict"),
    "first order": (broken(__init__=initially(order=(2, 2, 1))), r"is made with the order \(2, 2, 1\)"),
    "guards": (broken(__init__=initially(order=(1, 0, 2))), "with every filter after its guards"),
    "classes": (broken(__init__=initially(classifies=True)), "classifies rows, but a policy of your own has one order"),
    "no wants": (broken(wants=lambda self: None), r"returned None from wants\(\)"),
    "p": (broken(wants=wants_with(p=1.5)), "wants p=1.5"),
    "shape": (broken(wants=wants_with(evaluate=np.zeros((1, 3), dtype=bool))), "array of 3 times 3 bools"),
    "profiling": (broken(wants=wants_with(evaluate=all_of)), "wants to profile third, which must not be profiled"),
    "trial": (broken(wants=wants_with(trial=lambda self: Trial((1, 0, 2), 5, 1, 1.0))), "wants to try the order"),
    "empty trial": (
        broken(wants=wants_with(trial=lambda self: Trial((0, 1, 2), 0, 1, 1.0))),
        r"rows must be at least 1, and candidate must be in 0\.\.2",
    ),
    "snapshot": (broken(snapshot=lambda self: {"at": self.pipeline}), "cannot be written as JSON"),
}


@pytest.mark.parametrize("what", IN_THE_LOOP)
def test_a_wrong_answer_fails_the_query_and_changes_no_row(what: str) -> None:
    policy, message = IN_THE_LOOP[what]
    keep = tw.filters(*chain(), policy=policy, slice_rows=100)
    with pytest.raises(tw.PlanError, match=rf"policy 'broken' .*{message}.*assert_policy\(Broken\)"):
        list(keep.over(ROWS))


def test_an_object_without_order_or_standing_is_refused_by_name() -> None:
    class Empty(Forward):
        name = "empty"

        def __init__(self, *given: Any) -> None:
            self.pipeline = given[0]

    del_standing = type("Empty", (), {k: v for k, v in vars(Forward).items() if k != "standing"} | vars(Empty))
    with pytest.raises(tw.PlanError, match="policy 'empty' has no order and no standing: set it in __init__"):
        make_policy(del_standing, THREE, None, np.random.default_rng(1))


def test_a_snapshot_it_cannot_restore_raises_a_plan_error() -> None:
    def fails(self: Any, snapshot: Any) -> None:
        raise AttributeError("of an older version")

    policy = make_policy(broken(restore=fails), THREE, ForwardSettings(), np.random.default_rng(1))
    with pytest.raises(tw.PlanError, match=r"'broken' cannot restore this snapshot: AttributeError.*older version"):
        policy.restore(policy.snapshot())


def test_its_snapshot_may_have_any_keys() -> None:
    """A loop adds costs to a snapshot under separate names."""

    class Clashing(Forward):
        name = "clashing"

        def snapshot(self) -> dict[str, Any]:
            return {**super().snapshot(), "policy": 7, "cost_ns": "mine"}

        def restore(self, snapshot: Any) -> None:
            assert (snapshot["policy"], snapshot["cost_ns"]) == (7, "mine")
            super().restore(snapshot)

    one, two = (make_policy(Clashing, THREE, ForwardSettings(), np.random.default_rng(1)) for _ in range(2))
    one.begin((2, 0, 1))
    two.restore({**one.snapshot(), "cost_ns": [1.0, None, 2.0]})
    assert two.order == (2, 0, 1)


def test_a_good_policy_passes() -> None:
    with warnings.catch_warnings(action="error"):
        assert_policy(Forward, examples=10)


class Clocked(Forward):
    """Decides by the clock."""

    def update(self, seen: Any) -> Verdict | None:
        self.settings = ForwardSettings(patience=1 + time.perf_counter_ns() % 2)
        return super().update(seen)


class Growing(Forward):
    def update(self, seen: Any) -> Verdict | None:
        self.past = [*getattr(self, "past", []), 1]
        return super().update(seen)


class Forgetful(Forward):
    def snapshot(self) -> dict[str, Any]:
        return {"order": list(self.order), "looks": 0}


class Shared(Forward):
    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.kept = {"order": list(self.order), "looks": 0}

    def snapshot(self) -> dict[str, Any]:
        self.kept |= super().snapshot()
        return self.kept


class Bewildered(Forward):
    def begin(self, order: tuple[int, ...]) -> None:
        self._turn((*self.pipeline.start[1:], self.pipeline.start[0]))


def reason(text: str) -> Any:
    def update(self: Any, seen: Any) -> Verdict | None:
        found = Forward.update(self, seen)
        return found and Verdict(found.order, text)

    return update


def after_all(self: Any) -> Any:
    return np.ones((len(self.pipeline),) * 2, dtype=bool)


FOUND: dict[str, tuple[Any, str]] = {
    "no class": (without("begin"), r"has no begin\(\)"),
    "standing": (broken(standing=None), "standing=None"),
    "first order": (broken(__init__=initially(order=lambda self: self.pipeline.start[::-1])), "begins with"),
    "unguarded": (broken(update=lambda self, seen: turned(self, seen)), "it must be|guards|without a verdict"),
    "silent": (broken(update=turned), "without a verdict|guards"),
    "empty reason": (broken(update=reason("")), "one line of text"),
    "two lines": (broken(update=reason("f0\nf1")), "one line of text"),
    "names nothing": (broken(update=reason("because")), "names none of the filters"),
    "p": (broken(wants=wants_with(p=-0.5)), "wants p=-0.5"),
    "slices": (broken(wants=wants_with(slice_rows=0)), "slice_rows=0"),
    "shape": (broken(wants=wants_with(evaluate=np.zeros((9, 9), dtype=bool))), r"not of bool"),
    "evaluate": (broken(wants=wants_with(evaluate=after_all)), "evaluated on rows that were dropped at position"),
    "trial": (
        broken(wants=wants_with(trial=lambda self: Trial(self.order, 5, 0, 1.0))), "is not earlier|must not be",
    ),
    "snapshot": (broken(snapshot=lambda self: {"at": {1, 2}}), "not JSON|not JSON serializable"),
    "shared snapshot": (Shared, "changes a snapshot"),
    "forgetful": (Forgetful, r"continues differently after restore\(\)|another snapshot|another order"),
    "begin": (Bewildered, "started with|guards"),
    "clock": (Clocked, "with the same seed"),
    "growing": (Growing, "holds .* bytes after 2,000 updates"),
}  # fmt: skip


@pytest.mark.parametrize("what", FOUND)
def test_mistakes_are_reported_with_the_check_and_the_seed(what: str) -> None:
    policy, message = FOUND[what]
    with pytest.raises(AssertionError) as caught:
        assert_policy(policy, examples=30)
    assert re.search(message, str(caught.value)), caught.value
    assert re.search(r"\(check \w+, seed=\d+\)$", str(caught.value))


def test_an_error_can_be_reproduced_by_its_seed() -> None:
    with pytest.raises(AssertionError) as caught:
        assert_policy(FOUND["names nothing"][0], examples=30)
    seed = int(str(caught.value).rpartition("seed=")[2].rstrip(")"))
    with pytest.raises(AssertionError, match=f"seed={seed}"):
        assert_policy(FOUND["names nothing"][0], examples=1, seed=seed)


def test_what_a_snapshot_leaves_out_must_be_known() -> None:
    with pytest.raises(tw.PlanError, match="'trials'"):
        assert_policy(Forward, leaves_out=["trials"])


@dataclass(frozen=True)
class MoreSettings(ForwardSettings):
    """As if the policy had got one more setting in its file."""

    boldness: str = "some"


def test_a_new_setting_of_a_policy_needs_no_line_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is read from text in code and outside, checked, passed on, shown by `explain` and listed in errors."""
    monkeypatch.setitem(POLICIES, "forward", Forward)
    monkeypatch.setattr(Forward, "defaults", MoreSettings())
    text = "forward(patience=7, boldness='much')"
    expected = MoreSettings(patience=7, boldness="much")
    assert tw.policy("forward", patience=7, boldness="much").text == text
    keep = tw.filters(*chain(), policy=text)
    assert FilterSettings.in_force(keep._given).profile == expected
    assert "boldness=much" in str(keep.explain())
    assert FilterSettings.resolve({}, environ={"THALWEG_POLICY": text}).profile == expected
    assert FilterSettings.resolve({}, {"spark.thalweg.policy": text}.get).profile == expected
    with pytest.raises(tw.PlanError, match=r"\(did you mean 'boldness'\?\); it has p, patience and boldness"):
        tw.filters(*chain(), policy="forward(bolness='much')")
    (said,) = unknown_settings({}, {"THALWEG_BOLDNESS": "much"})
    assert said.endswith("set THALWEG_POLICY to forward(boldness='much') instead")
