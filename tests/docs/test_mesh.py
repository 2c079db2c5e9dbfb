"""The page on query meshes: its trees are printed as reports print them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from thalweg.optimizer.mesh.mesh import Mesh
from thalweg.optimizer.mesh.mesh_search import SEARCHES
from thalweg.optimizer.mesh.redaction import redacted_tree
from thalweg.optimizer.mesh.starts import STARTS
from thalweg.optimizer.mesh.tree import CutNode, Leaf, RouteTree, ValueNode
from thalweg.report.mesh_tree import MeshWords
from thalweg.report.mesh_view import MeshView

PAGE = (Path(__file__).parents[2] / "docs" / "mesh.md").read_text(encoding="utf-8")
NAMES = ("bot", "geo", "spam")


def by_source(*, redact: bool = False) -> MeshView:
    by_size = CutNode("size", "number", 2048.0, Leaf(1, 0.2), Leaf(2, 0.05), Leaf(2), Leaf(2))
    known = (((b"web", b"api"), Leaf(0, 0.6)), ((b"mail",), by_size))
    tree = RouteTree(ValueNode("source", "text", known, Leaf(2), Leaf(2, 0.15)))
    mesh = Mesh(tree, ((0, 1, 2), (2, 1, 0), (1, 0, 2)), 3)
    counts: dict[str, Any] = {"rows": (600, 200, 200), "evaluated": (660, 240, 380), "ns": (714e3, 299e3, 439e3)}
    stored = mesh.to_dict()
    if redact:
        stored["tree"] = redacted_tree(stored["tree"])
    return MeshView.of(
        stored, NAMES, **counts, predicted_saving_ns=600, realized_saving_ns=540, routing_share=0.018
    )  # fmt: skip


def by_sector() -> MeshView:
    known = (((b"tech",), Leaf(2)), ((b"oil",), Leaf(0)), ((b"health",), Leaf(1)))
    tree = RouteTree(ValueNode("sector", "text", (known[1], known[0], known[2]), Leaf(0), Leaf(0)))
    mesh = Mesh(tree, ((0, 2, 1), (1, 0, 2), (2, 1, 0)), 2)
    counts: dict[str, Any] = {"rows": (334, 333, 333), "evaluated": (474, 400, 400), "ns": (77_154, 1, 1)}
    return MeshView.of(mesh.to_dict(), ("b", "c", "d"), **counts, words=MeshWords("a", "probe"))


def printed() -> list[str]:
    return re.findall(r"\n\n```\n(.*?)^```$", PAGE, flags=re.S | re.M)


def test_the_page_shows_trees_as_reports_print_them() -> None:
    _, tree, one_route, of_join, redacted = printed()
    assert f"{by_sector()}\n".startswith(of_join)
    assert tree == f"{by_source()}\n"
    assert f"{by_source(redact=True)}\n".startswith(redacted)
    why = "the best mesh saves 12 ns per row, less than its routing takes"
    mesh = Mesh.one_route((2, 1, 0)).to_dict()
    assert one_route == f"{MeshView.of(mesh, NAMES, rows=[1000], evaluated=[1600], ns=[1.9e6], why=why)}\n"


def test_the_page_names_all_searches_and_start_solutions() -> None:
    table = PAGE.partition("## Settings")[2].partition("\n## ")[0]
    named = set(re.findall(r'`"([\w-]+)"`', table))
    assert named == {*SEARCHES, *STARTS}
