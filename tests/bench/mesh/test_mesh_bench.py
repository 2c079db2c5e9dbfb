"""The benchmark of meshes runs, prints what it promises and refuses wrong results; so few rows measure nothing."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given

pytest.importorskip("numba")
pytest.importorskip("duckdb")

from bench.generated.columns import FOLDER
from bench.joins.hindsight import outcomes
from bench.mesh import __main__ as command
from bench.mesh import star, table
from bench.mesh.classed import Classed
from bench.mesh.contenders import (
    ALL,
    AUTO,
    EDDY,
    EDDY_CBR,
    MESH,
    Contender,
    routes_of,
    routing_share_of,
)
from bench.mesh.counted import counting, counts_of
from bench.mesh.drawn import AGENDA, PASS, Item, classes, counter, drift, many, none, numbers, with_bits
from bench.mesh.measured import (
    CLAIRVOYANT,
    SINGLE,
    Measured,
    batches_of,
    measure,
    run_clairvoyant,
    run_contender,
    run_single,
)
from bench.mesh.rooms import SET
from bench.mesh.search import above_optimum, priced, random_training
from bench.mesh.sizes import pays_from
from bench.mesh.summary import SCENARIOS, SEARCH, SPARK, STAR, summary
from bench.rounds import Trial
from bench.scenario import Bits
from tests.long_run import examples
from thalweg.optimizer.mesh.mesh_search import mesh_search
from thalweg.optimizer.mesh.partitions import partitions

Line = dict[str, Any]
ROWS, STEPS = 6_000, 1.0


@pytest.mark.benchmark
def test_a_quick_run_has_figures_targets_and_tables(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FOLDER, str(tmp_path))
    assert command.main(["--quick"]) == 0
    printed = capsys.readouterr().out
    lines = [json.loads(line) for line in printed.splitlines()]
    assert {line["bench"] for line in lines} == {"mesh"}
    figures = [line for line in lines if line["line"] == "figures"]
    real = {"rooms", "rooms-text", "kdd"}
    assert {line["scenario"] for line in figures if line["part"] == SCENARIOS} == set(AGENDA) - real
    left_out = [line for line in lines if line["line"] == "left-out"]
    assert {line["scenario"] for line in left_out if "scenario" in line} == real
    running = {contender.name for contender in ALL if not contender.missing}
    assert {line["variant"] for line in left_out if "variant" in line} == {one.name for one in ALL} - running
    for line in figures:
        if line["part"] == SCENARIOS:
            assert line["aa"] >= 1
            assert set(line["variants"]) == running | {SINGLE, CLAIRVOYANT}
            assert all(one["cpu_seconds"] > 0 and one["evaluations"] >= 1 for one in line["variants"].values())
    targets = [line for line in lines if line["line"] == "target"]
    assert SEARCH in {line["scenario"] for line in targets}
    run_file, page = tmp_path / "run.jsonl", tmp_path / "page.md"
    run_file.write_text(printed)
    page.write_text(f"# Before\n{table.BEGIN}\nold\n{table.END}\nafter\n")
    assert table.main([str(run_file), "--into", str(page)]) == 0
    text = page.read_text()
    assert all(line["target"] in text for line in targets)
    assert "| classes | 0 |" in text
    assert (text.startswith("# Before\n"), "old" in text, text.endswith("\nafter\n")) == (True, False, True)


@pytest.mark.benchmark
def test_a_wrong_result_ends_the_run_with_an_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(rows: int, steps: float, seed: Any) -> Classed:
        found = none(rows, steps, seed)
        return replace(found, scenario=replace(found.scenario, passed=~found.scenario.passed))

    monkeypatch.setenv(FOLDER, "nowhere")
    monkeypatch.setitem(AGENDA, "none", Item(wrong, ROWS, 1))
    assert command.main(["--quick", "--scenario", "none"]) == 1
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["line"] == "error"


def test_classes_have_the_best_orders_of_brute_force() -> None:
    lists = [np.roll(PASS, 2 * n) for n in range(4)]
    orders = np.array(list(permutations(range(8))))
    costs = [1.0 + np.cumprod(each[orders[:, :-1]], axis=1).sum(axis=1) for each in lists]
    single, per_class = float(np.mean(costs, axis=0).min()), float(np.mean([each.min() for each in costs]))
    assert (round(single, 4), round(per_class, 4)) == (1.9975, 1.1699)
    drawn = classes(100_000, STEPS, 3)
    assert sum(drawn.single_evaluations.values()) / drawn.rows == pytest.approx(single, rel=0.02)
    assert sum(drawn.clairvoyant_evaluations.values()) / drawn.rows == pytest.approx(per_class, rel=0.01)


@examples(40, long=1_000)
@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(1, 60))
def test_references_are_the_best_orders_and_their_counts(seed: int, kinds: int, rows: int) -> None:
    rng = np.random.default_rng(seed)
    passed: Bits = rng.random((rows, 3)) < rng.random((1, 3))
    kind = rng.integers(0, kinds, rows)
    drawn = with_bits("any", passed, {"source": pa.array(kind)}, kind, STEPS)

    def best(rows_of: Bits) -> int:
        return min(int(sum(count_of(rows_of, order))) for order in permutations(range(3)))

    def count_of(rows_of: Bits, order: tuple[int, ...]) -> list[int]:
        return [int(rows_of[:, list(order[:place])].all(axis=1).sum()) for place in range(3)]

    assert sum(drawn.single_evaluations.values()) == best(passed)
    assert sum(drawn.clairvoyant_evaluations.values()) == sum(best(passed[kind == one]) for one in range(kinds))
    assert drawn.possible_units >= 0


@pytest.mark.parametrize("make", [classes, numbers, many, drift, none, counter])
def test_variants_pass_the_rows_of_the_conjunction(make: Any) -> None:
    drawn = make(ROWS, STEPS, 1)
    kept = drawn.scenario.passed.all(axis=1)
    assert drawn.scenario.expected == (kept.sum(), np.flatnonzero(kept).sum())
    batches = batches_of(drawn, 1_000)
    single, clairvoyant = run_single(drawn, 1_000, batches, 0), run_clairvoyant(drawn, batches)
    assert single.result == clairvoyant.result == drawn.scenario.expected
    assert single.evaluated == drawn.single_evaluations
    assert clairvoyant.evaluated == drawn.clairvoyant_evaluations
    for contender in (one for one in ALL if not one.missing):
        assert run_contender(drawn, contender, batches, 0).result == drawn.scenario.expected


def test_predicates_count_filtered_and_profiled_rows() -> None:
    drawn = classes(ROWS, STEPS, 1)
    checks = counting(drawn.scenario.checks)
    assert checks is not None
    keep = Contender("any", "a-greedy").filters(drawn, checks, 0)
    assert sum(batch.num_rows for batch in keep.over(drawn.scenario.table)) == drawn.scenario.expected[0]
    section = keep.report().sections[0]
    both = zip(section.chain.evaluated, section.chain.profiled, strict=True)
    assert counts_of(checks) == {name: sum(two) for name, two in zip(section.names, both, strict=True)}
    assert sum(section.chain.profiled) > 0
    assert (routes_of(keep.report()), routing_share_of(keep.report())) == (1, None)
    assert counting([replace(drawn.scenario.checks[0], vectorized=False)]) is None


def test_rows_pass_the_shares_of_their_class() -> None:
    rows = 40_000
    xor = numbers(rows, STEPS, 2)
    x, y = (xor.scenario.table.column(name).to_numpy() for name in xor.by)
    one = (x > 0.5) != (y > 0.5)
    assert xor.scenario.passed[~one].mean(axis=0) == pytest.approx(PASS, abs=0.02)
    assert xor.scenario.passed[one].mean(axis=0) == pytest.approx(PASS[::-1], abs=0.02)
    drifting = drift(rows, STEPS, 2)
    source = drifting.scenario.table.column("source").to_numpy()
    assert [phase.rows for phase in drifting.scenario.phases] == [10_000] * 4
    for n, phase in enumerate(drifting.scenario.phases):
        here = np.zeros(rows, bool)
        here[phase.start : phase.start + phase.rows] = True
        found = drifting.scenario.passed[here & (source == "s001")].mean(axis=0)
        assert found == pytest.approx(np.roll(PASS, 2 * (n + 1)), abs=0.04)
    nothing = none(rows, STEPS, 2)
    source = nothing.scenario.table.column("source").to_numpy()
    for name in ("s000", "s001", "s002", "s003"):
        assert nothing.scenario.passed[source == name].mean(axis=0) == pytest.approx(PASS, abs=0.02)


def test_many_sources_follow_the_law_of_zipf() -> None:
    drawn = many(100_000, STEPS, 2)
    source = drawn.scenario.table.column("source").to_numpy()
    names, counts = np.unique(source, return_counts=True)
    assert len(names) == 200
    share = {name: count / drawn.rows for name, count in zip(names, counts, strict=True)}
    assert share["s000"] / share["s009"] == pytest.approx(10**1.1, rel=0.1)
    assert all(len(np.unique(drawn.classes[source == name])) == 1 for name in names)


def test_a_seed_always_draws_the_same_rows() -> None:
    first, again, other = (classes(1_000, STEPS, seed) for seed in (4, 4, (4, 1)))
    assert first.scenario.table.equals(again.scenario.table)
    assert not first.scenario.table.equals(other.scenario.table)


@pytest.mark.benchmark
def test_rooms_are_read_where_they_are(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stand-in with the columns of the original, in which one limit decides per room."""
    rows = 2_000
    room = np.arange(rows) % 2
    columns = {
        "room": pa.array(room + 510, pa.int16()), "co2": pa.array(np.where(room, 400.0, 500.0)),
        "humidity": pa.array(np.where(room, 40.0, 60.0)), "light": pa.array(np.full(rows, 51.0)),
        "temperature": pa.array(np.full(rows, 24.0)),
    }  # fmt: skip
    monkeypatch.setenv(FOLDER, "nowhere")  # and back after `--data` has set it
    (tmp_path / SET).mkdir()
    pq.write_table(pa.table(columns), tmp_path / SET / "rooms_1min.parquet")
    asked = ["--quick", "--scenario", "rooms", "--scenario", "rooms-text", "--data", str(tmp_path)]
    assert command.main(asked) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    figures = [line for line in lines if line["line"] == "figures"]
    assert [line["scenario"] for line in figures] == ["rooms", "rooms-text"]
    for line in figures:
        assert (line["single_evaluations"], line["clairvoyant_evaluations"], line["rows"]) == (1.5, 1.0, rows)


