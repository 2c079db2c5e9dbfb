"""Explains the plan of a query: the query as it is written, the nodes that run with what was counted at each, what is
known of the sources, which plans of its join were compared, and what may change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from thalweg.draw.plan_tree import TreeItem
from thalweg.optimizer.joins.plan_choice import ComparedPlans
from thalweg.plan.expressions.expression import Expression, text_of
from thalweg.plan.joins.shape import to_text
from thalweg.plan.joins.window import as_written
from thalweg.plan.query.nodes import (
    Aggregate,
    Compute,
    Fail,
    Filter,
    Product,
    Scan,
    TableJoin,
    WindowJoin,
    subject,
    walk_up,
)
from thalweg.plan.query.nodes import Node as PlanNode
from thalweg.plan.query.plan_estimates import SourceEstimates
from thalweg.plan.query.query import Query, QuerySource
from thalweg.plan.query.query_plan import QueryPlan
from thalweg.report.explain.choice import explained_choice
from thalweg.report.explain.filter import FilterDescription, latest_meshes, or_nothing, rows_and_kept
from thalweg.report.explain.join import (
    NOTHING_RAN,
    JoinDescription,
    conditions_of,
    counted_results,
    counted_rows,
    spread_sentence,
)
from thalweg.report.explain.sources import rate_sentence, source_estimates
from thalweg.report.explanation import ADAPTS, ESTIMATES, NOTES, RESULT, SINK, Explanation, Paragraph
from thalweg.report.join_report import JoinReport
from thalweg.report.report import Report

Parts: TypeAlias = tuple[tuple[str, Report | JoinReport], ...]
NOTHING = Paragraph("", ())
SET_ASIDE = (
    "rows that fail are set aside: q.failed() returns them, and q.late() returns late rows, each in a separate run "
    "that reads the sources again"
)


@dataclass(frozen=True)
class QueryRun:
    """Where a query runs, and what is known of its latest run."""

    where: str
    """Such as "this process"."""
    is_finished: bool = False
    """Whether it runs on Spark over finished data."""
    parts: Parts = ()
    """The reports of its filters and its join, by name."""
    groups: str = ""
    """A sentence about the counts of grouped windows; empty if there are none."""
    compared: ComparedPlans | None = None
    """The plans of its join that were compared; None if it has no join of windows."""
    intervals: Paragraph = NOTHING
    """What is known of its micro-batches."""
    sink: tuple[str, ...] = ()
    """Who writes its results."""


def join_report(parts: Parts) -> JoinReport:
    """Return the report of the join of a query; an empty one if it has not run."""
    return next((part for _, part in parts if isinstance(part, JoinReport)), NOTHING_RAN)


def explain_query(plan: QueryPlan, run: QueryRun, name: str | None = None) -> Explanation:
    """Explain a plan, exactly as it runs."""
    title = "Query" if name is None else f"Query {name}"
    counted, compared = _counted(run), run.compared
    physical = _Physical(plan, run, counted)
    choice, curves = (NOTHING, None) if compared is None else explained_choice(title, compared, join_report(run.parts))
    notes = (*plan.notes, *([SET_ASIDE] if plan.sets_aside else []))
    columns = tuple(f"{field.name}: {field.type}" for field in plan.query.schema)
    return Explanation(
        title, run.where, (("Logical plan", logical(plan.query)), (f"Physical plan, for {run.where}", physical.tree())),
        (
            Paragraph(ESTIMATES, tuple(source_estimates(plan, counted))), choice,
            run.intervals, Paragraph(SINK, run.sink, wrapped=True), Paragraph(ADAPTS, physical.adapts()),
            Paragraph(NOTES, notes), Paragraph(RESULT, columns),
        ),
        () if compared is None else compared.candidates, curves,
        tuple(mesh for of, each in run.parts for mesh in latest_meshes(each, of)),
    )  # fmt: skip


def logical(query: Query) -> TreeItem:
    """Return the plan of a query as it is written."""
    return TreeItem("Select", _outputs(query), (_as_written(QueryPlan.of(query).root.input),))


def _as_written(node: PlanNode) -> TreeItem:
    """Return a node of a plan that no rule has changed, in the words of the query."""
    inputs = tuple(_as_written(child) for child in node.inputs)
    match node:
        case Scan():
            return TreeItem("Stream" if node.source.relation.is_stream else "Table", (_of_source(node.source),))
        case Product():
            return inputs[0] if len(inputs) == 1 else TreeItem("Product", (), inputs)
        case Filter():
            name = "Having" if subject(node) == "groups" else "Where"
            return TreeItem(name, tuple(condition.text for condition in node.conditions), inputs)
        case Aggregate():
            return TreeItem("Group", (str(node.grouping.window), *_grouped(node)), inputs)
    raise AssertionError(f"a {type(node).__name__} is in no query")


class _Physical:
    """The tree of the plan that runs: which operator does what, and what was counted."""

    def __init__(self, plan: QueryPlan, run: QueryRun, counted: Mapping[str, str]) -> None:
        self.plan, self.run, self.counted = plan, run, counted

    def tree(self) -> TreeItem:
        """Return the tree, from the output down."""
        return TreeItem("Project", _outputs(self.plan.query), (self._drawn(self.plan.root.input),))

    def _drawn(self, node: PlanNode) -> TreeItem:
        inputs = tuple(self._drawn(child) for child in node.inputs)
        counted = self.counted.get(node.id, "")
        match node:
            case Scan():
                return self._scan(node)
            case Filter() if subject(node) == "groups":
                return TreeItem("Filter", tuple(f"having {condition.text}" for condition in node.conditions), inputs)
            case Filter():
                return self._filter(node).tree(counted, inputs)
            case Compute():
                return TreeItem("Compute", tuple(f"{text_of(e)} AS `{name}`" for name, e in node.columns), inputs)
            case WindowJoin():
                return self._join(node).tree(self._details(node), counted, inputs)
            case TableJoin():
                by = "by Spark's own join, because it joins one stream with tables and needs no state"
                details = ("by Spark, with tables", *conditions_of(node), f"{by} (rule choose_operators)")
                return TreeItem("Join", details, inputs)
            case Fail():
                of = " or ".join(alias for alias, _ in node.columns if alias)
                what = "sets aside" if self.plan.sets_aside else "ends the query on"
                return TreeItem(
                    "Fail", (f"{what} results that contain a row of {of} on which a condition raised",), inputs
                )
            case Aggregate():
                by = "Arrow groups" if self.plan.engine == "local" else "Spark's window aggregate"
                counts = [f"counted: {counted}"] if counted else []
                return TreeItem("Aggregate", (by, str(node.grouping.window), *_grouped(node), *counts), inputs)
        raise AssertionError(f"a {type(node).__name__} is in no plan that runs")

    def _filter(self, node: Filter) -> FilterDescription:
        return FilterDescription.of_node(node, self.plan.policy, self.plan.estimates)

    def _join(self, node: WindowJoin) -> JoinDescription:
        return JoinDescription.of_node(node, self.plan.policy, self.run.compared)

    def _details(self, node: WindowJoin) -> list[str]:
        """Return which operator joins, what it does at first, and where rows go."""
        described = self._join(node)
        by = "by Thalweg, not by Spark's own join, because it joins several streams (rule choose_operators)"
        first = f"first order {', '.join(node.order)}: {node.why}"
        if described.shape is not None:
            first = f"plan {to_text(described.shape)}"
        spread = spread_sentence(node, is_finished=self.run.is_finished)
        who = [by] if self.plan.engine == "spark" else []
        return [*who, first, *described.first(), *([spread] if spread else [])]

    def _scan(self, node: Scan) -> TreeItem:
        source = node.source
        details = [_of_source(source), f"reads {', '.join(node.columns)}"]
        if rate := rate_sentence(self.plan.estimates.sources.get(node.alias, SourceEstimates())):
            details.append(rate)
        late = source.relation.lateness_us
        if late:
            details.append(f"up to {as_written(late).lower()} out of order")
        if source.window is not None and self.plan.join is None and self.plan.query.grouping is None:
            details.append("its window has no effect, because no rows are kept")
        if source.window is not None and source.window.rows is not None and self.plan.join is not None:
            details.append("a row is joined once the row that replaces it in the window is known")
        return TreeItem("Stream" if source.relation.is_stream else "Table", tuple(details))

    def adapts(self) -> tuple[str, ...]:
        """Return what may change while it runs. The result never changes."""
        changes: list[str] = []
        for node in walk_up(self.plan.root):
            if isinstance(node, Filter) and subject(node) != "groups":
                changes += self._filter(node).changes()
            elif isinstance(node, WindowJoin):
                changes += self._join(node).changes()
        if changes and self.plan.policy == "mesh":
            changes.append("which rows take which of several orders")
        return or_nothing(self.plan.policy, changes)


def _grouped(node: Aggregate) -> tuple[str, ...]:
    """Return the keys and the aggregates of a grouping."""
    return tuple(map(text_of, (*node.grouping.keys, *node.grouping.aggregates)))


def _outputs(query: Query) -> tuple[str, ...]:
    return tuple(_output(output.name, output.expression) for output in query.outputs)


def _of_source(source: QuerySource) -> str:
    relation = source.relation
    name = relation.name if relation.name == source.alias else f"{relation.name} AS {source.alias}"
    return f"{name} {source.window}" if source.window is not None else name


def _output(name: str, expression: Expression) -> str:
    text = text_of(expression)
    return name if text in (name, f"{getattr(expression, 'alias', '')}.{name}") else f"{text} AS {name}"


def _counted(run: QueryRun) -> dict[str, str]:
    """Return what the parts have counted over all their runs, by part and stream."""
    found: dict[str, str] = {}
    for name, each in run.parts:
        if isinstance(each, Report) and (counted := rows_and_kept(each)):
            found[name] = counted
        elif isinstance(each, JoinReport) and each.sections:
            found[name] = counted_results(each)
            found |= {alias: counted_rows(each, alias) for alias in each.sections[0].streams}
    if run.groups:
        found["groups"] = run.groups
    return found
