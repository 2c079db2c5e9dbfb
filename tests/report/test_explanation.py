"""The object that `explain()` returns at every door: printed, displayed, saved and drawn."""

from __future__ import annotations

import dataclasses
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pyarrow as pa
import pytest

import thalweg as tw
from thalweg.draw.plan_curves import Curve, PlanCurves
from thalweg.draw.plan_picture import curves_as_svg
from thalweg.draw.plan_tree import TreeItem
from thalweg.report.explanation import Explanation, Paragraph

NASTY = "<script>alert('\"x\"')</script> & \\ \n é \ud800"
CURVE = Curve(NASTY, (0.0, 1.0), (0.0, 5.0), (0.0, 4.0), (0.0, 7.0), chosen=True)
ROWS = pa.table({"k": [1, 2], "t": pa.array([1, 2], pa.timestamp("us"))})


def a_query() -> Explanation:
    session = tw.session()
    session.stream("numbers", ROWS, time="t")
    return session.query("SELECT k FROM numbers WHERE k > 1", name="large").explain()


DOORS: dict[str, Any] = {
    "filters": lambda: tw.filters(tw.predicate(bool, "k")).explain(),
    "join": lambda: tw.join(on="a.k = b.k", window="5 seconds", time="t").explain(),
    "query": a_query,
    "nasty": lambda: Explanation(
        NASTY,
        NASTY,
        ((NASTY, TreeItem(NASTY, (NASTY,), (TreeItem("Stream", (NASTY,)),))),),
        (Paragraph(NASTY, (NASTY,)),),
    ),
}


SVG_NAMES = 'xmlns="http://www.w3.org/2000/svg"'
"""The name of the language, which browsers do not load."""