def test_a_policy_that_does_not_exist_is_left_out_with_a_reason() -> None:
    unknown, no_setting = Contender("x", "no-such"), Contender("x", "auto", {"no_such": 1})
    assert "no-such" in unknown.missing
    assert "no_such" in no_setting.missing
    assert "has no setting routes=4" in Contender("x", "auto(routes=4)").missing
    assert not AUTO.missing
    drawn = none(2_000, STEPS, 1)
    found = measure(drawn, 1, (AUTO, replace(AUTO, name="auto again"), unknown, no_setting))
    assert set(found.trials) == {SINGLE, CLAIRVOYANT, "auto", "auto again"}


def trial(drawn: Classed, units: float, cpu: float) -> Trial:
    """A run with so many evaluations per row."""
    return Trial(cpu, cpu, drawn.scenario.expected, {"p0": round(units * drawn.rows)})


def test_shares_are_parts_of_the_possible_saving() -> None:
    drawn = classes(20_000, STEPS, 1)
    single, best = (
        sum(counts.values()) / drawn.rows for counts in (drawn.single_evaluations, drawn.clairvoyant_evaluations)
    )
    half = (single + best) / 2
    found = Measured(
        drawn,
        {
            SINGLE: [trial(drawn, single, 2.0)] * 3, CLAIRVOYANT: [trial(drawn, best, 1.0)] * 3,
            "auto": [trial(drawn, single, 2.0)] * 3, "auto again": [trial(drawn, single, cpu) for cpu in (2, 2.1, 2)],
            "mesh": [trial(drawn, units, cpu) for units, cpu in ((half, 1.25), (best, 1.2), (single, 2.0))],
        },
    ).figures()  # fmt: skip
    mesh = found["variants"]["mesh"]
    assert mesh["evaluations_share"] == pytest.approx(0.5, abs=1e-3)
    assert (mesh["cpu_share"], mesh["cpu_over_auto"]) == (0.75, 0.625)
    assert (found["aa"], mesh["cpu_share_aa"]) == (1.05, pytest.approx(0.05 * 1.25))
    assert [found["variants"][name]["evaluations_share"] for name in (SINGLE, CLAIRVOYANT)] == [0.0, 1.0]


