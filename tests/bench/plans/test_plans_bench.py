"""The benchmark of plans runs, prints what it promises and refuses wrong results; so few rows measure nothing."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import hypothesis.strategies as st
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given

pytest.importorskip("numba")

from bench.joins.checksum import Checksum
from bench.plans import __main__ as command
from bench.plans import measured as measuring
from bench.plans import table
from bench.plans.buckets import all_rates, layout_lines, rows_by_class
from bench.plans.candidates import MOST, RANDOM, Prediction, measured_plans
from bench.plans.declared import EXACT, NOTHING, WRONG, one_wrong
from bench.plans.draw import GRAPHS, JOINS, LEAST_PARTNERS, MOST_PARTNERS, RATES, DrawnJoin, draw
from bench.plans.expected import expected
from bench.plans.fan_out import fan_out, judged_fan_out
from bench.plans.measured import AGAIN, Measured, default
from bench.plans.shapes import MULTIWAY, all_shapes, plan_of, same_plan
from bench.plans.sizing import MOST_RESULTS, fewest_rows, sized
from bench.plans.streams import JoinRows, expected_results, make
from bench.plans.summary import summary
from bench.plans.trial import PlanTrial, join_of, run
from tests.long_run import examples
from thalweg.adaptive_joins import Join
from thalweg.plan.joins.graph import JoinGraph
from thalweg.plan.joins.shape import check_shape

Line = dict[str, Any]


def stand_in(_: object, join: Join) -> list[Prediction]:
    """Predictions of a search that takes plans in the order in which they are written."""
    plans = [plan_of(shape) for shape in all_shapes(join._plan.graph)]
    return [Prediction(plan, 1.0 + n, 1_000_000.0, (0.0, 1e9)) for n, plan in enumerate(plans)]


def graph_of(drawn: DrawnJoin) -> JoinGraph:
    edges = [(a, each.column, b, each.column) for each in drawn.classes for a, b in each.equalities]
    return JoinGraph.of(edges, drawn.aliases)


@pytest.mark.benchmark
def test_a_quick_run_has_variants_figures_targets_and_tables(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(measuring, "predicted", stand_in)
    calibrated, page = tmp_path / "fit.jsonl", tmp_path / "page.md"
    assert command.main(["--quick", "--joins", "2", "--seed", "3"]) == 0
    printed = capsys.readouterr().out
    lines = [json.loads(line) for line in printed.splitlines()]
    figures = [line for line in lines if line["line"] == "figures"]
    assert [line["join"] for line in figures] == [0, 1, "fan-out-30", "fan-out-100"]
    for line in figures:
        assert -1 <= line["tau"] <= 1
        assert line["in_band"]
        assert line[default(EXACT)]["plan"] == MULTIWAY
        assert line["aa"] >= 1
    variants = [line for line in lines if line["line"] == "variant" and line["join"] == 1]
    assert {MULTIWAY, AGAIN, default(EXACT), default(NOTHING), default(WRONG)} <= {line["variant"] for line in variants}
    assert len(variants) == figures[1]["plans"] + 4
    targets = [line["target"] for line in lines if line["line"] == "target"]
    assert len(targets) == 9 + 4 + 1
    run_file = tmp_path / "run.jsonl"
    run_file.write_text(printed)
    page.write_text(f"# Before\n{table.BEGIN}\nold\n{table.END}\nafter\n")
    assert table.main([str(run_file), "--into", str(page)]) == 0
    text = page.read_text()
    assert all(target in text for target in targets)
    assert (text.startswith("# Before\n"), "old" in text, text.endswith("\nafter\n")) == (True, False, True)

    assert command.main(["--quick", "--joins", "1", "--seed", "3", "--calibrate", str(calibrated)]) == 0
    fit = [json.loads(line) for line in calibrated.read_text().splitlines()]
    assert [line["plan"] for line in fit].count(MULTIWAY) == 2
    for line in fit:
        assert line["cpu_seconds"] > 0
        assert set(line["rows"]) == set(line["rows_per_second"]) == set(line["window_seconds"]) == set(line["widths"])
        assert (line["kept_made"] > 0) == (line["plan"] != MULTIWAY)


@pytest.mark.benchmark
def test_a_wrong_result_ends_the_run_with_an_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = iter(range(1_000))
    monkeypatch.setattr(Checksum, "result", property(lambda self: (self.rows, self.value + next(calls))))
    assert command.main(["--quick", "--joins", "1", "--part", "drawn"]) == 1
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["line"] == "error"


@examples(60, long=2_000)
@given(st.integers(0, 10_000), st.integers(0, JOINS - 1), st.integers(0, 50))
def test_drawn_joins_are_what_the_benchmark_says(seed: int, number: int, attempt: int) -> None:
    drawn = draw(seed, number, attempt)
    assert drawn == draw(seed, number, attempt)
    streams = len(drawn.aliases)
    assert 3 <= streams <= 5
    graph = graph_of(drawn)  # refuses what is not connected
    edges = sum(len(each.equalities) for each in drawn.classes)
    assert edges == (streams if drawn.graph == "cycle" else streams - 1)
    assert len(graph.classes) == len(drawn.classes)
    assert max(drawn.shares.values()) / min(drawn.shares.values()) <= RATES
    assert sum(drawn.shares.values()) == pytest.approx(1)
    assert all(LEAST_PARTNERS <= each.partners <= MOST_PARTNERS for each in drawn.classes)
    assert all(1 / 20 <= window <= 1 / 5 for window in drawn.windows.values())


def test_a_seed_has_every_graph_and_number_of_streams() -> None:
    drawn = [draw(5, number, 0) for number in range(JOINS)]
    assert {(each.graph, len(each.aliases)) for each in drawn} == set(product(GRAPHS, (3, 4, 5)))
    assert any(len(each.members) > 2 for one in drawn for each in one.classes)


@examples(8, long=200)
@given(st.integers(0, 1_000), st.integers(0, JOINS - 1))
def test_duckdb_gives_what_brute_force_gives(seed: int, number: int) -> None:
    drawn = draw(seed, number, 0)
    joined = make(drawn, 60)
    rows = {alias: table.to_pylist() for alias, table in joined.tables.items()}
    checksum, found = Checksum(drawn.aliases), []
    for each in product(*rows.values()):
        result = dict(zip(rows, each, strict=True))
        times = {alias: row["ts"] for alias, row in result.items()}
        ages = {a: round((max(times.values()) - time).total_seconds() * 1e6) for a, time in times.items()}
        equal = all(len({result[a][c.column] for a in c.members}) == 1 for c in drawn.classes)
        if equal and all(ages[alias] <= joined.windows_us[alias] for alias in ages):
            found.append({f"{alias}_id": row["id"] for alias, row in result.items()})
    if found:
        checksum.add(pa.Table.from_pylist(found))
    assert expected(joined) == checksum.result


def test_rows_have_the_declared_rates_and_partners() -> None:
    joined, _ = sized(2, 4, rows=40_000)
    known = joined.statistics
    for alias, rows in joined.tables.items():
        assert known[alias]["rows_per_second"] == rows.num_rows / joined.drawn.run_seconds
    assert len(known["partners"]) == sum(len(each.equalities) for each in joined.drawn.classes)
    for edge, both in known["partners"].items():
        one, other = (side.split(".")[0] for side in edge.split(" = "))
        for (of, among), partners in zip(((one, other), (other, one)), both, strict=True):
            counted, noise = _counted(joined, edge, of, among)
            assert partners == pytest.approx(counted, rel=0.05, abs=6 * noise)


def _counted(joined: JoinRows, edge: str, of: str, among: str) -> tuple[float, float]:
    """Count the partners in a window of a row that comes when the windows are full; and the error of a few rows."""
    column = edge.split(" = ")[0].split(".")[1]
    tables = dict(joined.tables)
    length, after = joined.windows_us[among], joined.windows_us[among]
    with duckdb.connect() as connection:
        connection.register("of_rows", tables[of])
        connection.register("among_rows", tables[among])
        ((pairs, rows),) = connection.sql(
            f"SELECT count(*), (SELECT count(*) FROM of_rows WHERE epoch_us(ts) >= {after}) FROM of_rows o "
            f"JOIN among_rows w ON o.{column} = w.{column} AND epoch_us(w.ts) BETWEEN epoch_us(o.ts) - {length} AND "
            f"epoch_us(o.ts) WHERE epoch_us(o.ts) >= {after}"
        ).fetchall()
    return pairs / rows, max(pairs, 1) ** 0.5 / rows


def test_sized_joins_have_results_and_enough_keys() -> None:
    for number in range(4):
        joined, (results, _) = sized(4, number, rows=20_000)
        assert 0 < results <= MOST_RESULTS
        assert fewest_rows(joined.drawn) <= 20_000
        assert results == pytest.approx(expected_results(joined.drawn, 20_000), rel=0.6, abs=30)


@pytest.mark.parametrize(
    ("edges", "count"),
    [
        # the numbers of Schröder count the ways to put parentheses around a chain
        ([("a", "b"), ("b", "c")], 3),
        ([("a", "b"), ("b", "c"), ("c", "d")], 11),
        ([("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")], 45),
        # and of a class, in which all are connected, all trees with labelled leaves (Schröder's fourth problem)
        ([("a", "b"), ("b", "c"), ("c", "a")], 4),
        (list(zip("aaaa", "bcd", strict=False)), 26),
        (list(zip("aaaa", "bcde", strict=True)), 236),
    ],
)
def test_all_shapes_are_found_once(edges: list[tuple[str, str]], count: int) -> None:
    same = len({one for one, _ in edges}) == 1
    graph = JoinGraph.of([(a, "k" if same else a + b, b, "k" if same else a + b) for a, b in edges])
    shapes = all_shapes(graph)
    assert len(shapes) == count
    assert plan_of(shapes[0]) == MULTIWAY
    assert len({same_plan(plan_of(shape)) for shape in shapes}) == count
    for shape in shapes:
        check_shape(shape, graph)


def test_of_many_plans_the_best_predicted_and_some_others_run() -> None:
    plans = [MULTIWAY, *(f"((a b) {n})" for n in range(60))]
    predictions = [Prediction(f"({59 - n} (b a))", float(n), 1.0) for n in range(60)]
    rng = np.random.default_rng(0)
    chosen = measured_plans(plans, predictions, rng)
    assert {f"((a b) {n})" for n in range(40, 60)} | {MULTIWAY} <= set(chosen)
    assert len(chosen) == MOST + RANDOM + 1
    assert len(measured_plans(plans, [], rng)) == MOST + RANDOM
    assert measured_plans(plans[:MOST], [], rng) == plans[:MOST]


@given(st.integers(0, 1_000), st.sampled_from([3.0, 10.0]))
def test_exactly_one_number_is_wrong(seed: int, factor: float) -> None:
    exact = {"a": {"rows_per_second": 8.0}, "b": {"rows_per_second": 2.0}, "partners": {"a.k = b.k": (2.0, 4.0)}}
    wrong = one_wrong(exact, factor, np.random.default_rng(seed))

    def numbers(known: dict[str, Any]) -> list[float]:
        return [*(known[a]["rows_per_second"] for a in "ab"), known["partners"]["a.k = b.k"][0]]

    ratios = [one / other for one, other in zip(numbers(wrong), numbers(exact), strict=True) if one != other]
    assert len(ratios) == 1
    assert ratios[0] in (pytest.approx(factor), pytest.approx(1 / factor))
    assert numbers(exact) == [8.0, 2.0, 2.0]
    assert wrong["partners"]["a.k = b.k"][1] is None


def test_a_run_that_takes_too_long_is_stopped() -> None:
    joined = make(fan_out(30), 20_000)
    stopped = run(joined, join_of(joined, plan=MULTIWAY), 0.0)
    assert (stopped.stopped, stopped.result, stopped.share) == ("cpu", None, 0.0)
    whole = run(joined, join_of(joined, plan="((b c) a)"))
    assert (whole.stopped, whole.result, whole.share) == ("", expected(joined), 1.0)
    assert 0 < whole.second_half < whole.cpu_seconds
    assert whole.kept_made >= whole.kept_rows > 0


def measured(cpu: dict[str, list[float]], costs: dict[str, float], stopped: tuple[str, ...] = ()) -> Measured:
    """Runs with these CPU times."""
    trials = {
        name: [PlanTrial(s, None if name in stopped else (1, 1), s / 2, 1.0, "cpu" * (name in stopped)) for s in times]
        for name, times in cpu.items()
    }
    predictions = tuple(Prediction(plan, cost, 1.0) for plan, cost in costs.items())
    joined = make(fan_out(30), 200)
    return Measured(joined, (1, 1), trials, predictions, {n: "((b c) a)" for n in cpu if n.startswith("default")})


def test_figures_follow_from_the_trials() -> None:
    kept, other = "(a (b c))", "((a b) c)"
    cpu = {MULTIWAY: [4.0, 2.0, 4.0], AGAIN: [4.0, 2.2, 4.0], kept: [1.0, 1.0, 1.0], other: [20.0]}
    one = measured({**cpu, default(EXACT): [1.1, 1.2, 1.3]}, {MULTIWAY: 3.0, "((c b) a)": 1.0, other: 2.0}, (other,))
    figures = one.figures()
    assert (figures["best"], figures["plans"], figures["stopped"]) == (kept, 3, 1)
    assert figures["best_over_multiway"] == 0.25
    assert figures["aa"] == 1.1
    assert figures["tau"] == pytest.approx(1 / 3, abs=1e-4)  # of three pairs, multiway and ((a b) c) are the wrong way
    assert figures[default(EXACT)]["over_best"] == 1.2
    assert figures[default(EXACT)]["over_multiway"] == 0.325
    near = measured({MULTIWAY: [1.0], kept: [1.05], AGAIN: [1.0]}, {MULTIWAY: 1.0, kept: 2.0})
    assert near.tau() is None
    targets = list(judged_fan_out("fan-out-30", one, 4.0))
    assert [(line["value"], line["verdict"]) for line in targets] == [(4.0, "reached"), (3.0769, "missed")]


def test_targets_are_judged_beyond_the_control() -> None:
    def figures(over_best: float, over_multiway: float, aa: float, tau: float | None = 0.9) -> Line:
        each = {"over_best": over_best, "over_multiway": over_multiway, "second_half_over_best": over_best}
        return {"aa": aa, "tau": tau, "in_band": True, **{default(d): each for d in (EXACT, NOTHING, WRONG)}}

    def verdicts(lines: list[Line]) -> list[str]:
        return [line["verdict"] for line in summary(lines)]

    good, noisy, bad = figures(1.1, 1.0, 1.0), figures(1.3, 1.1, 1.2), figures(2.5, 1.3, 1.01, 0.1)
    assert verdicts([good] * 10) == ["reached"] * 5 + ["missed"]  # a band that always holds is too wide
    assert verdicts([good] * 9 + [noisy]) == ["reached", "undecided", "reached", "undecided", "reached", "missed"]
    assert verdicts([good] * 8 + [noisy] * 2)[0] == "undecided"
    assert verdicts([good] * 8 + [bad] * 2) == ["missed", "missed", "reached", "missed", "missed", "missed"]
    assert verdicts([bad] * 3)[2] == "missed"
    assert verdicts([{**good, "in_band": n > 0} for n in range(10)])[-1] == "reached"
    assert list(summary([])) == []


def test_the_class_of_the_fast_stream_is_counted_as_best() -> None:
    assert rows_by_class({"a": 1000.0, "b": 1.0, "c": 10.0}) == {"k": 10_810.0, "m": 80_110.0}
    lines = list(layout_lines())
    assert len(lines) == len(all_rates()) + 1
    for line in lines[:-1]:
        fast = max(line["rows_per_second"], key=line["rows_per_second"].get)
        assert fast == "b" or line["class"] == {"a": "k", "c": "m"}[fast]
    assert (lines[-1]["verdict"], lines[-1]["value"]) == ("reached", 1.0)
