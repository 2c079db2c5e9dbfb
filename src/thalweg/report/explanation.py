"""The object that `explain()` returns for filters, joins and queries: plans as trees, and paragraphs about them.

>>> tree = TreeItem("Filter", ("one condition", "size > 5"), (TreeItem("Stream", ("packets",)),))
>>> notes = Paragraph("Notes", ("it is a short one",))
>>> example = Explanation("a query", "this process", (("Plan", tree),), (notes,))
>>> print(example)
Plan
Filter one condition
│   size > 5
└─ Stream packets
<BLANKLINE>
Notes
  it is a short one
"""

from __future__ import annotations

from dataclasses import dataclass

from thalweg.draw.html import list_items, scrolled
from thalweg.draw.plan_curves import PlanCurves
from thalweg.draw.plan_picture import curves_as_svg
from thalweg.draw.plan_tree import TreeItem, as_graphviz, as_html, as_mermaid, as_text
from thalweg.draw.svg import escaped
from thalweg.errors import PlanError
from thalweg.formatting import wrapped
from thalweg.optimizer.joins.plan_choice import Candidate
from thalweg.printable import printable
from thalweg.report.mesh_view import MeshView
from thalweg.report.view import Form, View

ESTIMATES, ADAPTS, NOTES, RESULT = "Estimates", "May adapt while it runs", "Notes", "Result"
SINK = "Who writes the results"
"""Titles of paragraphs that `Explanation` also has as attributes."""


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph of an explanation: a title and the lines below it."""

    title: str
    lines: tuple[str, ...]
    wrapped: bool = False
    """Whether its lines are sentences, which are wrapped to the width of a terminal when printed."""

    def __str__(self) -> str:
        lines = [
            each
            for line in self.lines
            for each in (wrapped(line, 2, further=4) if self.wrapped else [f"  {printable(line)}"])
        ]
        return "\n".join([printable(self.title), *lines])

    def as_html(self) -> str:
        """Return it as an HTML heading and list."""
        return f"<h4>{escaped(self.title)}</h4><ul>{list_items(self.lines)}</ul>"


@dataclass(frozen=True, repr=False)
class Explanation(View):
    """The explanation of filters, of a join or of a query.

    Print it, leave it as the last line of a notebook cell, or write it to a file: ``explanation.save("plan.html")``.
    ``to_graphviz()`` and ``to_mermaid()`` draw the plan that runs, and beside it the meshes of the latest run. If plans
    were compared over time, pages and notebooks show their curves, and ``explanation.save("plan.svg")`` writes them as
    a picture.
    """

    of: str
    """A short name for what is explained, such as "Query q"."""
    where: str
    """Where it runs, such as "this process"; empty if that is not known."""
    plans: tuple[tuple[str, TreeItem], ...]
    """Plans with their titles; the last one is the plan that runs."""
    paragraphs: tuple[Paragraph, ...]
    candidates: tuple[Candidate, ...] = ()
    """The plans of the join that were compared, the chosen one first; empty if too little was known."""
    curves: PlanCurves | None = None
    """What the plans that were compared are predicted to return over time, and what was measured; None if no plans were
    compared over time."""
    meshes: tuple[tuple[str, MeshView], ...] = ()
    """The meshes of the latest run with their titles; empty if all rows took one route, or if nothing has run."""

    @property
    def logical(self) -> TreeItem:
        """The plan as written. For filters and joins, this is the plan that runs."""
        return self.plans[0][1]

    @property
    def physical(self) -> TreeItem:
        """The plan that is executed."""
        return self.plans[-1][1]

    @property
    def estimates(self) -> tuple[str, ...]:
        """The estimates, and what was counted if it ran."""
        return self.lines(ESTIMATES)

    @property
    def adapts(self) -> tuple[str, ...]:
        """What may change while it runs. The result never changes."""
        return self.lines(ADAPTS)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes, such as the changes that the optimizer made."""
        return self.lines(NOTES)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the result with their types; empty if they are not known."""
        return self.lines(RESULT)

    def lines(self, title: str) -> tuple[str, ...]:
        """Return the lines of a paragraph.

        Parameters
        ----------
        title
            The title of the paragraph, such as ``"Settings"``.

        Returns
        -------
        tuple of str
            Empty if there is no paragraph with this title.

        Examples
        --------
        >>> import thalweg as tw
        >>> explanation = tw.filters(tw.predicate(str.isdigit, "code")).explain()
        >>> explanation.lines("Settings")[0]
        "a row that fails stops the query (on_error='raise')"
        """
        return next((each.lines for each in self.paragraphs if each.title == title), ())

    def to_graphviz(self) -> str:
        """Return the plan that runs, and the meshes of the latest run, in the DOT language of Graphviz.

        Returns
        -------
        str

        Examples
        --------
        >>> import thalweg as tw
        >>> explanation = tw.filters(tw.predicate(str.isdigit, "code")).explain()
        >>> print(explanation.to_graphviz().splitlines()[0])
        digraph plan {
        """
        return as_graphviz(self.physical, beside=self._drawn_meshes())

    def to_mermaid(self) -> str:
        """Return the plan that runs, and the meshes of the latest run, as a Mermaid diagram, for Markdown.

        Returns
        -------
        str

        Examples
        --------
        >>> import thalweg as tw
        >>> explanation = tw.filters(tw.predicate(str.isdigit, "code")).explain()
        >>> print(explanation.to_mermaid())
        flowchart BT
          n0["Filter<br/>one predicate<br/>isdigit: reads code  (Python)"]
          n1["Input<br/>reads code"]
          n1 --> n0
        """
        return as_mermaid(self.physical, beside=self._drawn_meshes())

    def _forms(self) -> dict[str, Form]:
        return {
            ".txt": Form(self.__str__), ".html": Form(self._page), ".svg": Form(self._picture, "curves of plans"),
            ".dot": Form(self.to_graphviz, "Graphviz"), ".mmd": Form(self.to_mermaid, "Mermaid"),
        }  # fmt: skip

    def _drawn_meshes(self) -> list[tuple[str, TreeItem]]:
        return [(title, mesh.drawn()) for title, mesh in self.meshes]

    def __str__(self) -> str:
        plans = [f"{printable(title)}\n{as_text(tree)}" for title, tree in self.plans]
        plans += [f"{printable(title)}\n{mesh}" for title, mesh in self.meshes]
        return "\n\n".join([*plans, *(str(each) for each in self.paragraphs if each.lines)])

    def _repr_html_(self) -> str:
        plans = [f"<h4>{escaped(title)}</h4>{as_html(tree)}" for title, tree in self.plans]
        plans += [f"<h4>{escaped(title)}</h4>{mesh._repr_html_()}" for title, mesh in self.meshes]
        if self.curves:
            plans.append(scrolled(self._picture()))
        return "".join([*plans, *(each.as_html() for each in self.paragraphs if each.lines)])

    def _picture(self) -> str:
        """Return the curves of the plans as SVG."""
        if self.curves is None:
            raise PlanError(
                "there are no curves to draw, because no plans were compared over time; to draw the plan that runs, "
                "use .dot (Graphviz) or .mmd (Mermaid)"
            )
        return curves_as_svg(self.curves)

    def _title(self) -> str:
        return self.of
