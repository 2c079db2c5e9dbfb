"""Makes an `Explanation` of the plan of a query and of what was counted when it ran."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from thalweg.plan.expression import Expression, UserCall, text_of, walk
from thalweg.plan.join_shape import to_text
from thalweg.plan.nodes import Aggregate, Compute, Fail, Filter, Product, Scan, TableJoin, WindowJoin, subject, walk_up
from thalweg.plan.nodes import Node as PlanNode
from thalweg.plan.plan_estimates import SourceEstimates
from thalweg.plan.query import Condition, Query, QuerySource, guards_of
from thalweg.plan.query_plan import Branch, QueryPlan
from thalweg.plan.window import as_written
from thalweg.report import Explanation, JoinReport, MeshView, Report
from thalweg.report.estimate_sentences import cost_sentence, kept_sentence, rate_sentence, source_sentence
from thalweg.report.explanation import ADAPTS, ESTIMATES, NOTES, RESULT, SINK, Paragraph
from thalweg.report.filter_explain import filter_meshes, rows_and_kept
from thalweg.report.join_explain import (
    KEPT_CHANGES,
    ComparedPlans,
    counted_results,
    counted_rows,
    join_meshes,
    kind_of,
    probes_of_tree,
    tree_sentences,
)
from thalweg.report.join_sentences import operator_sentence, probe_sentences, spread_sentence
from thalweg.report.plan_tree import TreeItem
from thalweg.session.adaptive_parts import QueryReport, of_groups

NOTHING = SourceEstimates()
NO_INTERVALS = Paragraph("", ())
SET_ASIDE = (
    "rows that fail are set aside: q.failed() returns them, and q.late() returns late rows, each in a separate run "
    "that reads the sources again"
)


def explanation(
    plan: QueryPlan, where: str, report: QueryReport, name: str | None = None, *, is_finished: bool = False,
    compared: ComparedPlans | None = None, intervals: Paragraph = NO_INTERVALS, sink: tuple[str, ...] = (),
) -> Explanation:  # fmt: skip
    """Explain a plan, exactly as it runs. `is_finished`: it runs on Spark over finished data. `compared`: the plans of
    its join that were compared. `intervals`: what is known of its micro-batches. `sink`: who writes its results."""
    counted = _counted(report)
    physical = _Physical(plan, counted, is_finished, compared)
    estimates = tuple(
        f"{scan.alias}: {sentence}{_beside(counted, scan)}" for scan, sentence in _estimated(plan) if sentence
    )
    columns = tuple(f"{field.name}: {field.type}" for field in plan.query.schema)
    notes = (*plan.notes, *([SET_ASIDE] if plan.sets_aside else []))
    return Explanation(
        "Query" if name is None else f"Query {name}", where,
        (("Logical plan", logical(plan.query)), (f"Physical plan, for {where}", physical.tree())),
        (
            Paragraph(ESTIMATES, estimates), *([compared.paragraph] if compared is not None else []),
            intervals, Paragraph(SINK, sink, wrapped=True), Paragraph(ADAPTS, physical.adapts()),
            Paragraph(NOTES, notes), Paragraph(RESULT, columns),
        ),
        () if compared is None else compared.candidates, None if compared is None else compared.curves,
        tuple(mesh for name, each in report.parts for mesh in _meshes(name, each)),
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

    def __init__(
        self, plan: QueryPlan, counted: Mapping[str, str], is_finished: bool, compared: ComparedPlans | None = None
    ) -> None:
        self.plan, self.policy, self.counted, self.is_finished = plan, plan.policy, counted, is_finished
        self.shape = None if compared is None else compared.shape
        self.may_change = compared is not None and compared.may_change

    def tree(self) -> TreeItem:
        """Return the tree, from the output down."""
        drawn = self._drawn(self.plan.root.input)
        return TreeItem("Project", _outputs(self.plan.query), (drawn,))

    def _drawn(self, node: PlanNode) -> TreeItem:
        inputs = tuple(self._drawn(child) for child in node.inputs)
        counted = [f"counted: {self.counted[node.id]}"] if node.id in self.counted else []
        match node:
            case Scan():
                return self._scan(node)
            case Filter() if subject(node) == "groups":
                return TreeItem("Filter", tuple(f"having {condition.text}" for condition in node.conditions), inputs)
            case Filter():
                return self._filter(node, inputs)
            case Compute():
                return TreeItem("Compute", tuple(f"{text_of(e)} AS `{name}`" for name, e in node.columns), inputs)
            case WindowJoin():
                first = [f"first order {', '.join(node.order)}: {node.why}", *probe_sentences(node)]
                if self.shape is not None:
                    first = [f"plan {to_text(self.shape)}", *tree_sentences(self.shape)]
                who = [operator_sentence(node)] if self.plan.engine == "spark" else []
                spread = spread_sentence(node, is_finished=self.is_finished)
                details = [
                    *_on(node),
                    *who,
                    *first,
                    *([spread] if spread else []),
                    *counted,
                ]
                kind = f"{kind_of(self.shape, self.policy)}, over windows ({self.policy})"
                return TreeItem("Join", (kind, *details), inputs)
            case TableJoin():
                return TreeItem("Join", ("by Spark, with tables", *_on(node), operator_sentence(node)), inputs)
            case Fail():
                of = " or ".join(alias for alias, _ in node.columns if alias)
                what = "sets aside" if self.plan.sets_aside else "ends the query on"
                return TreeItem(
                    "Fail", (f"{what} results that contain a row of {of} on which a condition raised",), inputs
                )
            case Aggregate():
                by = "Arrow groups" if self.plan.engine == "local" else "Spark's window aggregate"
                return TreeItem("Aggregate", (by, str(node.grouping.window), *_grouped(node), *counted), inputs)
        raise AssertionError(f"a {type(node).__name__} is in no plan that runs")

    def _scan(self, node: Scan) -> TreeItem:
        source = node.source
        details = [_of_source(source), f"reads {', '.join(node.columns)}"]
        if rate := rate_sentence(self._estimates(node)):
            details.append(rate)
        late = source.relation.lateness_us
        if late:
            details.append(f"up to {as_written(late).lower()} out of order")
        if source.window is not None and self.plan.join is None and self.plan.query.grouping is None:
            details.append("its window has no effect, because no rows are kept")
        if source.window is not None and source.window.rows is not None and self.plan.join is not None:
            details.append("a row is joined once the row that replaces it in the window is known")
        return TreeItem("Stream" if source.relation.is_stream else "Table", tuple(details))

    def _filter(self, node: Filter, inputs: tuple[TreeItem, ...]) -> TreeItem:
        conditions = node.conditions
        if len(conditions) == 1:
            how = "one condition"
        elif _adapting(node):
            how = "in the written order (policy static)" if self.policy == "static" else f"adaptive ({self.policy})"
        else:
            how = "in this order, because the later ones can raise" if _fixed(conditions) else "in the JVM first"
        counted = []
        if node.id in self.counted:
            counted = [f"counted{_outside_the_jvm(conditions)}: {self.counted[node.id]}"]
        raised = ["rows on which a condition raises are kept, and fail only if they are part of a result"] * bool(
            node.errors
        )
        estimated = kept_sentence(self._estimates(node))
        lines = [*(_condition(c, self.plan) for c in conditions), *raised, *([estimated] if estimated else [])]
        return TreeItem("Filter", (how, *lines, *counted), inputs)

    def _estimates(self, node: PlanNode) -> SourceEstimates:
        """Return the estimates of the source whose rows a node reads or filters."""
        return self.plan.estimates.sources.get(subject(node), NOTHING)

    def adapts(self) -> tuple[str, ...]:
        """Return what may change while it runs. The result never changes."""
        if self.policy == "static":
            return ("nothing: policy static never changes an order",)
        changes: list[str] = []
        for node in walk_up(self.plan.root):
            if isinstance(node, Filter):
                changes += _adapting(node)
            elif isinstance(node, WindowJoin) and len(node.inputs) > 2:
                others = f"the order in which the other {len(node.inputs) - 1} windows are probed"
                if self.shape is None:
                    changes.append(f"for new rows of each stream, {others}")
                elif in_tree := probes_of_tree(self.shape):
                    changes.append(in_tree)
                if self.may_change:
                    changes.append(KEPT_CHANGES)
        if changes and self.policy == "mesh":
            changes.append("which rows take which of several orders")
        return tuple(changes) or ("nothing: only one order is possible",)


def _condition(condition: Condition, plan: QueryPlan) -> str:
    calls = [part for part in walk(condition.expression) if isinstance(part, UserCall)]
    costs = [cost for call in calls if (cost := plan.estimates.costs_us.get(call.function)) is not None]
    place = {"python": "Python", "arrow": "Arrow", "jvm": "JVM"}[condition.where]
    cost_note = f", {cost_sentence(costs)}" if costs else ""
    return f"{condition.text}  ({place}{cost_note})"


def _on(join: WindowJoin | TableJoin) -> list[str]:
    """Return the conditions of a join."""
    return [e.text for e in join.equalities] + [f"{c.text}  (checked on joined rows)" for c in join.residuals]


def _grouped(node: Aggregate) -> tuple[str, ...]:
    """Return the keys and the aggregates of a grouping."""
    return tuple(map(text_of, (*node.grouping.keys, *node.grouping.aggregates)))


def _outputs(query: Query) -> tuple[str, ...]:
    return tuple(_output(output.name, output.expression) for output in query.outputs)


def _adapting(node: Filter) -> list[str]:
    """Return what may change about a filter. Conditions in the JVM are ordered separately."""
    conditions, where = node.conditions, subject(node)
    if where == "groups":
        return []
    in_jvm = sum(condition.where == "jvm" for condition in conditions)
    others = len(conditions) - in_jvm
    changes = []
    if others > 1 and not _fixed([condition for condition in conditions if condition.where != "jvm"]):
        changes.append(f"the order of the {others} filters of {where}{_outside_the_jvm(conditions)}")
    if in_jvm > 1 and not _fixed([condition for condition in conditions if condition.where == "jvm"]):
        changes.append(f"when a query starts, the order of the {in_jvm} filters of {where} in the JVM")
    return changes


def _fixed(conditions: Sequence[Condition]) -> bool:
    """Whether each condition waits for all that are written before it."""
    written = sorted(conditions, key=lambda condition: condition.place)
    return all(len(guards) == n for n, guards in enumerate(guards_of(written)))


def _outside_the_jvm(conditions: Sequence[Condition]) -> str:
    """Return a qualifier for counts that do not include rows that Spark's own filters dropped."""
    return " outside the JVM" if any(condition.where == "jvm" for condition in conditions) else ""


