"""A mesh as a user sees it: its tree, what each route costs, and what the mesh saves.

>>> leaf = {"route": 0, "share": 0.25}
>>> tree = {"column": "source", "kind": "text", "branches": [[["web"], {"route": 1, "share": 0.75}], [["db"], leaf]],
...         "null": {"route": 0}, "other": {"route": 0}}
>>> mesh = {"tree": tree, "routes": [[1, 0], [0, 1]], "version": 3}
>>> print(MeshView.of(mesh, ("slow", "cheap"), rows=(100, 300), evaluated=(110, 360), ns=(110e3, 402e3),
...                   predicted_saving_ns=350.0, realized_saving_ns=320.0, routing_share=0.012))
Mesh version 3: 2 routes by source
├─ source is 'web': route 2
│      slow → cheap
│      75 % of the rows, 1.2 evaluations and 1.3 µs per row
└─ source is 'db', null or any other value: route 1
       cheap → slow
       25 % of the rows, 1.1 evaluations and 1.1 µs per row
  320 ns per row less than with one route (20 %); predicted: 350 ns less
  routing takes 1.2 % of the time of these rows
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from thalweg.draw.html import paragraph
from thalweg.draw.plan_tree import TreeItem, as_graphviz, as_html, as_mermaid, as_text
from thalweg.formatting import duration, percent, wrapped
from thalweg.report.mesh_tree import OF_FILTERS, MeshWords, RouteReport, columns_of, mesh_tree, routes_of, unreached
from thalweg.report.view import Form, View


@dataclass(frozen=True, repr=False)
class MeshView(View):
    """A mesh and what was counted with it. Print it, leave it as the last line of a notebook cell, or save it.

    Routes are numbered from 1 in texts and pictures; in ``tree`` they are positions in ``routes``.
    """

    version: int
    """The number of the mesh, which records name too."""
    tree: Mapping[str, Any]
    """The classifier, as plain values."""
    routes: tuple[RouteReport, ...]
    predicted_saving_ns: float | None = None
    """The predicted saving per row over one route for all rows, when the mesh was adopted; None if it is not known."""
    realized_saving_ns: float | None = None
    """The saving per row over one route since then; None if it is not known."""
    routing_share: float | None = None
    """The share of the time that classifying and dividing rows takes; None if it is not known."""
    why: str = ""
    """Why there is one route only, or why this mesh was adopted; empty if no reason is known."""
    words: MeshWords = OF_FILTERS
    """The words for the rows and predicates of this mesh, which are rows and probes of a stream in a join."""

    @classmethod
    def of(
        cls, mesh: Mapping[str, Any], names: Sequence[str], *, rows: Sequence[int] = (), evaluated: Sequence[int] = (),
        ns: Sequence[float] = (), predicted_saving_ns: float | None = None, realized_saving_ns: float | None = None,
        routing_share: float | None = None, why: str = "", words: MeshWords = OF_FILTERS,
    ) -> MeshView:  # fmt: skip
        """Make it from a stored mesh.

        Parameters
        ----------
        mesh
            What `Mesh.to_dict` returned.
        names
            The names of the predicates, by number.
        rows
            By route, the rows that took it. Empty if nothing was counted yet, as `evaluated` and `ns`.
        evaluated
            By route, the evaluations on these rows.
        ns
            By route, the time of these evaluations.
        predicted_saving_ns
            The predicted saving per row over one route.
        realized_saving_ns
            The saving per row since the mesh was adopted.
        routing_share
            The share of the time of rows on routes that routing takes.
        why
            Why there is one route only, or why this mesh was adopted. It is shown as it is.
        words
            The words for rows and evaluations.

        Returns
        -------
        MeshView
        """
        orders = [tuple(names[k] for k in route) for route in mesh["routes"]]
        nothing = (0,) * len(orders)
        counts = zip(orders, rows or nothing, evaluated or nothing, ns or (None,) * len(orders), strict=True)
        routes = tuple(RouteReport(*each) for each in counts)
        return cls(
            mesh["version"], mesh["tree"], routes, predicted_saving_ns, realized_saving_ns, routing_share, why, words
        )  # fmt: skip

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that decide on the route of a row."""
        return columns_of(self.tree)

    def to_dict(self) -> dict[str, Any]:
        """Return the mesh as plain values, ready for JSON.

        Returns
        -------
        dict

        Examples
        --------
        >>> view = MeshView.of({"tree": {"route": 0}, "routes": [[1, 0]], "version": 0}, ("slow", "cheap"))
        >>> view.to_dict()["routes"]
        [{'order': ['cheap', 'slow'], 'rows': 0, 'evaluated': 0, 'ns': None}]
        """
        return {
            "version": self.version, "tree": self.tree,
            "routes": [
                {"order": list(route.order), "rows": route.rows, "evaluated": route.evaluated, "ns": route.ns}
                for route in self.routes
            ],
            "predicted_saving_ns": self.predicted_saving_ns, "realized_saving_ns": self.realized_saving_ns,
            "routing_share": self.routing_share, "why": self.why,
        }  # fmt: skip

    def to_graphviz(self) -> str:
        """Return the tree in the DOT language of Graphviz; rows flow downwards.

        Returns
        -------
        str

        Examples
        --------
        >>> view = MeshView.of({"tree": {"route": 0}, "routes": [[1, 0]], "version": 0}, ("slow", "cheap"))
        >>> print(view.to_graphviz().splitlines()[0])
        digraph mesh {
        """
        return as_graphviz(self.drawn(), name="mesh", downwards=True)

    def to_mermaid(self) -> str:
        """Return the tree as a Mermaid diagram, for Markdown; rows flow downwards.

        Returns
        -------
        str

        Examples
        --------
        >>> view = MeshView.of({"tree": {"route": 0}, "routes": [[1, 0]], "version": 0}, ("slow", "cheap"))
        >>> print(view.to_mermaid())
        flowchart TB
          n0["One route:<br/>cheap → slow"]
        """
        return as_mermaid(self.drawn(), downwards=True)

    def _forms(self) -> dict[str, Form]:
        return {
            ".txt": Form(self.__str__), ".html": Form(self._page), ".dot": Form(self.to_graphviz, "Graphviz"),
            ".mmd": Form(self.to_mermaid, "Mermaid"),
        }  # fmt: skip

    def __str__(self) -> str:
        facts = [line for fact in self._facts() for line in wrapped(fact, 2)]
        return "\n".join([as_text(self.drawn()), *facts])

    def _repr_html_(self) -> str:
        facts = self._facts()
        return as_html(self.drawn()) + (paragraph(*facts) if facts else "")

    def _title(self) -> str:
        return f"Mesh{f' of {self.words.rows}' if self.words.rows else ''}, version {self.version}"

    def drawn(self) -> TreeItem:
        """Return the tree as it is drawn."""
        return mesh_tree(self.tree, self.routes, self.version, self.words)

    def _facts(self) -> list[str]:
        """Return the lines below the tree."""
        facts = unreached(self.tree, self.routes)
        if self.realized_saving_ns is not None:
            facts.append(f"{_than_one_route(self.realized_saving_ns)}{self._in_percent()}{self._predicted('; ')}")
        elif self.predicted_saving_ns is not None:
            facts.append(f"{_than_one_route(self.predicted_saving_ns)}, as predicted; not measured yet")
        if self.routing_share is not None:
            facts.append(f"routing takes {percent(self.routing_share)} of the time of these rows")
        if self.why:
            what = "there is one route" if len(routes_of(self.tree)) == 1 else "this mesh is used"
            facts.append(f"why {what}: {self.why}")
        return facts

    def _predicted(self, before: str) -> str:
        saved = self.predicted_saving_ns
        return "" if saved is None else f"{before}predicted: {duration(abs(saved))} {_less(saved)}"

    def _in_percent(self) -> str:
        """Return the saving as a share of what one route would take, if that is known."""
        rows, saved = sum(route.rows for route in self.routes), self.realized_saving_ns
        if saved is None or not rows or any(route.rows and route.ns is None for route in self.routes):
            return ""
        one_route = sum(route.ns or 0.0 for route in self.routes) / rows + saved
        return f" ({percent(abs(saved) / one_route)})" if one_route > 0 else ""


def _than_one_route(saved_ns: float) -> str:
    return f"{duration(abs(saved_ns))} per row {_less(saved_ns)} than with one route"


def _less(saved_ns: float) -> str:
    return "less" if saved_ns >= 0 else "more"
