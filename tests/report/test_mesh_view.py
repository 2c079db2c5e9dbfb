"""A mesh as it is shown: the drawn tree sends every row where the tree does, and values of rows are harmless."""

from __future__ import annotations

import html
import json
import math
import re
import shutil
import subprocess
from html.parser import HTMLParser
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import thalweg as tw
from tests.long_run import examples
from thalweg.draw.plan_tree import TreeItem
from thalweg.optimizer.mesh.column_values import key_of
from thalweg.optimizer.mesh.mesh import Mesh
from thalweg.optimizer.mesh.redaction import redacted_tree
from thalweg.optimizer.mesh.tree import CutNode, Leaf, Node, RouteTree, ValueNode
from thalweg.report.mesh_tree import mesh_tree
from thalweg.report.mesh_view import MeshView
from thalweg.stats.training_set import Kind

NAMES = ("cheap", "slow", "rare", "odd")
ROUTES = tuple(permutations(range(4)))[:8]
KINDS: dict[str, Kind] = {"source": "text", "flag": "bool", "size": "number", "at": "time", "city": "text"}
HOSTILE = [
    "<script>alert(1)</script>", '"]; n9 [label="', "line\nbreak\r\u2028", "null", "'", "\\", "\\n", "&lt;", "#35;",
    "`md`", "*md*", "%%{init: {'theme': 'dark'}}%%", "\x00\x1b[31m\x7f", "\u202eevil", "\ufeff", "x" * 100_000,
    "é" * 40, "%s {0}", "any other value", "</ul>", "",
]  # fmt: skip
PLAIN = ["web", "app", "db", "log"]


