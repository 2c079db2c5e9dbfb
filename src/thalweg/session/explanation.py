"""How the plan of a query, and what was counted when it ran, become an `Explanation`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from thalweg.plan.expression import Expression, UserCall, text_of, walk
from thalweg.plan.nodes import Aggregate, Compute, Fail, Filter, Product, Scan, TableJoin, WindowJoin, subject, walk_up
from thalweg.plan.nodes import Node as PlanNode
from thalweg.plan.number_words import percent
from thalweg.plan.plan_estimates import SourceEstimates
from thalweg.plan.query import Condition, Query, Source, guards_of
from thalweg.plan.query_plan import Branch, QueryPlan
from thalweg.plan.window import as_written
from thalweg.report import Explanation, JoinReport, Report
from thalweg.report.estimate_sentences import cost_sentence, kept_sentence, rate_sentence, source_sentence
from thalweg.report.explanation import ADAPTS, ESTIMATES, NOTES, RESULT, Paragraph
from thalweg.report.filter_explain import rows_and_kept
from thalweg.report.join_sentences import operator_sentence, probe_sentences, spread_sentence
from thalweg.report.plan_tree import Node
from thalweg.session.parts import QueryReport, of_groups

NOTHING = SourceEstimates()
SET_ASIDE = (
    "rows that fail are set aside: q.failed() finds them, as q.late() finds late rows, in a run of its own that reads "
    "the sources again"
)


def explanation(
    plan: QueryPlan, where: str, report: QueryReport, name: str | None = None, *, is_finished: bool = False
) -> Explanation:
    """One pipeline: the plan is the one that runs. `is_finished`: on Spark, over finished data."""
    counted = _counted(report)
    physical = _Physical(plan, counted, is_finished)
    estimates = tuple(f"{scan.alias}: {said}{_beside(counted, scan)}" for scan, said in _estimated(plan) if said)
    columns = tuple(f"{field.name}: {field.type}" for field in plan.query.schema)
    notes = (*plan.notes, *([SET_ASIDE] if plan.sets_aside else []))
    return Explanation(
        "Query" if name is None else f"Query {name}", where,
        (("Logical plan", logical(plan.query)), (f"Physical plan, for {where}", physical.tree())),
        (
            Paragraph(ESTIMATES, estimates), Paragraph(ADAPTS, physical.adapts()), Paragraph(NOTES, notes),
            Paragraph(RESULT, columns),
        ),
    )  # fmt: skip


def logical(query: Query) -> Node:
    """As it is written."""
    return Node("Select", _outputs(query), (_asked(QueryPlan.of(query).root.input),))


def _asked(node: PlanNode) -> Node:
    """A node of a plan that no rule has seen, in the words of the query."""
    inputs = tuple(_asked(child) for child in node.inputs)
    match node:
        case Scan():
            return Node("Stream" if node.source.relation.is_stream else "Table", (_of_source(node.source),))
        case Product():
            return inputs[0] if len(inputs) == 1 else Node("Product", (), inputs)
        case Filter():
            name = "Having" if subject(node) == "groups" else "Where"
            return Node(name, tuple(condition.text for condition in node.conditions), inputs)
        case Aggregate():
            return Node("Group", (str(node.grouping.window), *_grouped(node)), inputs)
    raise AssertionError(f"a {type(node).__name__} is in no query")


class _Physical:
    """The tree of the plan that runs, with who does what, and what was counted."""

    def __init__(self, plan: QueryPlan, counted: Mapping[str, str], is_finished: bool) -> None:
        self.plan, self.policy, self.counted, self.is_finished = plan, plan.policy, counted, is_finished

    def tree(self) -> Node:
        """From the output down."""
        drawn = self._drawn(self.plan.root.input)
        return Node("Project", _outputs(self.plan.query), (drawn,))

    def _drawn(self, node: PlanNode) -> Node:
        inputs = tuple(self._drawn(child) for child in node.inputs)
        counted = [f"counted: {self.counted[node.id]}"] if node.id in self.counted else []
        match node:
            case Scan():
                return self._scan(node)
            case Filter() if subject(node) == "groups":
                return Node("Filter", tuple(f"having {condition.text}" for condition in node.conditions), inputs)
            case Filter():
                return self._filter(node, inputs)
            case Compute():
                return Node("Compute", tuple(f"{text_of(e)} AS `{name}`" for name, e in node.columns), inputs)
            case WindowJoin():
                first = f"first order {', '.join(node.order)}: {node.why}"
                kind = "probed in the written order" if self.policy == "static" else "adaptive"
                who = [operator_sentence(node)] if self.plan.engine == "spark" else []
                spread = spread_sentence(node, is_finished=self.is_finished)
                details = [*_on(node), *who, first, *probe_sentences(node), *([spread] if spread else []), *counted]
                return Node("Join", (f"{kind}, over windows ({self.policy})", *details), inputs)
            case TableJoin():
                return Node("Join", ("Spark's own, with tables", *_on(node), operator_sentence(node)), inputs)
            case Fail():
                of = " or ".join(alias for alias, _ in node.columns if alias)
                what = "sets aside" if self.plan.sets_aside else "fails the query on"
                return Node("Fail", (f"{what} results that contain a row of {of} on which a condition raised",), inputs)
            case Aggregate():
                by = "Arrow groups" if self.plan.engine == "local" else "Spark's window aggregate"
                return Node("Aggregate", (by, str(node.grouping.window), *_grouped(node), *counted), inputs)
        raise AssertionError(f"a {type(node).__name__} is in no plan that runs")

    def _scan(self, node: Scan) -> Node:
        source = node.source
        details = [_of_source(source), f"reads {', '.join(node.columns)}"]
        if rate := rate_sentence(self._estimates(node)):
            details.append(rate)
        late = source.relation.lateness_us
        if late:
            details.append(f"up to {as_written(late).lower()} out of order")
        if source.window is not None and self.plan.join is None and self.plan.query.grouping is None:
            details.append("its window bounds nothing: nothing is kept")
        if source.window is not None and source.window.rows is not None and self.plan.join is not None:
            details.append("a row is joined when it is known which one takes its place in the window")
        return Node("Stream" if source.relation.is_stream else "Table", tuple(details))

    def _filter(self, node: Filter, inputs: tuple[Node, ...]) -> Node:
        conditions = node.conditions
        if len(conditions) == 1:
            how = "one condition"
        elif _adapting(node):
            how = "in the written order (policy static)" if self.policy == "static" else f"adaptive ({self.policy})"
        else:
            how = "in this order, since each of the others can raise" if _fixed(conditions) else "in the JVM first"
        counted = []
        if node.id in self.counted:
            counted = [f"counted{_outside_the_jvm(conditions)}: {self.counted[node.id]}"]
        raised = ["rows on which a condition raises are kept, and fail only if they are part of a result"] * bool(
            node.errors
        )
        estimated = kept_sentence(self._estimates(node))
        told = [*(_condition(c, self.plan) for c in conditions), *raised, *([estimated] if estimated else []), *counted]
        return Node("Filter", (how, *told), inputs)

    def _estimates(self, node: PlanNode) -> SourceEstimates:
        """Of the source whose rows a node reads or filters."""
        return self.plan.estimates.sources.get(subject(node), NOTHING)

    def adapts(self) -> tuple[str, ...]:
        """What may change while it runs; the answer never does."""
        if self.policy == "static":
            return ("nothing: the policy static keeps every order",)
        changes: list[str] = []
        for node in walk_up(self.plan.root):
            if isinstance(node, Filter):
                changes += _adapting(node)
            elif isinstance(node, WindowJoin) and len(node.inputs) > 2:
                others = len(node.inputs) - 1
                changes.append(f"for new rows of each stream, the order in which the other {others} windows are probed")
        return tuple(changes) or ("nothing: there is one way to do it",)


def _condition(condition: Condition, plan: QueryPlan) -> str:
    calls = [part for part in walk(condition.expression) if isinstance(part, UserCall)]
    costs = [cost for call in calls if (cost := plan.estimates.costs_us.get(call.function)) is not None]
    place = {"python": "Python", "arrow": "Arrow", "jvm": "JVM"}[condition.where]
    said = f", {cost_sentence(costs)}" if costs else ""
    return f"{condition.text}  ({place}{said})"


def _on(join: WindowJoin | TableJoin) -> list[str]:
    """What it compares."""
    return [e.text for e in join.equalities] + [f"{c.text}  (checked on joined rows)" for c in join.residuals]


def _grouped(node: Aggregate) -> tuple[str, ...]:
    """By what, and what of each group."""
    return tuple(map(text_of, (*node.grouping.keys, *node.grouping.aggregates)))


def _outputs(query: Query) -> tuple[str, ...]:
    return tuple(_output(output.name, output.expression) for output in query.outputs)


def _adapting(node: Filter) -> list[str]:
    """What may change of a filter. Conditions in the JVM have an order of their own."""
    conditions, where = node.conditions, subject(node)
    if where == "groups":
        return []
    in_jvm = sum(condition.where == "jvm" for condition in conditions)
    others = len(conditions) - in_jvm
    told = []
    if others > 1 and not _fixed([condition for condition in conditions if condition.where != "jvm"]):
        told.append(f"the order of the {others} filters of {where}{_outside_the_jvm(conditions)}")
    if in_jvm > 1 and not _fixed([condition for condition in conditions if condition.where == "jvm"]):
        told.append(f"when a query starts, the order of the {in_jvm} filters of {where} in the JVM")
    return told


def _fixed(conditions: Sequence[Condition]) -> bool:
    """Whether each waits for all that are written before it."""
    written = sorted(conditions, key=lambda condition: condition.place)
    return all(len(guards) == n for n, guards in enumerate(guards_of(written)))


def _outside_the_jvm(conditions: Sequence[Condition]) -> str:
    """Where rows that Spark's own filters dropped are not seen."""
    return " outside the JVM" if any(condition.where == "jvm" for condition in conditions) else ""


