"""explain: what it prints is what runs, in four forms that their readers accept."""

from __future__ import annotations

import re
import shutil
import subprocess
from html.parser import HTMLParser
from typing import Any

import pytest

from tests.plan.sql.small_streams import TCP, UDP, oracle, small_session
from thalweg.draw.plan_tree import TreeItem, as_graphviz, as_html, as_mermaid, as_text

NASTY = "<b>&amp;\"'`\\n{}[]|; -->\n\\"
QUERIES = {
    "filter": ("SELECT size FROM tcp WHERE size > 5 AND host <> :nasty AND probe(host)", {"nasty": NASTY}),
    "join": (
        'SELECT t.size AS `a "b" <c>`, u.host FROM tcp [RANGE 1 MINUTE] AS t, udp [RANGE 1 MINUTE] AS u '
        "WHERE t.size = u.size AND t.size > 5 AND t.ts < u.ts AND (t.host <> :nasty OR u.size = 1)",
        {"nasty": NASTY},
    ),
    "table": ("SELECT size, kind FROM tcp, hosts WHERE tcp.host = hosts.host AND upper(kind) <> 'X'", {}),
    "groups": (
        "SELECT host, count(*) AS n, window_end FROM tcp [RANGE 1 MINUTE SLIDE 30 SECONDS] WHERE size > 0 "
        "GROUP BY host HAVING count(*) > 1 AND max(host) <> :nasty",
        {"nasty": NASTY},
    ),
    "joined groups": (
        "SELECT t.host, sum(u.size) AS s FROM tcp [RANGE 1 HOUR] AS t, udp [RANGE 1 HOUR] AS u WHERE t.size = u.size "
        "GROUP BY t.host, TUMBLE(5 MINUTES)",
        {},
    ),
    "three": (
        "SELECT t.host FROM tcp AS t, udp AS u, udp AS v WHERE t.size = u.size AND u.size = v.size "
        "AND t.size + v.size > 3 WINDOW 5 MINUTES",
        {},
    ),
}


def query(name: str) -> Any:
    """Of a new session."""
    text, args = QUERIES[name]
    return small_session().query(text, args=args)