def figures_of(scenario: str, aa: float = 1.01, **mesh: Any) -> Line:
    usual = {"evaluations": 1.3, "evaluations_share": 0.9, "cpu_share": 0.8, "cpu_share_aa": 0.01, "cpu_over_auto": 1.0}
    variants = {
        MESH.name: {**usual, "routing_share": 0.02, **mesh},
        EDDY.name: {"evaluations": 1.4}, EDDY_CBR.name: {"evaluations": 1.3},
    }  # fmt: skip
    return {"part": SCENARIOS, "scenario": scenario, "seed": 1, "aa": aa, "variants": variants}


SLOW = "in 1 of 5 rounds the clairvoyant took as long as the best single order"


def without_share(seed: int = 1) -> Line:
    found = figures_of("classes", cpu_share=None, cpu_share_aa=None)
    return {**found, "seed": seed, "why_no_cpu_share": SLOW}


@pytest.mark.parametrize(
    ("figures", "verdicts"),
    [
        # evaluations, CPU time, routing, eddy; as many evaluations as eddy-cbr are not fewer
        ([figures_of("classes")], ["reached"] * 4 + ["missed"]),
        ([figures_of("classes", cpu_share=0.745)], ["reached", "undecided", "reached", "reached", "missed"]),
        ([figures_of("classes"), figures_of("classes", evaluations_share=0.8)], ["missed", *["reached"] * 3, "missed"]),
        ([figures_of("drift", evaluations_share=0.7)], ["reached", "reached"]),
        ([figures_of("rooms", evaluations_share=0.49)], ["missed"]),
        ([figures_of("none", routing_share=0.04)], ["reached", "missed", "reached", "reached"]),
        ([figures_of("cheap", cpu_over_auto=1.035)], ["undecided"]),
        ([figures_of("cheap", cpu_over_auto=1.06)], ["missed"]),
        ([figures_of("drift", evaluations_share=0.7, routing_share=None)], ["reached", "reached"]),
        ([without_share()], ["reached", "undecided", "reached", "reached", "missed"]),
        ([without_share(), figures_of("classes")], ["reached", "undecided", "reached", "reached", "missed"]),
        (
            [figures_of("classes", cpu_share=0.5), without_share()],
            ["reached", "missed", "reached", "reached", "missed"],
        ),
        ([{**figures_of("classes"), "variants": {}}], []),
    ],
)
def test_scenarios_are_judged_by_their_worst_seed(figures: list[Line], verdicts: list[str]) -> None:
    assert [line["verdict"] for line in summary(figures)] == verdicts


