"""Chains drawn from a seed are what they say, work is counted exactly, and wrong rows end the run."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("numba")

from bench.generated import __main__ as command
from bench.generated import compare as comparing
from bench.generated import draw as drawing
from bench.generated import local, run, table, virtual
from bench.generated.best import extreme_order, hindsight
from bench.generated.burning import Speed
from bench.generated.columns import read
from bench.generated.compare import MOST, POLICIES
from bench.generated.conditions import draw_condition, draw_real
from bench.generated.cut import cut
from bench.generated.draw import CHAINS, Sources, deal, draw
from bench.generated.drift import DEVELOPMENT, EVALUATION
from bench.generated.ledger import Ledger
from bench.generated.made import draw_made
from bench.generated.outcome import Outcome, WrongRowsError
from bench.generated.prices import DECISION, UPDATE
from bench.generated.spec import GROUPS, Chain, Part, Phase, as_written
from bench.generated.summary import summary
from thalweg.adapt.auto import Auto
from thalweg.adapt.policy import Observation
from thalweg.plan.filters.pipeline import Pipeline
from thalweg.runtime.filters.filter_loop import MOST_SLICE_ROWS

NOWHERE = Path("nowhere")
FREE = Speed(step_ns=1e12, row_call_ns=0.0)
"""Predicates that burn nothing: what is counted does not depend on it."""


def tiny(seed: int, number: int, data: Path = NOWHERE, columns: Path | None = None) -> Chain:
    return draw(seed, number, Sources(data, columns, work=0.01))


def small(parts: int = 3, rows: int = 40_000, after: tuple[int, ...] = (), row_function: int = -1) -> Chain:
    """Two phases; in the second a predicate is three times as expensive. Batches are longer than slices."""
    rng = np.random.default_rng(parts)
    codes = (rng.random((rows, parts)) < rng.uniform(0.05, 0.9, parts)) @ (1 << np.arange(parts))
    codes[rows // 2 : rows // 2 + 17_000] &= ~1  # some slices end early
    costs = tuple(
        Part(
            f"P{k}", 100.0 * (k + 1), 0.0 if k == row_function else 10_000.0 * (parts - k), k != row_function,
            after if k == 0 else (),
        )
        for k in range(parts)
    )  # fmt: skip
    phases = (Phase(0, rows // 2, (1.0,) * parts), Phase(rows // 2, rows - rows // 2, (3.0, *(1.0,) * (parts - 1))))
    return Chain(1, 0, costs, codes, phases, 18_000, dict.fromkeys(GROUPS, "none"))


def counted(chain: Chain, order: tuple[int, ...]) -> float:
    """The work of an order, row by row and slice by slice."""
    total = 0.0
    for number, phase in enumerate(chain.phases):
        for start in range(phase.start, phase.start + phase.rows, chain.batch_rows):
            batch = chain.codes[start : min(start + chain.batch_rows, phase.start + phase.rows)]
            pieces = -(-len(batch) // MOST_SLICE_ROWS)
            for alive in np.array_split(batch, pieces):  # slices of nearly equal length, the longer ones first
                for k in order:
                    if len(alive):
                        part = chain.parts[k]
                        total += part.fixed_ns + part.cost_ns * phase.factors[k] * len(alive)
                    alive = alive[alive >> k & 1 == 1]
        assert number < len(chain.phases)
    return total


@pytest.fixture(scope="module")
def columns(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with columns of many types, some of which drift."""
    rng = np.random.default_rng(3)
    rows = 20_000
    level = np.arange(rows) / rows + rng.normal(0.0, 0.1, rows)
    file = tmp_path_factory.mktemp("columns") / "theirs.parquet"
    columns = {
        "level": pa.array(level),
        "near": pa.array(level + rng.normal(0.0, 0.1, rows), pa.float32()),
        "count": pa.array(rng.integers(0, 1000, rows), pa.int32(), mask=rng.random(rows) < 0.1),
        "when": pa.array(np.arange(rows) * 1_000_000, pa.timestamp("us")),
        "flag": pa.array(rng.random(rows) < 0.3),
        "word": pa.array(rng.choice(["north", "south", "east", "west wind"], rows)),
        "same": pa.array([7] * rows),
        "list": pa.array([[1]] * rows),
    }
    pq.write_table(pa.table(columns), file)
    return file


