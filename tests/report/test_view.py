"""Everything that is looked at is printed, shown by notebooks and saved in one way."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import thalweg as tw
from tests.draw.test_chart_picture import KNOWN, ON
from tests.report.test_explanation import Page, a_query
from tests.report.test_mesh_view import by_source, view_of
from thalweg.errors import PlanError
from thalweg.report.join_report import JoinReport
from thalweg.report.view import View
from thalweg.session import QueryReport
from thalweg.session.query_rounds import RoundsReport, Waits

HARD = "a <b> & 'c'\n\x1b[2J"


def of_filters() -> tw.Report:
    keep = tw.filters(tw.predicate(str.isdigit, "code", name=HARD))
    list(keep.over(pa.table({"code": ["7", "x7"]})))
    return keep.report()


def of_join() -> JoinReport:
    rows = pa.table({"k": [1, 2], "ts": [1, 2]})
    join = tw.join("a.k = b.k", window=10, time="ts")
    list(join.over(a=rows, b=rows))
    return join.report()


VIEWS: dict[str, tuple[Callable[[], View], str]] = {
    "explanation": (a_query, a_query().of),
    "mesh": (lambda: view_of(by_source()), "Mesh, version 7"),
    "chart": (lambda: tw.join(ON, "10 seconds", "ts", statistics=KNOWN).chart(k=3), "Join of a, b and c"),
    "report of filters": (of_filters, "Report of filters"),
    "report of a join": (of_join, "Report of a join"),
    "report of a query": (lambda: QueryReport(((HARD, of_filters()),), left_out={HARD: 2}), "Report of a query"),
    "report without a run": (lambda: tw.filters(tw.predicate(str.isdigit, "code")).report(), "Report of filters"),
    "rounds": (lambda: RoundsReport({HARD: Waits(2, 1_000, 900)}), "Rounds of queries"),
}


@pytest.mark.parametrize("name", VIEWS)
def test_what_is_saved_is_what_is_shown(name: str, tmp_path: Path) -> None:
    make, title = VIEWS[name]
    view = make()
    assert repr(view) == str(view)
    assert "\x1b" not in str(view) + view._repr_html_()
    view.save(tmp_path / "view.txt")
    assert (tmp_path / "view.txt").read_text("utf-8") == f"{view}\n"
    view.save(tmp_path / "view.html")
    text = (tmp_path / "view.html").read_text("utf-8")
    assert text.startswith("<!doctype html>")
    assert f"<h1>{title}</h1>\n{view._repr_html_()}" in text
    assert f"<title>{title}</title>" in text
    page = Page(text)
    assert page.open == []
    assert not {"script", "link", "img", "iframe"} & set(page.tags)


@pytest.mark.parametrize("name", [name for name in VIEWS if "report" in name or name == "rounds"])
def test_a_report_is_saved_as_text_or_page_only(name: str, tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=r"^save\(.*ends with '.svg', .*; use \.txt or \.html$"):
        VIEWS[name][0]().save(tmp_path / "report.svg")
    assert list(tmp_path.iterdir()) == []


def test_all_that_notebooks_show_has_one_base() -> None:
    """No class shows or saves itself in a way of its own."""
    found, waiting = set(), [View]
    while waiting:
        cls = waiting.pop()
        waiting += cls.__subclasses__()
        assert not {"save", "_page", "__repr__"} & set(vars(cls)) or cls is View, cls
        found.add(f"{cls.__module__.removeprefix('thalweg.').replace('.', '/')}.py")
    source = Path(tw.__file__).parent
    shown = {path.relative_to(source).as_posix() for path in source.rglob("*.py")
             if "def _repr_html_(" in path.read_text("utf-8")}  # fmt: skip
    assert len(shown) > 5
    assert shown <= found


def test_a_report_with_slots_stays_frozen_and_can_be_copied() -> None:
    report = of_filters()
    with pytest.raises(AttributeError):
        report.pending = 1  # type: ignore[misc]
    assert not hasattr(report, "__dict__")
    assert str(pickle.loads(pickle.dumps(report))) == str(report)
