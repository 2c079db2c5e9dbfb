"""Describes filters, those of `tw.filters` and the `Filter` nodes of a query: who evaluates what, what may change, and
what was counted. `explain_filters` explains a filter set."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from thalweg.adapt.mesh import COLLECTING, MeshSettings
from thalweg.adapt.policy import Settings
from thalweg.adapt.profiling_budget import LOAN_NS
from thalweg.draw.plan_tree import TreeItem
from thalweg.errors import PlanError
from thalweg.formatting import percent, plural, total_duration
from thalweg.plan import FilterPlan, NativePredicate, Predicate
from thalweg.plan.expressions.expression import UserCall, walk
from thalweg.plan.query.nodes import Filter, subject
from thalweg.plan.query.plan_estimates import PlanEstimates, SourceEstimates
from thalweg.plan.query.query import Condition, guards_of
from thalweg.report.explain.sources import cost_sentence, kept_sentence, outside_the_jvm
from thalweg.report.explanation import ADAPTS, Explanation, Paragraph
from thalweg.report.join_report import JoinReport
from thalweg.report.mesh_view import MeshView
from thalweg.report.report import Report
from thalweg.report.run_report import in_runs
from thalweg.report.section import Section
from thalweg.runtime.local.filters import refuse_native
from thalweg.runtime.settings import FilterSettings

IN_THIS_PROCESS, ON_FINISHED_DATA, ON_A_STREAM = "this process", "Spark, on finished data", "a Spark stream"


@dataclass(frozen=True)
class FilterInput:
    """What the filters are applied to."""

    where: str = ""
    """Where the filters run; empty if that is not known yet."""
    columns: tuple[str, ...] | None = None
    """The columns of the data; None if they are not known yet."""
    session: Any = None
    """The Spark session, if the data are a DataFrame."""

    @classmethod
    def of(cls, plan: FilterPlan, data: Any) -> FilterInput:
        """Describe a Spark DataFrame, Arrow data or None. Raise a PlanError if the filters cannot be applied to it."""
        if data is None:
            return cls()
        if hasattr(data, "observe") and hasattr(data, "sparkSession"):
            where = ON_A_STREAM if data.isStreaming else ON_FINISHED_DATA
            found = cls(where, tuple(data.columns), data.sparkSession)
        elif isinstance(data, (pa.Table, pa.RecordBatch)):
            refuse_native(plan)
            found = cls(IN_THIS_PROCESS, tuple(data.schema.names))
        else:
            raise PlanError(
                f"explain() takes a Spark DataFrame or an Arrow table, not {type(data).__name__}; leave it out, or "
                "convert it with pa.table(...)"
            )
        plan.columns_in(list(found.columns or ()))
        return found


@dataclass(frozen=True)
class FirstOrders:
    """The orders that the next pass starts with, as indices of predicates."""

    native: tuple[int, ...]
    chain: tuple[int, ...]
    why_native: str
    native_adapts: bool
    """Whether sampled rows may change the order of native predicates."""


@dataclass(frozen=True)
class FilterDescription:
    """What explanations say of filters."""

    how: str
    """How they are evaluated, in a few words."""
    lines: tuple[str, ...]
    """One line per filter, in the order that is tried first."""
    filters: str
    """The word for several of them."""
    others: int
    """How many are evaluated outside the JVM."""
    in_jvm: int
    others_move: bool
    """Whether the order of those outside the JVM may change while it runs."""
    in_jvm_moves: bool
    """Whether the order of those in the JVM may change when a query starts."""
    notes: tuple[str, ...] = ()

    @classmethod
    def of_plan(cls, plan: FilterPlan, policy: str, orders: FirstOrders) -> FilterDescription:
        """Describe a filter set."""
        native = [_native(plan.native.predicates[k]) for k in orders.native]
        chain = [_python(plan.predicates[k]) for k in orders.chain]
        adaptive = f"adaptive ({policy})" if chain else f"in the JVM ({policy})"
        return cls(
            _how("predicate", len(native) + len(chain), policy, adaptive), (*native, *chain), "predicates", len(chain),
            len(native), bool(plan.pipeline.movable), orders.native_adapts,
        )  # fmt: skip

    @classmethod
    def of_node(cls, node: Filter, policy: str, known: PlanEstimates) -> FilterDescription:
        """Describe the conditions on the rows of a source, or on joined rows."""
        conditions, of = node.conditions, subject(node)
        in_jvm = [condition for condition in conditions if condition.where == "jvm"]
        others = [condition for condition in conditions if condition.where != "jvm"]
        moves = [len(some) > 1 and not _waits(some) for some in (others, in_jvm)]
        if len(conditions) == 1 or any(moves):
            how = _how("condition", len(conditions), policy, f"adaptive ({policy})")
        else:
            how = "in this order, because the later ones can raise" if _waits(conditions) else "in the JVM first"
        raised = "rows on which a condition raises are kept, and fail only if they are part of a result"
        kept = kept_sentence(known.sources.get(of, SourceEstimates()))
        return cls(
            how, tuple(_condition(condition, known) for condition in conditions), f"filters of {of}", len(others),
            len(in_jvm), moves[0], moves[1], (*([raised] if node.errors else []), *([kept] if kept else [])),
        )  # fmt: skip

    def tree(self, counted: str, inputs: tuple[TreeItem, ...]) -> TreeItem:
        """Return the node that is drawn. `counted`: empty if nothing was counted."""
        counts = [f"counted{outside_the_jvm(self.in_jvm)}: {counted}"] if counted else []
        return TreeItem("Filter", (self.how, *self.lines, *self.notes, *counts), inputs)

    def changes(self, routes: Sequence[str] = ()) -> list[str]:
        """Return what may change. `routes`: what is said of routes, if the order may change while it runs."""
        found = []
        if self.others_move:
            found.append(f"the order of the {self.others} {self.filters}{outside_the_jvm(self.in_jvm)}")
            found.extend(routes)
        if self.in_jvm_moves:
            found.append(f"when a query starts, the order of the {self.in_jvm} {self.filters} in the JVM")
        return found


def explain_filters(
    plan: FilterPlan, settings: FilterSettings, orders: FirstOrders, source: FilterInput, report: Report
) -> Explanation:
    """Explain a filter set. `report` has what was counted so far."""
    names = [*plan.native.names, *plan.pipeline.names]
    described = FilterDescription.of_plan(plan, settings.policy_name, orders)
    tree = described.tree(rows_and_kept(report), (_input(plan, source),))
    title = f"Plan, for {source.where}" if source.where else "Plan"
    may_classify = _may_classify(settings, plan)
    routes = [f"which rows take which of at most {most_routes(settings.profile)} routes"] if may_classify else []
    paragraphs = (
        Paragraph(ADAPTS, or_nothing(settings.policy_name, described.changes(routes)), wrapped=True),
        Paragraph("Settings", tuple(_settings(settings, may_classify=may_classify)), wrapped=True),
        Paragraph("Order", tuple(_orders(plan, orders, report)), wrapped=True),
    )
    return Explanation(
        f"Filters {', '.join(names)}", source.where, ((title, tree),), paragraphs, meshes=latest_meshes(report)
    )


def or_nothing(policy: str, changes: Sequence[str]) -> tuple[str, ...]:
    """Return what may change while filters, a join or a query run. The result never changes."""
    if policy == "static":
        return ("nothing: policy static never changes an order",)
    return tuple(changes) or ("nothing: only one order is possible",)


def latest_meshes(report: Report | JoinReport, of: str = "") -> tuple[tuple[str, MeshView], ...]:
    """Return the meshes of the latest run with titles; none if all rows took one route. `of`: a name of the part."""
    meshes: Iterable[MeshView | None] = ()
    if report.sections:
        last = report.sections[-1]
        meshes = [last.mesh] if isinstance(last, Section) else last.meshes.values()
    title = f"Routes in the latest run, {of}" if of else "Routes in the latest run"
    return tuple((title, mesh) for mesh in meshes if mesh is not None and len(mesh.routes) > 1)


def most_routes(settings: Settings | None) -> int:
    """Return the most routes of a mesh under the settings of a policy; `auto` has no setting for it."""
    return int(getattr(settings, "routes", MeshSettings().routes))


def rows_and_kept(report: Report) -> str:
    """Return what filters have counted over all their runs; empty if they have counted nothing."""
    rows, kept = (sum(getattr(section, name) for section in report.sections) for name in ("rows", "kept"))
    failed = sum(section.calls.failed for section in report.sections)
    raised = f", {failed:,} failed (a predicate raised and none was false)" if failed else ""
    return f"{plural(rows, 'row')} in, {kept:,} kept ({percent(kept / rows)}){raised}{in_runs(report)}" if rows else ""


def _how(filter_: str, count: int, policy: str, adaptive: str) -> str:
    if count == 1:
        return f"one {filter_}"
    return "in the written order (policy static)" if policy == "static" else adaptive


def _condition(condition: Condition, known: PlanEstimates) -> str:
    calls = [part for part in walk(condition.expression) if isinstance(part, UserCall)]
    costs = [cost for call in calls if (cost := known.costs_us.get(call.function)) is not None]
    place = {"python": "Python", "arrow": "Arrow", "jvm": "JVM"}[condition.where]
    return f"{condition.text}  ({place}{f', {cost_sentence(costs)}' if costs else ''})"


def _waits(conditions: Sequence[Condition]) -> bool:
    """Whether each condition waits for all that are written before it."""
    written = sorted(conditions, key=lambda condition: condition.place)
    return all(len(guards) == n for n, guards in enumerate(guards_of(written)))


def _native(predicate: NativePredicate) -> str:
    text = predicate.name if predicate.name == predicate.text else f"{predicate.name}: {predicate.text}"
    return f"{text}  ({', '.join(['JVM', *_after(predicate.after)])})"


def _python(predicate: Predicate) -> str:
    notes = ["Arrow arrays" if predicate.vectorized else "Python", *_after(predicate.after)]
    if not predicate.profile:
        notes.append("never called only for profiling")
    return f"{predicate.name}: reads {', '.join(predicate.columns)}  ({', '.join(notes)})"


def _after(guards: Sequence[str]) -> list[str]:
    return [f"after {' and '.join(guards)}"] if guards else []


def _input(plan: FilterPlan, source: FilterInput) -> TreeItem:
    if not plan.predicates:
        return TreeItem("Input", ("no row is sent to Python",))
    details = [f"reads {', '.join(plan.columns)}"]
    if plan.classify_by is not None:
        details.append(f"rows are classified by {', '.join(plan.classify_by)}")
    read = {column.lower() for column in plan.needed}
    others = [column for column in source.columns or () if column.lower() not in read]
    if others and source.session is not None:
        details.append(f"stays in the JVM: {', '.join(others)}")
    return TreeItem("Input", tuple(details))


def _may_classify(settings: FilterSettings, plan: FilterPlan) -> bool:
    """Whether rows may take different routes."""
    return settings.policy_name == "mesh" or (settings.policy_name == "auto" and plan.classify_by is not None)


def _settings(settings: FilterSettings, *, may_classify: bool) -> Iterator[str]:
    if settings.dead_letter:
        yield "rows that fail are set aside and counted; tagged() and failed() return them (on_error='dead-letter')"
    else:
        yield "a row that fails stops the query (on_error='raise')"
    if settings.time_limit is not None:
        yield f"the query fails if a predicate takes longer than {settings.time_limit:g} s for a slice (time_limit=)"
    budget = getattr(settings.profile, "budget", None)
    if budget is not None:
        yield (
            f"adapting takes at most {percent(budget)} of the time (budget=), plus up to {total_duration(LOAN_NS)} per "
            "worker at the start"
            + (f", and up to {COLLECTING:g} times that while rows are collected for a mesh" if may_classify else "")
        )
    yield from (f"{name}={value}" for name, value in settings.policy.given.items() if name != "budget")
    if settings.redact:
        yield "errors, also those of rows that are set aside, contain no values of rows (redact=)"
    if settings.events is not None:
        yield f"event records are appended to {settings.events} (events=)"


def _orders(plan: FilterPlan, orders: FirstOrders, report: Report) -> Iterator[str]:
    """Yield sentences about the orders that were decided or observed."""
    if len(plan.native.predicates) > 1:
        yield f"in the JVM: {', '.join(plan.native.names[k] for k in orders.native)}; {orders.why_native}"
    last = next((section.order for section in reversed(report.sections) if section.order), ())
    if len(plan.predicates) > 1 and last:
        yield f"in the latest run{outside_the_jvm(plan.native)}: {', '.join(last)}"
