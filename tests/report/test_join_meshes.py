"""Reports and explanations of joins whose rows take routes: the tree of each stream, with what was counted."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import thalweg as tw
from tests.report.join_records import joined, verdict
from tests.report.test_mesh_view import Page
from tests.report.test_report import observed
from tests.runtime.joins.test_mesh_policy import ON, OTHERS, SECTORS, WINDOW, drive, star
from thalweg.cli import app
from thalweg.events import JoinObserved, JsonLines, Observed, Origin, Record, VerdictGiven, from_json, to_json
from thalweg.optimizer.mesh.mesh import Mesh
from thalweg.optimizer.mesh.tree import Leaf, RouteTree, ValueNode
from thalweg.report import JoinReport, JoinTally, MeshView, fold
from thalweg.report.tally import LATEST_BATCHES
from thalweg.runtime.joins.join_loop import JoinLoop
from thalweg.runtime.joins.join_record import decode, encode, records_of, take_counters

BATCHES = 40


def records_from(loop: JoinLoop) -> list[Record]:
    taken = take_counters(loop)
    found = records_of(taken, Origin("pass 1", "local", worker="local", policy="mesh"))
    assert found == decode(encode(taken, worker="local"), policy="mesh", run="pass 1", kind="local", batch=None)
    return [from_json(to_json(record)) for record in found]


@pytest.fixture(scope="module")
def adopted() -> JoinLoop:
    loop = star(["a.sector"])
    drive(loop, BATCHES)
    assert loop.loops["a"].mesh is not None
    return loop


@pytest.fixture(scope="module")
def snapshot(adopted: JoinLoop) -> Any:
    return json.loads(json.dumps(adopted.learned()))


@pytest.fixture(scope="module")
def records(adopted: JoinLoop, snapshot: Any) -> list[Record]:
    """Those of two reports, the second without a verdict."""
    first = records_from(adopted)
    drive(adopted, 5, begin=BATCHES, seed=1)
    return [*first, *records_from(adopted)]


def report_of(records: Sequence[Record]) -> JoinReport:
    tally = JoinTally()
    for record in records:
        tally.add(record)
    return tally.report()


def mesh_of(records: Sequence[Record], stream: str = "a") -> MeshView:
    return report_of(records).sections[-1].meshes[stream]


def test_each_sector_begins_where_it_finds_no_partner(records: list[Record]) -> None:
    mesh = mesh_of(records)
    assert set(report_of(records).sections[0].meshes) == {"a"}, "rows of the others have no class"
    assert mesh.columns == ("sector",)
    text = str(report_of(records))
    for sector, other in zip(SECTORS, OTHERS, strict=True):
        (leaf,) = re.findall(rf"sector is [^\n]*'{sector}'[^\n]*: route (\d)\n[^\n]*?(\w) →", text)
        assert leaf[1] == other
        assert mesh.routes[int(leaf[0]) - 1].order[0] == other
    assert re.search(r"\n  Mesh of a: version \d, 4 routes by sector\n", text)
    assert len(re.findall(r"\d % of the rows, [\d.]+ probes? and \S+ .s per row", text)) == 4
    assert "less than with one route" in text
    assert re.search(r"\n    routing takes \S+ % of the time", text)
    assert "why the order of a is kept: rows take 4 routes by sector" in text


def test_counts_of_routes_add_up_to_what_loops_counted(records: list[Record]) -> None:
    seen = [r for r in records if isinstance(r, JoinObserved) and r.alias == "a"]
    last, routes = seen[-1], seen[-1].routes
    assert routes is not None
    assert sum(routes.rows) == 5 * 1_000
    assert sum(routes.evaluated) == sum(last.probes.evaluated)
    mesh = mesh_of(records)
    of_it = [r.routes for r in seen if r.routes is not None and r.routes.version == routes.version]
    for k, route in enumerate(mesh.routes):
        assert route.rows == sum(each.rows[k] for each in of_it)
        assert route.evaluated == sum(each.evaluated[k] for each in of_it)
    stream = report_of(records).sections[0].streams["a"]
    assert stream.times.routing_ns == sum(r.times.routing_ns for r in seen)


def test_every_form_has_the_tree(records: list[Record], tmp_path: Path) -> None:
    report = report_of(records)
    page = Page(report._repr_html_())
    mesh = mesh_of(records)
    orders = [str(route) for route in mesh.routes]
    for shown in (page.text, mesh.to_graphviz(), mesh.to_mermaid(), str(report)):
        assert all(order in shown for order in orders)
        assert all(f"'{sector}'" in shown for sector in SECTORS)
    streams = json.loads(json.dumps(report.to_dict()))["sections"][0]["streams"]
    assert streams["a"]["mesh"] == mesh.to_dict()
    assert "mesh" not in streams["b"]
    lines = JsonLines(tmp_path / "events.jsonl")
    for record in records:
        lines.write(record)
    run = CliRunner().invoke(app, ["report", str(lines.path)])
    assert run.exit_code == 0, run.stderr
    assert str(mesh) == "\n".join(line[2:] for line in run.stdout.splitlines())[-len(str(mesh)) :]
    mesh.save(tmp_path / "mesh.html")
    assert "<title>Mesh of a, version" in (tmp_path / "mesh.html").read_text("utf-8")


def test_redacted_records_have_no_values(snapshot: Any) -> None:
    loop = star(["a.sector"])
    loop.options = replace(loop.options, redact=True)
    loop.learn(snapshot)
    drive(loop, 3, seed=2)
    found = records_from(loop)
    everything = "".join(map(to_json, found)) + str(report_of(found)) + report_of(found)._repr_html_()
    assert "Mesh of a: version" in everything
    assert not re.search(rf"\b({'|'.join(SECTORS)})\b", everything)
    assert "sector is value 1" in everything


def test_a_loop_that_begins_with_a_mesh_reports_it_once(snapshot: Any) -> None:
    loop = star(["a.sector"])
    loop.learn(snapshot)
    drive(loop, 2, seed=2)  # at first, windows are empty
    first = records_from(loop)
    drive(loop, 1, begin=2, seed=3)
    second = records_from(loop)
    seen = [r.routes for r in [*first, *second] if isinstance(r, JoinObserved) and r.routes is not None]
    assert json.loads(seen[0].mesh) == snapshot["a"]["mesh"]
    assert {routes.mesh for routes in seen[1:]} == {""}
    assert not any(isinstance(r, VerdictGiven) and r.mesh for r in first)
    assert sum(route.rows for route in mesh_of([*first, *second]).routes) == 2_000


def test_explain_draws_the_tree_of_the_latest_run(records: list[Record]) -> None:
    j = tw.join(ON, window=WINDOW, time="t", policy="mesh", classify_by=["a.sector"])
    before = j.explain()
    assert before.meshes == ()
    assert "(at most 8 orders per stream, by classes of rows)" in " ".join(before.adapts)
    for record in records:
        j._receiver._fold.add(record)
    explanation, mesh = j.explain(), mesh_of(records)
    assert [shown for _, shown in explanation.meshes] == [mesh]
    assert f"\n\nRoutes in the latest run\n{mesh}\n\n" in str(explanation)
    orders = [str(route) for route in mesh.routes]
    for shown in (Page(explanation._repr_html_()).text, explanation.to_graphviz(), explanation.to_mermaid()):
        assert all(order in shown for order in orders)
        assert "Routes in the latest run" in shown
    for record in records:
        if isinstance(record, JoinObserved):
            j._receiver._fold.add(replace(record, origin=replace(record.origin, run="pass 2"), routes=None))
    assert j.explain().meshes == (), "the latest run has none"


# made-up records


def mesh_text(version: int, *, routes: int = 2, value: str = "web") -> str:
    tree = RouteTree(ValueNode("kind", "text", (((value.encode(),), Leaf(routes - 1, 0.5)),), Leaf(0), Leaf(0, 0.5)))
    return json.dumps(Mesh(tree, ((0, 1), (1, 0))[:routes], version).to_dict())


ROUTED: dict[str, Any] = {
    "mesh_version": 1,
    "route_rows": (60, 40),
    "route_evaluated": (70, 50),
    "route_ns": (7_000, 5_000),
}


def test_counts_of_later_micro_batches_belong_to_the_mesh() -> None:
    batches = LATEST_BATCHES + 10
    told: list[Record] = [verdict(worker=f"bucket {n} a", mesh=mesh_text(1, value=f"v{n}")) for n in range(2)]
    told += [joined(bucket=n, batch=batch, routing_ns=90, **ROUTED) for batch in range(batches) for n in range(2)]
    told += [joined(stream="b", bucket=n, batch=batches - 1) for n in range(2)]
    (section,) = report_of(told).sections
    mesh = section.meshes["a"]
    assert set(section.meshes) == {"a"}
    assert [(route.rows, route.evaluated, route.ns) for route in mesh.routes] == [
        (60 * batches, 70 * batches, 7_000 * batches), (40 * batches, 50 * batches, 5_000 * batches),
    ]  # fmt: skip
    assert str(mesh).splitlines()[0] == "Mesh of a in bucket 1: version 1, 2 routes by kind"
    assert "kind is 'v1'" in str(mesh)
    assert "routing takes 0.744 % of the time of these rows" in str(mesh)  # 90 of 90 + 12,000 ns
    assert section.to_dict()["streams"]["a"]["mesh"]["routes"][0]["rows"] == 60 * batches


def test_the_same_for_filters() -> None:
    told: list[Record] = [
        VerdictGiven(Origin("r", "stream", 0, "w", "mesh"), 5, ("a", "b"), ("b", "a"), "because", mesh_text(1))
    ]
    told += [observed(kind="stream", batch=batch, **ROUTED) for batch in range(LATEST_BATCHES + 10)]
    (section,) = fold(told).sections
    assert section.mesh is not None
    assert [route.rows for route in section.mesh.routes] == [60 * (LATEST_BATCHES + 10), 40 * (LATEST_BATCHES + 10)]
    began = fold([observed(mesh=mesh_text(1), **ROUTED), observed(**ROUTED)]).sections[0].mesh
    assert began is not None
    assert [route.evaluated for route in began.routes] == [140, 100]
    keep = tw.filters(*(tw.predicate(str.isdigit, "code", name=name) for name in "ab"), policy="mesh")
    for record in told:
        keep._receiver._fold.add(record)
    assert keep.explain().meshes == (("Routes in the latest run", section.mesh),)
    assert str(section.mesh) in str(keep.explain())


def test_one_route_again_and_why() -> None:
    told: list[Record] = [verdict(mesh=mesh_text(1)), joined(**ROUTED)]
    told += [
        verdict(mesh=mesh_text(2, routes=1), batch=1),
        joined(batch=1, policy="mesh", standing="they differ little"),
    ]
    told += [joined(batch=2, policy="mesh", standing="they hardly differ")]
    (section,) = report_of(told).sections
    assert str(section.meshes["a"]) == ("One route of a: b → c\n  why there is one route: they hardly differ")
    gone = report_of([*told[:2], joined(batch=1, policy="mesh", standing="another reason")]).sections[0]
    assert gone.meshes == {}, "a mesh that is not in force is not shown, also if its end is not recorded"


def test_counts_of_a_mesh_that_is_not_known_show_nothing() -> None:
    for record in (joined(**ROUTED), joined(**{**ROUTED, "mesh_version": 9})):
        assert report_of([record]).sections[0].meshes == {}
    other = report_of([verdict(mesh=mesh_text(1)), joined(**ROUTED), joined(**{**ROUTED, "mesh_version": 9})])
    assert [route.rows for route in other.sections[0].meshes["a"].routes] == [60, 40]


def test_a_switch_that_changes_the_mesh_alone_is_told_without_an_order() -> None:
    text = str(report_of([verdict(mesh=mesh_text(1), after=("b", "c")), joined(**ROUTED)]))
    assert "a in bucket 0, row 5: because" in text


@pytest.mark.parametrize(
    "changes",
    [
        {"route_evaluated": (1,)}, {"route_ns": (1, 2, 3)}, {"mesh": "{}"}, {"mesh": "not JSON"},
        {"route_rows": (-1, 2)}, {"mesh": mesh_text(1).replace("[1, 0]", "[1, 2]")},
    ],
)  # fmt: skip
def test_counts_by_route_that_no_run_writes_are_refused(changes: dict[str, Any]) -> None:
    for record in (joined(**{**ROUTED, **changes}), observed(**{**ROUTED, **changes})):
        with pytest.raises(tw.ThalwegError, match="not an event record"):
            from_json(to_json(record))
    assert isinstance(from_json(to_json(observed(**ROUTED, mesh=mesh_text(1)))), Observed)


def test_a_mesh_of_other_predicates_in_a_changed_file_is_not_shown() -> None:
    three = json.dumps(Mesh.one_route((0, 2, 1)).to_dict())
    report = report_of([verdict(mesh=three, before=("x", "y", "z"), after=("x", "z", "y")), joined()])
    assert report.sections[0].meshes == {}
    assert "Mesh" not in str(report)
