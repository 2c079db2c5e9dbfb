"""`explain()` of a query draws the meshes of its filters and its join in the latest run."""

from __future__ import annotations

import pyarrow as pa

import thalweg as tw
from tests.report.join_records import joined, verdict
from tests.report.test_join_meshes import ROUTED, mesh_text, report_of
from tests.report.test_report import observed
from thalweg.report import fold
from thalweg.report.explain.query import QueryRun, explain_query


def test_meshes_of_all_parts_are_drawn() -> None:
    s = tw.session()
    times = pa.array([0, 1], pa.timestamp("s"))
    for name in "abc":
        s.stream(name, pa.table({"ts": times, "k": [1, 2], "kind": ["x", "y"]}), time="ts")
    s.function("odd", lambda k: k % 2 == 1, "boolean")
    windows = ", ".join(f"{name} [RANGE 5 SECONDS]" for name in "abc")
    query = s.query(
        f"SELECT a.k FROM {windows} WHERE a.k = b.k AND b.k = c.k AND odd(a.k) AND odd(a.k + 2)",
        policy="mesh", classify_by=["a.kind"],
    )  # fmt: skip
    assert query.explain().meshes == ()
    assert query.explain().adapts[-1] == "which rows take which of several orders"
    filters = fold([observed(mesh=mesh_text(1), **ROUTED)])
    joins = report_of([verdict(mesh=mesh_text(4, value="mail")), joined(**{**ROUTED, "mesh_version": 4})])
    shown = explain_query(query.plan, QueryRun("this process", parts=(("filter of a", filters), ("join", joins))))
    assert shown.meshes == (
        ("Routes in the latest run, filter of a", filters.sections[0].mesh),
        ("Routes in the latest run, join", joins.sections[0].meshes["a"]),
    )
    text = str(shown)
    assert "Routes in the latest run, filter of a\nMesh version 1: 2 routes by kind\n├─ kind is 'web': route 2" in text
    assert "Routes in the latest run, join\nMesh of a: version 4, 2 routes by kind\n├─ kind is 'mail': route 2" in text
    assert text.index("Physical plan") < text.index("Routes in the latest run")