def _of_source(source: Source) -> str:
    relation = source.relation
    name = relation.name if relation.name == source.alias else f"{relation.name} AS {source.alias}"
    return f"{name} {source.window}" if source.window is not None else name


def _output(name: str, expression: Expression) -> str:
    text = text_of(expression)
    return name if text in (name, f"{getattr(expression, 'alias', '')}.{name}") else f"{text} AS {name}"


def _estimated(plan: QueryPlan) -> Iterator[tuple[Branch, str]]:
    """Every source, and the sentence about it."""
    for scan in plan.scans:
        if (source := plan.estimates.sources.get(scan.alias)) is not None:
            is_stream = scan.source.relation.is_stream
            yield scan, source_sentence(source, is_stream=is_stream, is_joined=plan.join is not None)


def _beside(counted: Mapping[str, str], scan: Branch) -> str:
    """An estimate: what was counted of the same."""
    told = [counted[name] for name in (f"filter of {scan.alias}", scan.alias) if name in counted]
    return f"; counted{_outside_the_jvm(scan.conditions)}: {', '.join(told)}" if told else ""


def _counted(report: QueryReport) -> dict[str, str]:
    """What parts have counted, over all their runs, by part and stream."""
    told: dict[str, str] = {}
    for name, each in report.parts:
        if isinstance(each, Report) and (counted := rows_and_kept(each)):
            told[name] = counted
        elif isinstance(each, JoinReport) and each.sections:
            results = sum(s.results for s in each.sections)
            told[name] = f"{results:,} results"
            told |= {alias: _of_stream(each, alias) for alias in each.sections[0].streams}
    if report.groups:
        told["groups"] = of_groups(report.groups[-1])
    return told


def _of_stream(report: JoinReport, alias: str) -> str:
    """Rows it brought, and how many rows of others found a partner among them."""
    streams = [stream for section in report.sections for stream in section.streams.values()]
    rows = sum(stream.rows for stream in streams if stream.stream == alias)
    late = sum(stream.late for stream in streams if stream.stream == alias)
    looked = found = 0
    for stream in streams:
        for other, evaluated, passed in zip(stream.others, stream.evaluated, stream.passed, strict=True):
            if other == alias:
                looked, found = looked + evaluated, found + passed
    told = f"{rows:,} rows" + (f", {late:,} of them late" if late else "")
    return told + (f", found by {percent(found / looked)} of {looked:,} that looked" if looked else "")