def _of_source(source: QuerySource) -> str:
    relation = source.relation
    name = relation.name if relation.name == source.alias else f"{relation.name} AS {source.alias}"
    return f"{name} {source.window}" if source.window is not None else name


def _output(name: str, expression: Expression) -> str:
    text = text_of(expression)
    return name if text in (name, f"{getattr(expression, 'alias', '')}.{name}") else f"{text} AS {name}"


def _estimated(plan: QueryPlan) -> Iterator[tuple[Branch, str]]:
    """Yield every source and the sentence about it."""
    for scan in plan.scans:
        if (source := plan.estimates.sources.get(scan.alias)) is not None:
            is_stream = scan.source.relation.is_stream
            yield scan, source_sentence(source, is_stream=is_stream, is_joined=plan.join is not None)


def _beside(counted: Mapping[str, str], scan: Branch) -> str:
    """Return what was counted, to be shown next to the estimate of the same source."""
    counts = [counted[name] for name in (f"filter of {scan.alias}", scan.alias) if name in counted]
    return f"; counted{_outside_the_jvm(scan.conditions)}: {', '.join(counts)}" if counts else ""


def _meshes(name: str, report: Report | JoinReport) -> tuple[tuple[str, MeshView], ...]:
    """Return the meshes of a part of the query in its latest run, with titles."""
    return filter_meshes(report, name) if isinstance(report, Report) else join_meshes(report, name)


def _counted(report: QueryReport) -> dict[str, str]:
    """Return what the parts have counted over all their runs, by part and stream."""
    found: dict[str, str] = {}
    for name, each in report.parts:
        if isinstance(each, Report) and (counted := rows_and_kept(each)):
            found[name] = counted
        elif isinstance(each, JoinReport) and each.sections:
            found[name] = counted_results(each)
            found |= {alias: counted_rows(each, alias) for alias in each.sections[0].streams}
    if report.groups:
        found["groups"] = of_groups(report.groups[-1])
    return found
