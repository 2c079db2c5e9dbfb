"""The chart of a query, a join or filters, as a user sees it: text, a picture, and where the query is now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from thalweg.cost.plan_chart import Dimension, PlanChart
from thalweg.draw.chart_picture import ChartCells, ChartSide, chart_as_svg, chart_text
from thalweg.draw.html import scrolled
from thalweg.errors import PlanError, nearest
from thalweg.formatting import listed
from thalweg.plan.joins.shape import Shape, plan_text
from thalweg.report.join_report import JoinReport
from thalweg.report.view import Form, View
from thalweg.stats.declared_number import LARGEST

ARROW = " → "
"""Between the predicates of an order."""
SHARE = "share of rows, from 0 to 1"


def chart_of(title: str, chart: PlanChart, rates: Mapping[str, float], report: JoinReport) -> ChartView:
    """Return the chart of a join, with the track of its last run. `rates`: the expected one of each stream."""
    last = report.sections[-1].plans if report.sections else None
    track = [] if last is None else [each.rates for each in last.rates]
    track = [each for each in track if len(each) == len(rates)]  # in a run, some may have been tables
    return ChartView(title, chart, rates, [dict(zip(rates, each, strict=True)) for each in track])


class ChartView(View):
    """A chart of plans, which :meth:`Join.chart`, :meth:`Filters.chart` and :meth:`ContinuousQuery.chart` return. It
    prints as text and is displayed as a picture in a notebook.

    Its dimensions are the rates of the streams of a join; or the rate of the rows that reach filters,
    ``rows_per_second``, and the share of rows that each of the predicates passes. It shows two of them; the others have
    their present or expected values.
    """

    def __init__(
        self, title: str, chart: PlanChart, expected: Mapping[str, float], track: Sequence[Mapping[str, float]] = (),
        sides: tuple[str, str] | None = None,
    ) -> None:  # fmt: skip
        self.title = title
        self._chart = chart
        self._expected = dict(expected)
        self._sides = sides
        self.track = [dict(values) for values in track]
        """The values of the dimensions after each round of the last run: the estimated rates of streams, in rows per
        second; in charts of filters, the rate and the shares that were counted."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the dimensions: streams; in charts of filters, ``rows_per_second`` and predicates."""
        return tuple(each.name for each in self._chart.dimensions)

    @property
    def streams(self) -> tuple[str, ...]:
        """The streams whose rates are dimensions of the chart; none in a chart of filters."""
        return tuple(each.name for each in self._chart.dimensions if each.unit == "rows per second of")

    @property
    def ranges(self) -> dict[str, tuple[float, float]]:
        """The least and the largest value of each dimension: rows per second, or a share from 0 to 1."""
        return {each.name: (each.low, each.high) for each in self._chart.dimensions}

    @property
    def _is_of_filters(self) -> bool:
        return not self.streams

    def _text(self, plan: Shape) -> str:
        return ARROW.join(map(str, plan)) if self._is_of_filters else plan_text(plan)

    def _dimension(self, name: str, given: str) -> Dimension:
        """Return a dimension by its name. `given`: how the user has passed it, for the error."""
        for each in self._chart.dimensions:
            if each.name == name:
                return each
        kind = "dimension" if self._is_of_filters else "stream"
        raise PlanError(f"{given}: not a {kind} of this chart{nearest(name, self.names)}; it has {listed(self.names)}")

    def plan_at(self, /, **values: float) -> str:
        """Return the plan for rates in rows per second; in a chart of filters also for shares of rows that pass.
        Dimensions that are left out have their expected values.

        Parameters
        ----------
        values
            Rows per second by stream. In a chart of filters, ``rows_per_second`` and the shares by predicate.

        Returns
        -------
        str
            A plan as `plan=` takes it, or an order of predicates such as ``"cheap → slow"``.

        Raises
        ------
        PlanError
            If a name is not that of a dimension, if a rate is below 0 or above 1e15, or if a share is not from 0 to 1.

        Examples
        --------
        >>> import thalweg as tw
        >>> known = {"a": {"rows_per_second": 20_000}, "b": {"rows_per_second": 3_000}, "c": {"rows_per_second": 300},
        ...          "partners": {"a.k = b.k": (30, None), "b.m = c.m": (0.01, None)}}
        >>> j = tw.join("a.k = b.k AND b.m = c.m", window="10 seconds", time="ts", statistics=known)
        >>> j.chart(k=4).plan_at(a=40_000)
        '(a (b c))'
        """
        for name, value in values.items():
            is_share = self._dimension(name, f"plan_at({name}=...)").unit == "passed by"
            is_number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
            if not is_number or not 0 <= value <= (1 if is_share else LARGEST):
                most = f"number of rows per second, from 0 to {LARGEST:g}"
                raise PlanError(f"plan_at({name}={value!r}): must be a {SHARE if is_share else most}")
        return self._text(self._chart.at({**self._expected, **values}).plan)

    def show(self, across: str | None = None, up: str | None = None) -> ChartView:
        """Return the chart with other dimensions on its sides.

        Parameters
        ----------
        across, up
            The streams whose rates are on the horizontal and on the vertical side; by default the first two. In a chart
            of filters, ``rows_per_second`` or a predicate.

        Returns
        -------
        ChartView

        Raises
        ------
        PlanError
            If one is not a dimension of the chart, or if both are the same.

        Examples
        --------
        >>> import thalweg as tw
        >>> known = {"a": {"rows_per_second": 20_000}, "b": {"rows_per_second": 3_000}, "c": {"rows_per_second": 300},
        ...          "partners": {"a.k = b.k": (30, None), "b.m = c.m": (0.01, None)}}
        >>> j = tw.join("a.k = b.k AND b.m = c.m", window="10 seconds", time="ts", statistics=known)
        >>> print(j.chart(k=3).show(across="c", up="a"))  # doctest: +ELLIPSIS
        rows per second of a, from 40,000 (top) to 10,000
        ...
        """
        names = [name for name in self.names if name not in (across, up)]
        chosen = [name if name is not None else names.pop(0) for name in (across, up)]
        for name in chosen:
            self._dimension(name, f"show({name!r})")
        if chosen[0] == chosen[1]:
            kind = "dimensions" if self._is_of_filters else "streams"
            raise PlanError(f"show(across={chosen[0]!r}, up={chosen[1]!r}): the sides must be different {kind}")
        return ChartView(self.title, self._chart, self._expected, self.track, (chosen[0], chosen[1]))

    def cells(self) -> ChartCells:
        """Return the data of the picture."""
        dimensions = {each.name: each for each in self._chart.dimensions}
        across, up = self._sides or self.names[:2]
        now = self.track[-1] if self.track else self._expected
        order = {name: n for n, name in enumerate(self.names)}
        region = [dimensions[name].part(now[name]) for name in self.names]
        numbers: dict[Shape, int] = {}
        rows = []
        for row in range(dimensions[up].parts):
            line = []
            for column in range(dimensions[across].parts):
                region[order[across]], region[order[up]] = column, row
                line.append(numbers.setdefault(self._chart.plan(tuple(region)), len(numbers)))
            rows.append(tuple(line))
        sides = {each.name: ChartSide(each.name, each.low, each.high, each.unit) for each in self._chart.dimensions}
        return ChartCells(
            self.title, sides[across], sides[up], tuple(rows), tuple(map(self._text, numbers)), (now[across], now[up]),
            tuple((values[across], values[up]) for values in self.track),
            tuple((side, now[name]) for name, side in sides.items() if name not in (across, up)),
            "order" if self._is_of_filters else "plan",
        )  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """Return the chart as plain values, ready for JSON.

        Returns
        -------
        dict

        Examples
        --------
        >>> import thalweg as tw
        >>> known = {"a": {"rows_per_second": 20_000}, "b": {"rows_per_second": 3_000}, "c": {"rows_per_second": 300},
        ...          "partners": {"a.k = b.k": (30, None), "b.m = c.m": (0.01, None)}}
        >>> j = tw.join("a.k = b.k AND b.m = c.m", window="10 seconds", time="ts", statistics=known)
        >>> sorted(j.chart(k=2).to_dict())
        ['cells', 'dimensions', 'plans']
        """
        return self._chart.to_dict()

    def _forms(self) -> dict[str, Form]:
        return {
            ".svg": Form(self._picture, "a picture"), ".html": Form(self._page, "a page"), ".txt": Form(self.__str__),
        }  # fmt: skip

    def __str__(self) -> str:
        return chart_text(self.cells())

    def _picture(self) -> str:
        return chart_as_svg(self.cells())

    def _repr_html_(self) -> str:
        return scrolled(self._picture())

    def _title(self) -> str:
        return self.title