class Page(HTMLParser):
    """Every tag in order, with what is open, and the texts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.text: list[str] = []
        self.attributes: dict[str, list[dict[str, str | None]]] = {}
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes.setdefault(tag, []).append(dict(attrs))
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


@pytest.mark.parametrize("door", DOORS)
def test_every_door_returns_one_kind_of_object(door: str) -> None:
    told = DOORS[door]()
    assert type(told) is tw.Explanation
    assert str(told) == repr(told)
    assert told.to_graphviz().startswith("digraph plan {")
    assert told.to_mermaid().startswith("flowchart BT")
    assert set(Page(told._repr_html_()).tags) <= {"h4", "ul", "li", "b", "br", "small"}


@pytest.mark.parametrize("door", DOORS)
def test_a_saved_file_holds_what_its_suffix_says(door: str, tmp_path: Path) -> None:
    told = DOORS[door]()
    shown = {".txt": str(told), ".dot": told.to_graphviz(), ".mmd": told.to_mermaid()}
    for suffix, text in shown.items():
        path = tmp_path / f"plan{suffix}"
        told.save(path)
        assert path.read_bytes().decode("utf-8") == text.replace("\ud800", "\\ud800") + "\n"
    told.save(str(tmp_path / "PLAN.TXT"))  # a text, and a suffix in capitals
    assert (tmp_path / "PLAN.TXT").read_bytes() == (tmp_path / "plan.txt").read_bytes()


def escaped(text: str) -> str:
    return text.replace("\ud800", "\\ud800").replace("\n", "\\n")


@pytest.mark.parametrize("door", DOORS)
def test_a_saved_page_is_whole_and_runs_nothing(door: str, tmp_path: Path) -> None:
    told = DOORS[door]()
    told.save(tmp_path / "plan.html")
    text = (tmp_path / "plan.html").read_bytes().decode("utf-8")
    assert text.startswith('<!doctype html>\n<html lang="en">')
    page = Page(text)
    assert page.open == []
    assert page.tags[:6] == ["html", "head", "meta", "meta", "title", "style"]
    assert page.attributes["meta"][0] == {"charset": "utf-8"}
    assert set(page.tags[6:]) <= {"body", "h1", "h4", "ul", "li", "b", "br", "small"}
    assert not re.search(r"<script|javascript:|\son\w+=|https?://", text, flags=re.I)
    body = "".join(page.text)
    for title, _ in told.plans:
        assert escaped(title) in body
    for paragraph in told.paragraphs:
        for line in paragraph.lines:
            assert escaped(line) in body
    assert escaped(told.of) in page.text


def test_saving_replaces_what_is_there(tmp_path: Path) -> None:
    path = tmp_path / "plan.txt"
    path.write_text("x" * 100_000, "utf-8")
    a_query().save(path)
    assert path.read_text("utf-8") == f"{a_query()}\n"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("plan.png", r"ends with '.png', which is not a known format; use \.txt, \.html, \.svg .*, \.dot .* or \.mmd"),
        ("plan.htm", r"ends with '.htm', .* \(did you mean '\.html'\?\)"),
        (
            "plan.svg",
            r"no curves to draw, because no plans were compared .*; .* use \.dot \(Graphviz\) or \.mmd",
        ),
        ("plan", "has no suffix"),
        (".txt", "has no suffix"),  # a hidden file of that name
        ("missing/plan.txt", "there is no folder '.*missing'; create it first"),
        ("folder.txt", "this is a folder; give the name of a file in it"),
        ("nu\0ll.txt", "cannot be written"),
        ("file.txt/plan.txt", "cannot be written"),
    ],
)
def test_a_path_that_cannot_be_written_is_refused_with_a_remedy(tmp_path: Path, name: str, said: str) -> None:
    (tmp_path / "folder.txt").mkdir()
    (tmp_path / "file.txt").write_text("")
    before = sorted(tmp_path.iterdir())
    with pytest.raises(tw.PlanError, match=f"^save\\(.*{said}"):
        a_query().save(tmp_path / name)
    assert sorted(tmp_path.iterdir()) == before


def with_curves() -> Explanation:
    """An explanation with a picture, all names of which are hard to write."""
    told: Explanation = DOORS["nasty"]()
    return dataclasses.replace(told, curves=PlanCurves(NASTY, (CURVE,), by=1.0))


@pytest.mark.parametrize("name", ["plan.svg", "PLAN.SVG"])
def test_curves_are_saved_as_a_picture(tmp_path: Path, name: str) -> None:
    told = with_curves()
    assert told.curves is not None
    told.save(tmp_path / name)
    written = (tmp_path / name).read_bytes().decode("utf-8")
    assert written == curves_as_svg(told.curves)
    root = ElementTree.fromstring(written)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert root[0].text == escaped(NASTY)


def test_pages_and_notebooks_show_the_same_picture(tmp_path: Path) -> None:
    told = with_curves()
    assert told.curves is not None
    picture = curves_as_svg(told.curves)
    told.save(tmp_path / "plan.html")
    text = (tmp_path / "plan.html").read_text("utf-8")
    assert text.count("<svg ") == text.count(picture) == 1
    assert picture in told._repr_html_()
    page = Page(text)
    assert page.open == []
    assert not re.search(r"<script|javascript:|\son\w+=|https?://", text.replace(SVG_NAMES, ""), flags=re.I)
    # it follows the plans, and comes before the paragraphs
    assert text.index("<ul style") < text.index("<svg ") < text.rindex("<h4>")


def test_the_title_of_a_page_names_what_is_explained(tmp_path: Path) -> None:
    assert [DOORS[door]().of for door in ("filters", "join", "query")] == [
        "Filters bool",
        "Join of a and b",
        "Query large",
    ]


def test_sentences_are_wrapped_and_other_lines_are_not() -> None:
    long = "word " * 40
    text = str(
        Explanation(
            "", "", (("Plan", TreeItem("Input")),), (Paragraph("One", (long,)), Paragraph("Two", (long,), True))
        )
    )
    one, two = text.partition("\n\nTwo\n")[::2]
    assert f"  {long}" in one
    assert max(map(len, two.splitlines())) <= 100
    assert two.split() == long.split()


def test_a_paragraph_without_lines_is_not_shown() -> None:
    told = Explanation("", "", (("Plan", TreeItem("Input")),), (Paragraph("Notes", ()),))
    assert str(told) == "Plan\nInput"
    assert "Notes" not in told._repr_html_()
    assert told.notes == told.lines("Nothing") == ()