class Balance(HTMLParser):
    """Tags that are opened are closed, in their order; keeps the text."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.text: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Open a tag, unless it is one without an end."""
        self.tags.add(tag)
        if tag not in ("br", "hr", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """Close the tag that was opened last."""
        assert self.open, tag
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Collect the text between tags."""
        self.text.append(data)


def parsed_html(text: str) -> Balance:
    """Balanced to the end."""
    found = Balance()
    found.feed(text)
    found.close()
    assert found.open == []
    return found


DOT = re.compile(r'\s*(?:(?P<string>"(?:[^"\\]|\\.)*")|(?P<word>\w+|->)|(?P<sign>[{}\[\];,=]))', re.DOTALL)


def parsed_dot(text: str) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """Nodes with their labels, and edges: as much of Graphviz' grammar as is written."""
    tokens, at = [], 0
    while at < len(text.rstrip()):
        found = DOT.match(text, at)
        assert found is not None, text[at : at + 40]
        tokens.append(found[0].strip())
        at = found.end()
    assert tokens[:3] == ["digraph", "plan", "{"]
    assert tokens[-1] == "}"
    nodes, edges, statement = {}, [], []
    for token in tokens[3:-1]:
        if token != ";":
            statement.append(token)
            continue
        if "->" in statement:
            edges.append((statement[0], statement[2]))
            assert len(statement) == 3
        elif statement[1] == "[" and statement[0] != "node":
            assert statement[2:4] == ["label", "="]
            assert statement[5:] == ["]"]
            nodes[statement[0]] = statement[4]
        statement = []
    assert statement == []
    return nodes, edges


def parsed_mermaid(text: str) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """Nodes with their labels, and edges."""
    first, *lines = text.split("\n")
    assert first == "flowchart BT"
    nodes, edges = {}, []
    for line in lines:
        if node := re.fullmatch(r'  (n\d+)\["([^"]*)"\]', line):
            nodes[node[1]] = node[2]
        else:
            edge = re.fullmatch(r"  (n\d+) --> (n\d+)", line)
            assert edge, line
            edges.append((edge[1], edge[2]))
    return nodes, edges


def operators(node: TreeItem) -> list[str]:
    """Names, each before its inputs'."""
    return [node.name, *(name for child in node.inputs for name in operators(child))]


def details(node: TreeItem) -> list[str]:
    """All that is said."""
    return [*node.details, *(text for child in node.inputs for text in details(child))]


@pytest.mark.parametrize("name", QUERIES)
def test_the_four_forms_say_the_same(name: str) -> None:
    told = query(name).explain()
    tree, count = told.physical, len(operators(told.physical))
    for nodes, edges in (parsed_dot(told.to_graphviz()), parsed_mermaid(told.to_mermaid())):
        assert len(nodes) == count
        assert len(edges) == count - 1
        assert {end for edge in edges for end in edge} <= set(nodes)
        assert len({below for below, _ in edges}) == count - 1  # a tree: all but the root flow into one
    html = parsed_html(told._repr_html_())
    assert html.tags <= {"h4", "ul", "li", "b", "br", "small"}  # nothing of the user's became a tag
    shown = "".join(html.text)
    text = str(told)
    for each in (*details(tree), *details(told.logical), *told.estimates, *told.adapts, *told.notes, *told.columns):
        assert each in shown
        assert each in text
    assert text == repr(told)


@pytest.mark.parametrize("name", QUERIES)
def test_text_is_one_line_a_thing(name: str) -> None:
    tree = query(name).explain().physical
    assert len(as_text(tree).split("\n")) == sum(max(len(n.details), 1) for n in nodes_of(tree))


def nodes_of(node: TreeItem) -> list[TreeItem]:
    """Return all nodes of a plan."""
    return [node, *(each for child in node.inputs for each in nodes_of(child))]


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
@pytest.mark.parametrize("name", QUERIES)
def test_graphviz_reads_it(name: str) -> None:
    dot = query(name).explain().to_graphviz()
    subprocess.run(["dot", "-Tsvg"], input=dot.encode(), check=True, capture_output=True, timeout=30)


def test_nothing_a_user_writes_breaks_a_form() -> None:
    tree = TreeItem(NASTY, (NASTY, NASTY), (TreeItem("Stream", (NASTY,)),))
    nodes, _ = parsed_dot(as_graphviz(tree))
    assert len(nodes) == 2
    labels, _ = parsed_mermaid(as_mermaid(tree))
    assert len(labels) == 2
    assert parsed_html(as_html(tree)).tags == {"ul", "li", "b", "br", "small"}
    assert len(as_text(tree).split("\n")) == 3


@pytest.mark.parametrize("name", QUERIES)
def test_the_plan_that_is_printed_is_the_plan_that_runs(name: str) -> None:
    asked = query(name)
    plan = asked.plan
    before = asked.explain()
    asked.dataframe()
    assert asked.plan is plan  # running makes no other
    told = details(before.physical)
    for scan in plan.scans:
        assert f"reads {', '.join(scan.columns)}" in told
        for condition in scan.conditions:
            assert any(each.startswith(f"{condition.text}  (") for each in told)
        for column, _ in scan.computed:
            assert any(each.endswith(f"AS `{column}`") for each in told)
    for condition in plan.conditions:
        assert any(each.startswith(f"{condition.text}  (") for each in told)
    if plan.join is not None:
        for equality in plan.join.equalities:
            assert equality.text in told
        for residual in plan.join.residuals:
            assert f"{residual.text}  (checked on joined rows)" in told
        assert any(each.startswith(f"first order {', '.join(plan.join.order)}: ") for each in told)
    kinds = operators(before.physical)
    assert kinds[0] == "Project"
    assert kinds.count("Join") == (plan.join is not None)
    assert kinds.count("Aggregate") == (plan.query.grouping is not None)
    assert kinds.count("Stream") + kinds.count("Table") == len(plan.scans)
    assert before.columns == tuple(f"{field.name}: {field.type}" for field in asked.schema)
    assert asked.dataframe().schema == asked.schema


def test_what_was_counted_stands_beside_what_was_estimated() -> None:
    s = small_session()
    s.stream("tcp", TCP, time="ts", statistics={"rows_per_second": 2, "distinct": {"size": 4}})
    s.stream("udp", UDP, time="ts", statistics={"rows_per_second": 1, "distinct": {"size": 3}})
    asked = s.query(
        "SELECT t.size FROM tcp [RANGE 10 SECONDS] AS t, udp [RANGE 10 SECONDS] AS u "
        "WHERE t.size = u.size AND t.size > 5 AND t.host <> 'x'"
    )
    # 20 rows, a third of them above 5, nine tenths of those not x; over 4 values
    estimated = (
        "t: 1.5 partners per row of u, 77.7 % of rows find one, declared: 4 distinct values of size, 20 rows, of which "
        "filters keep 30 %, assumed",
        "u: 3.33 partners per row of t, 96.4 % of rows find one, declared: 3 distinct values of size, 10 rows",
    )
    assert asked.explain().estimates == estimated
    assert not any("counted" in each for each in details(asked.explain().physical))
    results = asked.dataframe().num_rows
    other = oracle()
    passed = "SELECT count(*) FROM tcp WHERE size > 5 AND host <> 'x'"
    ((kept,),) = other.sql(passed).fetchall()
    after = asked.explain()
    # each is one batch, and tcp begins: its rows find no rows to probe, and all others probe them
    ((looked, found),) = other.sql("""SELECT count(*), count(*) FILTER (EXISTS (FROM tcp WHERE tcp.size = udp.size
        AND tcp.size > 5 AND host <> 'x' AND abs(epoch(tcp.ts) - epoch(udp.ts)) <= 10)) FROM udp""").fetchall()
    assert 0 < found < looked
    expected = (
        f"{estimated[0]}; counted: {TCP.num_rows} rows in, {kept} kept ({100 * kept / TCP.num_rows:.3g} %), "
        f"{kept} rows to the join, {100 * found / looked:.3g} % of {looked} probes of it found a partner",
        f"{estimated[1]}; counted: {UDP.num_rows} rows to the join",
    )
    assert after.estimates == expected
    assert f"counted: {results:,} results" in details(after.physical)
    assert any(each.startswith(f"counted: {TCP.num_rows} rows in, {kept} kept (") for each in details(after.physical))


def test_what_may_adapt_is_told() -> None:
    assert query("filter").explain().adapts == ("the order of the 3 filters of tcp",)
    assert query("three").explain().adapts == (
        "for new rows of each stream, the order in which the other 2 windows are probed",
        "which sub-joins are kept",
    )
    assert query("joined groups").explain().adapts == ("nothing: only one order is possible",)


def test_the_logical_and_the_physical_plan() -> None:
    told = small_session().query("SELECT size FROM tcp WHERE size > 2 + 3 AND size > 7 AND 1 = 1").explain()
    assert operators(told.logical) == ["Select", "Where", "Stream"]
    assert details(told.logical) == ["size", "tcp.size > 2 + 3", "tcp.size > 7", "1 = 1", "tcp"]
    assert "tcp.size > 7  (Arrow)" in details(told.physical)
    assert told.notes == (
        "1 = 1 is always true and is removed",
        "tcp.size > 5 AND tcp.size > 7 is simplified to tcp.size > 7",
    )


def test_a_window_that_bounds_nothing_is_told() -> None:
    told = small_session().query("SELECT size FROM tcp WINDOW 1 MINUTE").explain()
    assert "its window has no effect, because no rows are kept" in details(told.physical)