def test_a_chain_is_drawn_from_its_seed_and_number_alone() -> None:
    first, _, again, other = tiny(7, 3), tiny(7, 1), tiny(7, 3), tiny(8, 3)
    assert first.parts == again.parts
    assert first.phases == again.phases
    assert first.batch_rows == again.batch_rows
    assert np.array_equal(first.codes, again.codes)
    assert first.parts != other.parts


def test_every_seed_has_every_kind_of_chain() -> None:
    for seed in (0, 1, 2, 999, 1000, 1004):
        cards = [deal(seed, number) for number in range(CHAINS)]
        for name, least in {"predicates": 5, "fixed": 6, "drift": 5, "real": 10, "written": 6, "structure": 6}.items():
            assert min(Counter(getattr(card, name) for card in cards).values()) >= least
        sizes = Counter(card.size for card in cards)
        assert (sizes["short"], sizes["many"], sizes["expensive"]) == (3, 1, 2)
        assert {card.limits for card in cards} == {"none", "guards", "profile=False", "both"}


def test_evaluation_has_drift_that_development_lacks() -> None:
    rng = np.random.default_rng(1)
    for group in ("jump", "slide", "return"):
        known = {kind(rng).name for kind in DEVELOPMENT[group]}
        assert len({kind(rng).name for kind in EVALUATION[group]} - known) >= 2
    for kinds in (DEVELOPMENT, EVALUATION):
        for group, members in kinds.items():
            for drift in (kind(rng) for kind in members):
                assert drift.group == group
                assert sum(piece.share for piece in drift.pieces) == pytest.approx(1.0)
                phases = drift.phases(12_345)
                assert [start for start, _, _ in phases] == [0, *np.cumsum([n for _, n, _ in phases])[:-1]]
                assert sum(rows for _, rows, _ in phases) == 12_345