class Page(HTMLParser):
    """The tags and the texts of a page, with their parents closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.open: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        if tag not in ("br", "meta"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def leaves() -> st.SearchStrategy[Leaf]:
    return st.builds(Leaf, st.integers(0, 7), st.sampled_from([0.0, 0.25, 0.5]))


def nodes(texts: list[str], depth: int = 2) -> st.SearchStrategy[Node]:
    """Trees over columns of all kinds, with these texts."""
    return leaves() if depth == 0 else st.one_of(leaves(), splits(texts, depth))


@st.composite
def splits(draw: st.DrawFn, texts: list[str], depth: int = 3) -> Node:
    column = draw(st.sampled_from(sorted(KINDS)))
    kind, below = KINDS[column], nodes(texts, depth - 1)
    if kind in ("number", "time"):
        cut = draw(st.sampled_from([-12_345.5, 0.125, 7.0, 1234.4, 1234.45, 1.7e15, 1e300, math.inf]))
        return CutNode(column, kind, cut, draw(below), draw(below), draw(below), draw(below))
    values: list[Any] = [False, True] if kind == "bool" else texts
    known = draw(st.lists(st.sampled_from(values), unique=True, max_size=8))
    at = draw(st.integers(0, len(known)))
    branches = tuple((tuple(map(key_of, group)), draw(below)) for group in (known[:at], known[at:]))
    return ValueNode(column, kind, branches, draw(below), draw(below))


def view_of(root: Node, *, redact: Any = False, **given: Any) -> MeshView:
    stored = json.loads(json.dumps(Mesh(RouteTree(root), ROUTES, 7).to_dict()))
    if redact:
        stored["tree"] = redacted_tree(stored["tree"])
    return MeshView.of(stored, NAMES, **given)


def reached(node: Node) -> set[int]:
    """The routes of leaves that some row can reach."""
    if isinstance(node, Leaf):
        return {node.route}
    children = list(node.children)
    if isinstance(node, ValueNode):
        children = [child for values, child in node.branches if values] + [node.null, node.other]
    elif node.cut == math.inf:
        children.remove(node.high)
    return set().union(*map(reached, children))


def order_of(route: int) -> str:
    return " → ".join(NAMES[k] for k in ROUTES[route])


def items(node: TreeItem) -> list[TreeItem]:
    return [node, *(each for child in node.inputs for each in items(child))]


def forms(view: MeshView) -> dict[str, str]:
    return {"text": str(view), "html": view._repr_html_(), "dot": view.to_graphviz(), "mermaid": view.to_mermaid()}


def follow(item: TreeItem, row: dict[str, Any]) -> str:
    """The order at the leaf that the words of a drawn tree lead to. Values contain no commas and no quotes."""
    while item.inputs:
        found = []
        for child in item.inputs:
            column, _, words = child.name.removesuffix(":").partition(" is ")
            value = row[column]
            words = words.replace(" or ", ", ")
            known = {word for each in item.inputs for word in re.findall(r"'\w+'|true|false", each.name)}
            word = "null" if value is None else str(value).lower() if isinstance(value, bool) else f"'{value}'"
            for part in words.split(", "):
                if part == word or (part == "any other value" and word not in {*known, "null"}):
                    found.append(child)
                elif part.startswith(("at most", "above")) and isinstance(value, float):
                    cut = float(part.rpartition(" ")[2].replace(",", ""))
                    if (value <= cut) == part.startswith("at most"):
                        found.append(child)
                elif value is not None and part == ("a number" if isinstance(value, float) else "not a number"):
                    found.append(child)
        (item,) = found
    return item.details[1] if item.details[0].startswith("route") else item.details[0]


ROWS: dict[str, list[Any]] = {
    "source": [*PLAIN, "unseen", None], "city": [*PLAIN, "unseen", None], "flag": [True, False, None],
    "size": [-1.0, 0.0, 7.0, 7.5, 9.0, None, "text"],
}  # fmt: skip


@st.composite
def readable(draw: st.DrawFn, depth: int = 3) -> Node:
    """Trees whose conditions a test can read: few values, and thresholds that few digits show exactly."""
    if depth == 0 or (depth < 3 and draw(st.booleans())):
        return draw(leaves())
    column = draw(st.sampled_from(sorted(ROWS)))
    below = readable(depth - 1)
    if column == "size":
        cut = draw(st.sampled_from([-1.0, 0.25, 7.0, math.inf]))
        return CutNode(column, "number", cut, draw(below), draw(below), draw(below), draw(below))
    values: list[Any] = [False, True] if column == "flag" else PLAIN
    known = draw(st.lists(st.sampled_from(values), unique=True, max_size=4))
    at = draw(st.integers(0, len(known)))
    branches = tuple((tuple(map(key_of, group)), draw(below)) for group in (known[:at], known[at:]))
    return ValueNode(column, KINDS[column], branches, draw(below), draw(below))


@examples(150, long=5_000)
@given(readable(), st.fixed_dictionaries({name: st.sampled_from(values) for name, values in ROWS.items()}))
def test_the_drawn_tree_leads_where_the_tree_does(root: Node, row: dict[str, Any]) -> None:
    view = view_of(root)
    drawn = mesh_tree(view.tree, view.routes, view.version)
    assert follow(drawn, row) == order_of(RouteTree(root).route_of(row))


@examples(80, long=2_000)
@given(splits(HOSTILE))
def test_every_form_shows_the_route_of_every_leaf(root: Node) -> None:
    routes = reached(root)
    for name, form in forms(view_of(root, rows=(1,) * 8, evaluated=(2,) * 8)).items():
        shown = html.unescape(form) if name == "html" else form
        for route in routes:
            assert order_of(route) in shown
        assert {int(n) - 1 for n in re.findall(r"(?:\b|\\n)route (\d)\b", shown)} >= (
            routes if len(routes) > 1 else set()
        )


@examples(80, long=2_000)
@given(splits(HOSTILE))
def test_values_cannot_break_a_form(root: Node) -> None:
    view = view_of(root, why=HOSTILE[0])
    drawn = items(mesh_tree(view.tree, view.routes, view.version))
    shown = forms(view)
    assert all(line.isprintable() for line in str(view).split("\n"))
    assert len(shown["text"].split("\n")) == sum(max(len(each.details), 1) for each in drawn) + 1  # and why
    page = Page(shown["html"])
    assert page.tags <= {"ul", "li", "b", "br", "small", "p"}
    for each in drawn:
        assert each.name in page.text
    head, *dot, end = shown["dot"].split("\n")
    assert (head, end, dot[0]) == ("digraph mesh {", "}", "  rankdir=TB;")
    for line in dot[2:]:
        assert re.fullmatch(r'  n\d+ \[label="(?:[^"\\]|\\["\\n])*"\];|  n\d+ -> n\d+;', line)
    labels = [line.partition('"')[2].rpartition('"')[0] for line in dot if "label" in line]
    assert [_undot(label) for label in labels] == ["\n".join((each.name, *each.details)) for each in drawn]
    first, *mermaid = shown["mermaid"].split("\n")
    assert first == "flowchart TB"
    for line in mermaid:
        assert re.fullmatch(r'  n\d+\["[^"`*]*"\]|  n\d+ --> n\d+', line)
        assert not re.search(r"<(?!br/>)|#(?!35;|37;|42;|96;)|%%", line)
    labels = [line.partition('"')[2].rpartition('"')[0] for line in mermaid if '"' in line]
    assert [_unmermaid(label) for label in labels] == ["\n".join((each.name, *each.details)) for each in drawn]
    assert len([line for line in mermaid if "-->" in line]) == len(drawn) - 1
    assert max(map(len, str(view).split("\n"))) < 600


def _unmermaid(label: str) -> str:
    """A label as Mermaid shows it."""
    return html.unescape(re.sub(r"#(\d+);", r"&#\1;", label.replace("<br/>", "\n")))


def _undot(label: str) -> str:
    """A label as Graphviz reads it."""
    escapes = {"\\n": "\n", "\\\\": "\\", '\\"': '"'}
    return html.unescape(re.sub(r"\\.", lambda found: escapes[found[0]], label))


@examples(80, long=2_000)
@given(splits([f"secret{n}" for n in range(12)]))
def test_redacted_meshes_contain_no_value(root: Node) -> None:
    open_, hidden = view_of(root), view_of(root, redact=True)
    stored = json.dumps(hidden.to_dict()).replace('"redacted": true', "")
    everything = "\n".join([*forms(hidden).values(), stored])
    assert not re.search(r"secret|12[,.]?345|0\.125|1[,.]?234|1\.7e|1e\+300|\b7\.0|2023|µs|true|false", everything)
    shape, hidden_shape = (items(mesh_tree(view.tree, view.routes, 7)) for view in (open_, hidden))
    assert [each.details for each in shape] == [each.details for each in hidden_shape]
    # equal values of a column have equal numbers, others have others; the first one has the number 1
    pairs: dict[str, set[Any]] = {"value": set(), "threshold": set()}
    _pair(open_.tree, hidden.tree, pairs)
    for word, found in pairs.items():
        assert {number for _, number in found} == {f"{word} {n + 1}" for n in range(len(found))}
        assert len({value for value, _ in found}) == len(found)
    assert view_of(root, redact=True) == hidden


def _pair(node: Any, hidden: Any, pairs: dict[str, set[Any]]) -> None:
    if "route" in node:
        assert hidden == node
        return
    place = node["column"], node["kind"]
    if "cut" in node:
        assert (node["cut"] is None) == (hidden["cut"] is None)
        if node["cut"] is not None:
            pairs["threshold"].add(((*place, node["cut"]), hidden["cut"]))
    for (group, child), (hidden_group, hidden_child) in zip(
        node.get("branches", ()), hidden.get("branches", ()), strict=True
    ):
        pairs["value"] |= {((*place, a), b) for a, b in zip(group, hidden_group, strict=True)}
        _pair(child, hidden_child, pairs)
    for name in ("low", "high", "null", "other"):
        if name in node:
            _pair(node[name], hidden[name], pairs)


def by_source() -> Node:
    by_size = CutNode("size", "number", 10.0, Leaf(2, 0.125), Leaf(1, 0.125), Leaf(1), Leaf(1))
    known = (((b"web", b"app"), Leaf(1, 0.5)), ((b"db",), by_size))
    return ValueNode("source", "text", known, Leaf(0, 0.25), Leaf(0))


COUNTED = {"rows": (100, 250, 50, 0, 0, 0, 0, 0), "evaluated": (100, 500, 60, 0, 0, 0, 0, 0)}


def test_a_counted_mesh_as_text() -> None:
    view = view_of(
        by_source(), **COUNTED, ns=(1e5, 5e5, 6e4, 0, 0, 0, 0, 0), predicted_saving_ns=500, realized_saving_ns=350,
        routing_share=0.0123, why="it saves more than its error",
    )  # fmt: skip
    assert (
        str(view)
        == """\