def test_a_target_without_a_figure_is_printed_with_the_reason() -> None:
    lines = summary([without_share(3), figures_of("classes"), without_share(4)])
    line = next(line for line in lines if line["target"] == "share of the possible saving in CPU time")
    assert (line["value"], line["limit"], line["why"]) == (0.8, 0.75, f"seed 3: {SLOW}; seed 4: {SLOW}")
    (line,) = [line for line in summary([without_share(3)]) if line["value"] is None]
    assert line["verdict"] == "undecided"
    assert f"| undecided (seed 3: {SLOW}) |  | 0.75 |" in "\n".join(
        table.tables([{**without_share(3), "line": "figures"}])
    )


@pytest.mark.parametrize(
    ("single", "best", "why"),
    [
        ((2.0, 2.0), (1.0, 1.0), ""),
        ((2.0, 2.0), (1.0, 2.0), "in 1 of 2 rounds the clairvoyant took as long as the best single order"),
        ((1.0, 2.0), (1.5, 2.5), "in 2 of 2 rounds the clairvoyant took as long as the best single order"),
    ],
)
def test_without_a_saving_in_time_there_is_no_share_of_it(
    single: tuple[float, ...], best: tuple[float, ...], why: str
) -> None:
    drawn = classes(2_000, STEPS, 1)
    times = {SINGLE: single, CLAIRVOYANT: best, "auto": single, "auto again": single, "mesh": best}
    found = Measured(drawn, {name: [trial(drawn, 1.5, cpu) for cpu in each] for name, each in times.items()}).figures()
    assert (found["why_no_share"], found["why_no_cpu_share"]) == ("", why)
    assert (found["variants"]["mesh"]["cpu_share"] is None) == bool(why)
    nothing = none(2_000, STEPS, 1)
    trials = {name: [trial(nothing, 1.5, cpu) for cpu in each] for name, each in times.items()}
    assert Measured(nothing, trials).why_no_cpu_share == "there is next to nothing to save"


def test_other_parts_are_judged() -> None:
    searched = {"mean": 0.01, "worst": 0.2, "most_costed": 2_000}
    figures: list[Line] = [
        {"part": SEARCH, "ii": searched, "sa": {**searched, "worst": 0.05}},
        {"part": SPARK, "aa": 1.2, "variants": {MESH.name: {"evaluations_share": 0.8, "times_as_fast_as_auto": 1.2}}},
    ]
    assert [(line["scenario"], line["verdict"]) for line in summary(figures)] == [
        (SEARCH, "reached"), (SEARCH, "missed"), (SEARCH, "reached"),
        (SEARCH, "reached"), (SEARCH, "reached"), (SEARCH, "reached"),
        ("classes", "reached"), ("classes", "undecided"),
    ]  # fmt: skip