def test_chains_are_within_what_is_promised(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: set[str] = set()
    monkeypatch.setattr(drawing, "MATTERS_TRIES", 1)
    for number in (3, 5, 6, 8, 9, 10, 11, 12, 14, 16):
        chain = tiny(5, number)
        cards = deal(5, number)
        seen |= {f"{name}={value}" for name, value in chain.groups.items()}
        least, most = drawing.PREDICATES[chain.groups["predicates"]]
        assert least <= len(chain.parts) <= most
        assert 100 <= chain.batch_rows <= 100_000
        fixed = drawing.FIXED_NS[chain.groups["fixed"]]
        for part in chain.parts:
            assert 60.0 <= part.cost_ns <= (1_000_000.0 if cards.size == "expensive" else 60_000.0)
            assert part.fixed_ns == 0.0 or (part.vectorized and fixed[0] <= part.fixed_ns <= fixed[1])
            assert part.vectorized or part.cost_ns >= 300.0
        assert any(part.after for part in chain.parts) == (cards.limits in ("guards", "both"))
        assert all(part.profile for part in chain.parts) == (cards.limits in ("none", "guards"))
        known = hindsight(chain)
        work_s = 0.001 if chain.short else 0.015
        assert known.fixed_ns / 1e9 == pytest.approx(work_s, rel=0.5)
        written = known.work_ns(tuple(range(len(chain.parts))))
        if chain.groups["written"] == "best":
            assert written == pytest.approx(known.fixed_ns)
        assert known.phase_ns <= known.fixed_ns * (1 + 1e-12)
    assert {"drift=still", "drift=jump", "drift=slide", "drift=return", "written=worst", "fixed=above 100 µs"} <= seen


def test_made_columns_have_the_drawn_selectivities() -> None:
    rng = np.random.default_rng(4)
    drift = DEVELOPMENT["jump"][0](np.random.default_rng(0))
    made = draw_made(rng, 6, "correlated", drift)
    rows = 200_000
    codes = made.codes(np.arange(rows), rows, rng)
    scene = np.round(drift.position(np.arange(rows), rows)).astype(int)
    assert drift.scenes == scene.max() + 1
    for s, k in itertools.product(range(drift.scenes), range(6)):
        assert 0.02 <= made.shares[s, k] <= 0.98
        assert float((codes[scene == s] >> k & 1).mean()) == pytest.approx(made.shares[s, k], abs=0.01)
    passed = codes[scene == 0, None] >> np.arange(6) & 1
    together = np.corrcoef(passed.T)
    groups = np.array(made.group)
    related = (groups[:, None] == groups) & ~np.eye(6, dtype=bool)
    assert related.any()
    assert together[related].min() > 0.03
    assert np.abs(together[(groups[:, None] != groups)]).max() < 0.03
    twice = draw_made(rng, 6, "duplicated", drift)
    pair = [k for k in range(6) if twice.group.count(twice.group[k]) > 1]
    same = [k for k in pair if twice.group[k] == twice.group[pair[0]]]
    bits = twice.codes(np.arange(1000), 1000, rng)
    assert len(same) > 1
    assert all(np.array_equal(bits >> same[0] & 1, bits >> k & 1) for k in same)


def test_conditions_on_real_columns_have_the_wanted_share(columns: Path) -> None:
    data = read("theirs", columns)
    assert {column.name for column in data.columns} == {"level", "near", "count", "when", "flag", "word"}
    rng = np.random.default_rng(2)
    texts = []
    for share in np.linspace(0.05, 0.95, 60):
        bits, text = draw_condition(rng, data, float(share))
        assert abs(float(bits.mean()) - share) < 0.25
        assert 0.02 <= bits.mean() <= 0.98
        texts.append(text)
    kinds = ("<=", ">=", "between", "%", "hash", "contain", "in a list")
    assert all(any(kind in text for text in texts) for kind in kinds)
    count = next(column for column in data.columns if column.name == "count")
    below, _ = draw_condition(rng, replace(data, columns=(count,)), 0.5)
    assert not below[~count.valid].any()


def test_rows_of_real_columns_keep_their_order(columns: Path) -> None:
    data = read("theirs", columns)
    rng = np.random.default_rng(2)
    outcomes = draw_real(rng, 4, data, DEVELOPMENT["jump"][0](np.random.default_rng(0)))
    rows = 3000
    codes = outcomes.codes(np.arange(rows), rows, rng)
    phases = outcomes.drift.phases(rows)
    assert len(phases) > 1
    for scene, (start, count, _) in enumerate(phases):
        first, length = outcomes.windows[scene]
        taken = first + np.arange(start, start + count) % length
        assert np.array_equal(codes[start : start + count], outcomes.base[taken])


@pytest.mark.parametrize("row_function", [-1, 1])
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_counted_work_is_the_computed_work(order: tuple[int, ...], row_function: int) -> None:
    chain = small(row_function=row_function)
    computed = hindsight(chain).work_ns(order)
    assert computed == pytest.approx(counted(chain, order), rel=1e-12)
    ordered = as_written(chain, order)
    assert virtual.run_virtual(ordered, "static", 1).work_ns == pytest.approx(computed, rel=1e-12)
    assert local.run_local(ordered, FREE, "static", 1).work_ns == pytest.approx(computed, rel=1e-12)


@pytest.mark.parametrize("after", [(), (2,)])
def test_the_best_orders_are_the_best_of_all(after: tuple[int, ...]) -> None:
    chain = small(4, 30_000, after)
    known = hindsight(chain)
    allowed = [o for o in itertools.permutations(range(4)) if all(o.index(g) < o.index(0) for g in after)]
    assert known.fixed_order in allowed
    assert known.fixed_ns == pytest.approx(min(counted(chain, order) for order in allowed))
    assert counted(chain, known.fixed_order) == pytest.approx(known.fixed_ns)
    each = [min(counted(chain.only(number), order) for order in allowed) for number in range(2)]
    assert known.phase_ns == pytest.approx(sum(each))
    assert local.run_orders(chain, FREE, known.phase_orders, 1).work_ns == pytest.approx(sum(each))


@pytest.mark.parametrize("row_function", [-1, 2])
def test_a_run_is_stopped_when_its_limit_is_spent(row_function: int) -> None:
    chain = small(row_function=row_function)
    whole = hindsight(chain).work_ns((0, 1, 2))
    for limit in (0.05 * whole, 0.9 * whole):
        stopped = virtual.run_virtual(chain, "static", 1, limit)
        assert stopped.stopped
        assert stopped.work_ns == pytest.approx(limit, rel=0.2)
        stopped = local.run_local(chain, FREE, "static", 1, limit)
        assert (stopped.stopped, stopped.work_ns) == (True, limit)
    assert not local.run_local(chain, FREE, "static", 1, 1.001 * whole).stopped


def test_the_best_other_policy_is_the_one_that_works_least(monkeypatch: pytest.MonkeyPatch) -> None:
    chain = replace(small(), many=True)
    ratios = {"a-greedy": 20.0, "sweep": 8.0, "independent": 20.0, "local-swaps": 9.0, "velox-rank": 5.0}

    def found(chain: Chain, policy: str, seed: int, limit_ns: float) -> Outcome:
        work_ns = ratios.get(policy, 20.0) * hindsight(chain).fixed_ns
        return Outcome(min(work_ns, limit_ns), 0.0, work_ns > limit_ns)

    monkeypatch.setattr(comparing, "run_virtual", found)
    assert comparing.few(chain, POLICIES) == ["auto", "velox-rank"]
    assert comparing.few(chain, ("auto", "sweep")) == ["auto", "sweep"]


def interrupted(seed: int) -> tuple[virtual.VirtualClock, list[float]]:
    """The clock after a run, and what the loop takes a row to cost over what it does cost, by predicate."""
    chain = small(3, 100_000)
    parts = tuple(replace(part, cost_ns=10.0 * part.cost_ns, fixed_ns=0.0) for part in chain.parts)
    chain = replace(chain, parts=parts, phases=(Phase(0, 100_000, (1.0,) * 3),), batch_rows=1_000)
    clock = virtual.VirtualClock(seed)
    loop = virtual.virtual_loop(chain, "static", seed, clock, Ledger(chain))
    for _, batch in chain.batches:
        loop.process(batch.select(["bits"]))
    return clock, [found / part.cost_ns for found, part in zip(loop.cost_ns(), parts, strict=True)]


def test_on_the_virtual_clock_interrupted_calls_cost_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(virtual, "EVERY_NS", 5e6)
    for seed in range(4):
        clock, ratios = interrupted(seed)
        assert clock.now_ns > 1.3 * clock.cpu_ns
        assert ratios == pytest.approx([1.0] * 3, rel=0.3)  # on the wall, 0.2 to 2.4


def test_a_decision_on_the_virtual_clock_has_its_price() -> None:
    clock = virtual.VirtualClock(1)
    names = tuple(f"P{k}" for k in range(16))
    for n in (2, 16):
        policy = Auto(Pipeline(names[:n]))
        virtual.price_updates(policy, clock)
        nothing, costs = np.zeros(n, np.int64), np.full(n, 100.0)
        for rows, price in ((60, DECISION.ns(n, 60)), (0, UPDATE["auto"].ns(n))):
            before = clock.cpu_ns
            policy.update(Observation(nothing, nothing, nothing, costs, np.ones((rows, n), dtype=bool)))
            assert clock.cpu_ns - before == pytest.approx(price, abs=1.0)
    assert DECISION.ns(16, 512) > 1.5 * DECISION.ns(2, 512) > 3.0 * UPDATE["auto"].ns(2)
    assert set(POLICIES) == set(UPDATE)


def test_burning_takes_the_time_that_was_set() -> None:
    from bench.generated.burning import measure

    chain = replace(small(2, 20_000), phases=(Phase(0, 20_000, (1.0, 1.0)),))
    outcome = local.run_local(chain, measure(), "static", 1)
    assert outcome.time_ns > 0.5 * outcome.work_ns


@pytest.mark.benchmark
def test_the_quick_run_tells_every_chain_and_policy(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, columns: Path
) -> None:
    chosen = ["--chain", "0", "--chain", "4", "--chain", "7"]
    asked = ["--quick", "--work", "0.02", "--seed", "3", "--columns", str(columns), *chosen]
    assert command.main(asked) == 0
    printed = capsys.readouterr().out
    lines: list[dict[str, Any]] = [json.loads(text) for text in printed.splitlines()]
    assert all(line["bench"] == "generated" for line in lines)
    kinds = Counter(line["line"] for line in lines)
    assert (kinds["machine"], kinds["chain"], kinds["control"]) == (1, 3, 1)
    for chain in (line for line in lines if line["line"] == "chain"):
        runs = [line for line in lines if line["line"] == "run" and line["chain"] == chain["chain"]]
        assert {*POLICIES, "best", "best again"} <= {line["policy"] for line in runs}
        assert all(1.0 <= line[key] <= MOST for line in runs for key in ("work_ratio", "phase_ratio", "time_ratio"))
        assert all(line["work_ratio"] == 1.0 for line in runs if line["policy"].startswith("best"))
    file = tmp_path / "run.jsonl"
    file.write_text(printed, encoding="utf-8")
    assert table.main([str(file)]) == 0
    shown = capsys.readouterr().out
    assert "| at least a second of work | auto |" in shown
    assert "| at least a second of work, run by every policy | auto |" in shown
    assert "Chains in no group, neither short nor with a second of work: " in shown


def test_missing_data_is_reported_and_columns_are_made(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    asked = ["--virtual", "--work", "0.01", "--chain", "3", "--data", str(tmp_path), "--policy", "auto"]
    assert command.main(asked) == 0
    out, err = capsys.readouterr()
    assert f"none of its data sets is in {tmp_path}" in err
    assert {json.loads(line)["groups"]["columns"] for line in out.splitlines() if '"chain", ' in line} == {"made"}
    with pytest.raises(SystemExit, match=r"there is no file missing\.parquet"):
        command.main(["--columns", "missing.parquet"])


@pytest.mark.parametrize("mode", [[], ["--virtual"]])
def test_wrong_rows_end_the_run_with_an_error(
    mode: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def lying(seed: int, number: int, sources: Sources) -> Chain:
        chain = small()
        chain.__dict__["kept"] = chain.kept[1:]
        return chain

    monkeypatch.setattr(run, "draw", lying)
    assert command.main([*mode, "--work", "0.01", "--chain", "1", "--policy", "auto"]) == 1
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["line"] == "error"


def test_the_summary_is_of_the_lines() -> None:
    groups = {**dict.fromkeys(GROUPS, "none"), "drift": "still"}

    def lines(number: int, ratios: dict[str, float], **more: Any) -> list[dict[str, Any]]:
        key = {"mode": "virtual", "seed": 1, "chain": number}
        chain = {"line": "chain", "groups": groups, "about": {}, "rows": 1, "batch_rows": 1, "written_ratio": 1.0}
        printed = {"long": True, "short": False, "best_again_over_best_time": 1.0, **more}
        runs = [
            {
                "line": "run", **key, "policy": policy, "work_ratio": ratio, "phase_ratio": ratio, "time_ratio": ratio,
                "stopped": ratio >= MOST, "switches": 0,
            }
            for policy, ratio in ratios.items()
        ]  # fmt: skip
        return [{**chain, **key, **printed}, *runs]

    given = [line for number in range(10) for line in lines(number, {"auto": 1.2, "sweep": 1.0, "velox-rank": 10.0})]
    given += lines(10, {"auto": 1.6, "sweep": 2.0}) + lines(11, {"auto": 9.0}, long=False, short=True)
    given += lines(12, {"auto": 1.0, "sweep": 1.0, "velox-rank": 1.0}, long=False, best_work_s=0.8)
    found = list(summary(given))
    auto = next(line for line in found if line.get("group") == "all" and line.get("policy") == "auto")
    assert auto["chains"] == 11
    assert auto["work"]["mean"] == pytest.approx(math.exp((10 * math.log(1.2) + math.log(1.6)) / 11), abs=1e-4)
    assert auto["work"]["worst"] == 1.6
    short = next(line for line in found if line.get("group") == "short" and line.get("policy") == "auto")
    assert (short["chains"], short["work"]["mean"]) == (1, 9.0)
    kind = next(line for line in found if line["line"] == "kind" and line["group"] == "drift")
    assert (kind["best_other"], kind["behind"]) == ("sweep", True)
    stopped = next(line for line in found if line.get("group") == "all" and line.get("policy") == "velox-rank")
    assert stopped["stopped"] == 10
    common = {line["policy"]: line for line in found if line["line"] == "summary" and line["group"] == "common"}
    assert {policy: line["chains"] for policy, line in common.items()} == {"auto": 10, "sweep": 10, "velox-rank": 10}
    assert (common["auto"]["work"]["worst"], common["sweep"]["work"]["p95"]) == (1.2, 1.0)
    neither = [line for line in found if line["line"] == "neither"]
    assert [(line["chains"], line["members"]) for line in neither] == [
        (1, [{"seed": 1, "chain": 12, "best_work_s": 0.8}])
    ]
    assert "Chains in no group, neither short nor with a second of work: 1: 1/12 with 0.80 s." in table.others(found)
    assert [(line["chain"], line["work_ratio"]) for line in found if line["line"] == "above"] == [(10, 1.6), (11, 9.0)]


def test_tables_are_of_one_mode_and_of_each_chain_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def file(name: str, mode: str, *numbers: int, **more: Any) -> str:
        groups = {**dict.fromkeys(GROUPS, "none"), "drift": "still"}
        chain = {
            "line": "chain", "mode": mode, "seed": 1, "groups": groups, "long": True, "short": False,
            "best_work_s": 1.0, "best_again_over_best_time": 1.0, **more,
        }  # fmt: skip
        run = {
            "line": "run", "mode": mode, "seed": 1, "policy": "auto", "work_ratio": 1.0, "phase_ratio": 1.0,
            "time_ratio": 1.0, "stopped": False,
        }  # fmt: skip
        lines: list[dict[str, Any]] = [{"line": "machine", "mode": mode}]
        lines += [{**line, "chain": number} for number in numbers for line in (chain, run)]
        path = tmp_path / name
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        return str(path)

    first, second = file("first", "local", 0, 1), file("second", "local", 2)
    assert table.main([first, second]) == 0
    assert "| at least a second of work | auto | 3 |" in capsys.readouterr().out
    with pytest.raises(SystemExit, match=r"first is of mode local, .*third of mode virtual; make a table of each mode"):
        table.main([first, file("third", "virtual", 1)])
    with pytest.raises(SystemExit, match=r"chain 1/1 is in .*first and again in .*fourth; give each chain once"):
        table.main([first, second, file("fourth", "local", 3, 1)])
    with pytest.raises(SystemExit, match="give each chain once"):
        table.main([first, first])
    with pytest.raises(SystemExit, match="give each chain once"):
        table.main([file("fifth", "spark", 4, 4, line="spark chain")])
    wrong = tmp_path / "wrong"
    wrong.write_text(json.dumps({"line": "error", "error": "chain 1/5: wrong rows"}), encoding="utf-8")
    with pytest.raises(SystemExit, match="wrong: the run ended with an error"):
        table.main([second, str(wrong)])


@pytest.mark.parametrize("written", ["best", "random", "worst"])
def test_a_cut_chain_is_written_as_its_label_says(written: str) -> None:
    chain = small(4, 40_000, after=(2,))
    other_later = replace(chain, phases=(chain.phases[0], replace(chain.phases[1], factors=(1.0, 90.0, 0.01, 0.01))))
    groups = {**chain.groups, "drift": "jump", "written": written}
    start = extreme_order(other_later, worst=written == "worst")
    drawn = as_written(replace(other_later, groups=groups), start)
    found = cut(drawn, 20_000, 5_000)
    assert (found.rows, found.batch_rows, len(found.phases), found.groups["drift"]) == (20_000, 5_000, 1, "still")
    assert found.about["cut"] == "20,000 of 40,000 rows, 1 of 2 phases"
    assert np.array_equal(found.kept, chain.kept[chain.kept < 20_000])
    names = [part.name for part in found.parts]
    guarded, guard = names.index("P0"), names.index("P2")
    allowed = [o for o in itertools.permutations(range(4)) if o.index(guard) < o.index(guarded)]
    works = {order: counted(found, order) for order in allowed}
    if written == "random":
        assert names == [part.name for part in drawn.parts]
    else:
        assert works[0, 1, 2, 3] == pytest.approx((max if written == "worst" else min)(works.values()))
        assert names != [part.name for part in drawn.parts]
    whole = cut(drawn, 40_000, 5_000)
    assert (whole.phases[-1].rows, whole.groups["drift"], "cut" in whole.about) == (20_000, "jump", False)


def test_what_is_left_of_a_drift_names_its_group() -> None:
    chain = small(3, 40_000)
    phases = tuple(Phase(start, 10_000, (1.0,) * 3) for start in range(0, 40_000, 10_000))

    def left(drift: str, rows: int) -> str:
        groups = {**chain.groups, "drift": drift}
        return cut(replace(chain, groups=groups, phases=phases), rows, 1_000).groups["drift"]

    assert [left("jump", rows) for rows in (10_000, 10_500, 11_000, 40_000)] == ["still", "still", "jump", "jump"]
    assert [left("return", rows) for rows in (9_000, 15_000, 20_999, 21_000)] == ["still", "jump", "jump", "return"]
    assert [left("slide", rows) for rows in (500, 10_000, 20_000)] == ["still", "still", "slide"]
    assert left("still", 20_000) == "still"


def test_on_spark_variants_take_turns() -> None:
    from bench.generated import on_spark

    turns = [on_spark.in_turn(2000, number) for number in range(200)]
    assert turns == [on_spark.in_turn(2000, number) for number in range(200)]
    for place in (0, 5):
        assert min(Counter(turn[place] for turn in turns).values()) >= 15
    for turn in turns:
        assert sorted(turn) == sorted(on_spark.VARIANTS)
        assert abs(turn.index("best") - turn.index("best again")) > 1


def test_on_spark_a_few_rows_warm_the_session_up(monkeypatch: pytest.MonkeyPatch) -> None:
    from bench.generated import on_spark

    done: list[tuple[str, int, float]] = []

    class Recorded(on_spark.OnSpark):
        def __init__(self, spark: Any, chain: Chain, speed: Speed, folder: Path, most: float = MOST) -> None:
            self.chain, self.most = chain, most

        def run_all(self) -> dict[str, on_spark.Timed]:
            done.append(("run", self.chain.rows, self.most))
            return {name: on_spark.Timed(1.0, 1.0) for name in on_spark.VARIANTS}

        def line(self) -> dict[str, Any]:
            done.append(("line", self.chain.rows, self.most))
            flags = {"long": False, "short": True, "groups": self.chain.groups}
            ratios = dict.fromkeys(on_spark.VARIANTS, 1.0)
            times = {"seconds": ratios, "time_over_best": ratios, "work_over_best": ratios}
            return {"line": "spark chain", "seed": 1, "chain": len(done), **flags, **times}

    monkeypatch.setattr(on_spark, "OnSpark", Recorded)
    monkeypatch.setattr(on_spark, "draw", lambda seed, number, sources: small())
    printed: list[dict[str, Any]] = []
    on_spark.run(None, [(1, 0), (1, 1)], Sources(NOWHERE), FREE, printed.append)  # type: ignore[arg-type]
    assert done == [("run", 1_000, math.inf), ("line", 40_000, MOST), ("line", 40_000, MOST)]
    assert [line["line"] for line in printed[:2]] == ["spark chain"] * 2


def test_on_spark_every_variant_counts_its_work(spark: Any, tmp_path: Path) -> None:
    from bench.generated import on_spark

    chain = small(rows=30_000, row_function=1)
    assert len({tuple(phase.factors) for phase in chain.phases}) == 2
    line = on_spark.OnSpark(spark, replace(chain, batch_rows=10_000), Speed(1.5, 250.0), tmp_path / "one").line()
    variants = {"plain Spark", "nondeterministic", "fused", "best", "best again", "auto"}
    assert set(line["seconds"]) | set(line["not_run"]) == variants
    assert line["ran_in_order"] == [name for name in on_spark.in_turn(1, 0) if name in line["seconds"]]
    assert line["counted_best_work_s"] == pytest.approx(line["best_work_s"], rel=0.2)
    assert line["work_over_best"]["best again"] == pytest.approx(1.0, abs=0.05)
    assert 1.0 <= line["work_over_best"]["auto"] <= MOST
    assert (line["short"], line["long"]) == (True, False)
    found = {kind["group"]: kind["chains"] for kind in on_spark.kinds([line])}
    assert found == {"every": 1, "short": 1}
    long = {**line, "short": False, "long": True}
    found = {kind["group"]: kind["chains"] for kind in on_spark.kinds([line, {**long, "chain": 1}])}
    assert found == {"every": 2, "all": 1, "short": 1, "moving": 1, **dict.fromkeys(GROUPS, 1)}
    chain.__dict__["kept"] = chain.kept[1:]
    with pytest.raises(WrongRowsError):
        on_spark.OnSpark(spark, chain, Speed(1.5, 250.0), tmp_path / "two").line()