Mesh version 7: 3 routes by source and size
├─ source is 'web' or 'app': route 2
│      cheap → slow → odd → rare
│      50 % of the sampled rows
│      route 2 in all: 62.5 % of the rows, 2 evaluations and 2.0 µs per row
├─ source is 'db'
│  ├─ size is at most 10: route 3
│  │      cheap → rare → slow → odd
│  │      12.5 % of the rows, 1.2 evaluations and 1.2 µs per row
│  └─ size is above 10, null or not a number: route 2
│         cheap → slow → odd → rare
│         12.5 % of the sampled rows
│         route 2 in all: 62.5 % of the rows, 2 evaluations and 2.0 µs per row
└─ source is null or any other value: route 1
       cheap → slow → rare → odd
       25 % of the rows, 1 evaluation and 1.0 µs per row
  350 ns per row less than with one route (17.5 %); predicted: 500 ns less
  routing takes 1.23 % of the time of these rows
  why this mesh is used: it saves more than its error"""
    )


def test_a_redacted_mesh_as_mermaid() -> None:
    assert (
        view_of(by_source(), redact=True).to_mermaid()
        == """\
flowchart TB
  n0["Mesh<br/>version 7: 3 routes by source and size"]
  n1["source is value 1 or value 2:<br/>route 2<br/>cheap → slow → odd → rare<br/>50 % of the sampled rows"]
  n2["source is value 3"]
  n3["size is at most threshold 1:<br/>route 3<br/>cheap → rare → slow → odd<br/>12.5 % of the sampled rows"]
  n4["size is above threshold 1, null or not a number:<br/>route 2<br/>cheap → slow → odd → rare<br/>12.5 % of the \
sampled rows"]
  n5["source is null or any other value:<br/>route 1<br/>cheap → slow → rare → odd<br/>25 % of the sampled rows"]
  n0 --> n1
  n0 --> n2
  n2 --> n3
  n2 --> n4
  n0 --> n5"""
    )


def test_one_route_says_why() -> None:
    mesh = Mesh.one_route((1, 0)).to_dict()
    view = MeshView.of(mesh, NAMES, rows=[10], evaluated=[15], why="the sources hardly differ")
    assert str(view) == (
        "One route: slow → cheap\n    100 % of the rows, 1.5 evaluations per row\n"
        "  why there is one route: the sources hardly differ"
    )
    assert view.columns == ()
    assert str(MeshView.of(mesh, NAMES)) == "One route: slow → cheap"


@pytest.mark.parametrize(
    ("saved", "line"),
    [
        ({"realized_saving_ns": -165, "predicted_saving_ns": 500},
         "165 ns per row more than with one route (11.1 %); predicted: 500 ns less"),
        ({"realized_saving_ns": 20}, "20 ns per row less than with one route (1.2 %)"),
        ({"predicted_saving_ns": 500}, "500 ns per row less than with one route, as predicted; not measured yet"),
    ],
)  # fmt: skip
def test_the_saving_over_one_route(saved: dict[str, float], line: str) -> None:
    view = view_of(by_source(), **COUNTED, ns=(1e5, 5e5, 6e4, 0, 0, 0, 0, 0), **saved)  # 1,650 ns per row
    assert str(view).splitlines()[-1] == f"  {line}"


def test_rows_of_a_route_without_branches_are_shown() -> None:
    rows = (100, 250, 50, 0, 0, 1, 0, 0)
    assert str(view_of(by_source(), rows=rows)).splitlines()[-1] == (
        f"  1 row took route 6, to which no branch leads: {order_of(5)}"
    )


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (["a", "b", "c", "d"], "'a', 'b', 'c', 'd', null or any other value"),
        ([f"v{n}" for n in range(15)], "'v0', 'v1', 'v2' and 12 more, or null or any other value"),
        (["it's"], "'it\\'s', null or any other value"),
        (["a\n\u202e\x00"], "'a\\n\\u202e\\x00', null or any other value"),
        ([b"\xff\xfe"], "'\\xff\\xfe', null or any other value"),
        (["\ud800"], "'\\xed\\xa0\\x80', null or any other value"),
        (["a" * 60_000 + "é" * 20_000], f"'{'a' * 20}…{'é' * 12}' (100,000 bytes), null or any other value"),
        (["abcdefgh" * 6], "'abcdefghabcdefghabcd…fghabcdefghabcdefgh', null or any other value"),
        (["\n" * 30], "'" + "\\n" * 10 + "…" + "\\n" * 9 + "', null or any other value"),
    ],
)
def test_values_as_words(values: list[Any], words: str) -> None:
    node = ValueNode("source", "text", ((tuple(map(key_of, values)), Leaf(1)), ((b"x",), Leaf(0))), Leaf(1), Leaf(1))
    assert str(view_of(node)).splitlines()[1] == f"├─ source is {words}: route 2"


@pytest.mark.parametrize(
    ("kind", "cuts", "shown"),
    [
        ("number", [2.5, 1234.56], ["2.5", "1,235"]),
        ("number", [1000.1, 1000.2], ["1000.1", "1000.2"]),
        ("number", [-1234.5, 1e16], ["-1,234", "1e+16"]),
        ("time", [1_709_208_000e6, -1.0], ["2024-02-29 12:00:00", "1969-12-31 23:59:59.999999"]),
        ("time", [1e30, 0.0], ["1e+30 µs since 1970", "1970-01-01"]),
    ],
)
def test_thresholds_as_words(kind: Kind, cuts: list[float], shown: list[str]) -> None:
    inner = CutNode("c", kind, cuts[1], Leaf(0), Leaf(1), Leaf(0), Leaf(0))
    text = str(view_of(CutNode("c", kind, cuts[0], inner, Leaf(2), Leaf(2), Leaf(2))))
    for each in shown:
        assert re.search(rf"at most {re.escape(each)}(?:,|:|$)", text, flags=re.M)
        assert re.search(rf"above {re.escape(each)}(?:,|:|$)", text, flags=re.M)


def test_a_test_of_the_type_alone_names_the_type() -> None:
    node = CutNode("at", "time", math.inf, Leaf(0), Leaf(2), Leaf(1), Leaf(1))
    for redact in (False, True):
        drawn = str(view_of(node, redact=redact)).splitlines()
        assert [line for line in drawn if "is" in line] == [
            "├─ at is a time: route 1", "└─ at is null or not a time: route 2",
        ]  # fmt: skip


def test_names_of_columns_and_predicates_are_on_one_line() -> None:
    node = ValueNode("a\n<b>", "text", (((b"x",), Leaf(1)),), Leaf(0), Leaf(0))
    stored = Mesh(RouteTree(node), ((0, 1), (1, 0)), 1).to_dict()
    view = MeshView.of(stored, ("one\ntwo", "<i>"))
    assert str(view).splitlines()[:3] == [
        "Mesh version 1: 2 routes by a\\n<b>", "├─ a\\n<b> is 'x': route 2", "│      <i> → one\\ntwo",
    ]  # fmt: skip
    assert Page(view._repr_html_()).tags <= {"ul", "li", "b", "br", "small"}


def test_a_mesh_is_saved_by_its_suffix(tmp_path: Path) -> None:
    view = view_of(by_source())
    shown = {".txt": str(view), ".dot": view.to_graphviz(), ".mmd": view.to_mermaid()}
    for suffix, text in shown.items():
        view.save(tmp_path / f"mesh{suffix}")
        assert (tmp_path / f"mesh{suffix}").read_text("utf-8") == f"{text}\n"
    view.save(tmp_path / "mesh.html")
    page = Page((tmp_path / "mesh.html").read_text("utf-8"))
    assert "source is 'web' or 'app':" in page.text
    assert "script" not in page.tags
    with pytest.raises(tw.PlanError, match=r"ends with '.png'.*use \.txt, \.html, \.dot \(Graphviz\) or \.mmd"):
        view.save(tmp_path / "mesh.png")


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
def test_graphviz_reads_hostile_values() -> None:
    node = ValueNode("c", "text", ((tuple(map(key_of, HOSTILE)), Leaf(1)),), Leaf(0), Leaf(0))
    for view in (view_of(by_source()), view_of(node)):
        subprocess.run(["dot", "-Tsvg"], input=view.to_graphviz().encode(), check=True, capture_output=True, timeout=30)