def test_a_star_is_judged_by_probes_and_in_small_windows_by_time() -> None:
    def at(window: int, share: float, over: float) -> Line:
        variants = {MESH.name: {"evaluations_share": share, "cpu_over_auto": over}}
        return {"part": STAR, "window": window, "aa": 1.01, "variants": variants}

    lines = list(summary([at(10_000, 0.7, 1.05), at(1_000_000, 0.6, 1.5), {**at(500, 0, 0), "variants": {}}]))
    assert [line.get("verdict") for line in lines] == ["reached", "missed", "missed", None]


def test_probes_of_a_star_follow_from_its_keys() -> None:
    scenario, sector = star.star(1, 2_000, 200)
    hub = scenario.tables["a"]
    matches = np.stack([hub.column(f"k{a}").to_numpy() >= 0 for a in star.OTHERS], axis=1)
    for n in range(3):
        assert matches[sector == n].mean(axis=0) == pytest.approx(np.roll(star.PARTNERS, 3 * n), abs=0.08)
        assert set(hub.column("sector").to_numpy()[sector == n]) == {f"s{n:03d}"}
    # after the first windows a key is in the window of its stream, so a probe finds a partner exactly if there is a key
    dropped, _ = outcomes(scenario)["a"]
    late = slice(1_000, None)
    skipped = len(sector) - len(dropped)
    assert (dropped[late] == ~matches[skipped:][late]).mean() > 0.95
    single, best = star.probes(scenario, sector)
    assert len(dropped) <= best < single


def test_shares_of_a_star_are_of_the_probes_of_the_hub() -> None:
    scenario, _ = star.star(1, 1_000, 100)
    trials = {
        "auto": [Trial(2.0, 2.0, (1, 1), {"a": 1_500, "b": 99}, {"a": 0, "b": 99})],
        "auto again": [Trial(2.2, 2.2, (1, 1), {"a": 1_500, "b": 9}, {"a": 0, "b": 9})],
        "mesh": [Trial(1.0, 1.0, (1, 1), {"a": 1_050, "b": 77}, {"a": 50, "b": 7})],
    }
    line = star.star_figures(scenario, trials, (1_400, 1_000))
    assert (line["aa"], line["single_evaluations"], line["clairvoyant_evaluations"]) == (1.1, 1.4, 1.0)
    mesh = line["variants"]["mesh"]
    assert (mesh["evaluations_share"], mesh["cpu_over_auto"]) == (0.75, 0.5)
    assert line["variants"]["auto"]["evaluations_share"] == -0.25


def test_a_mesh_pays_from_the_size_on_which_all_larger_ones_pay() -> None:
    def at(ns: float, batch_rows: int, over: float) -> Line:
        return {"ns": ns, "batch_rows": batch_rows, "aa": 1.01, "variants": {MESH.name: {"cpu_over_auto": over}}}

    figures = [
        at(50.0, 1_000, 0.8), at(50.0, 3_000, 1.2), at(50.0, 10_000, 0.9), at(50.0, 30_000, 0.9),
        at(1_000.0, 1_000, 0.995), at(1_000.0, 3_000, 0.7), at(10.0, 1_000, 1.1),
    ]  # fmt: skip
    assert pays_from(figures) == {50.0: 10_000, 1_000.0: 3_000, 10.0: None}
    assert pays_from([{**figures[0], "variants": {}}]) == {}


def test_routes_and_routing_time_are_those_of_the_report() -> None:
    mesh = SimpleNamespace(routes=("a, b", "b, a"), routing_share=0.02)
    report: Any = SimpleNamespace(sections=[SimpleNamespace(mesh=mesh)])
    assert (routes_of(report), routing_share_of(report)) == (2, 0.02)


def test_searches_are_compared_with_the_cheapest_partition() -> None:
    training = random_training((0, 0))
    assert (len(training), training.passes.shape, training.density.sum()) == (8, (1_000, 8), 1_000)
    meshes = priced(training)
    best = min(meshes.of(partition) for partition in partitions(8))
    assert mesh_search(priced(training), np.random.default_rng(0), "opt").run().cost == pytest.approx(best)
    line = above_optimum(0, 2)
    assert line["sets"] == 2
    assert all(0 <= line[name]["mean"] <= line[name]["worst"] for name in ("ii", "sa"))
