"""What `statistics=` declares: which facts it becomes, and which sentence refuses what it cannot be."""

from __future__ import annotations

import math
import pickle
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import thalweg as tw
from thalweg.plan.estimate import Estimate
from thalweg.stats import (
    BytesPerRow,
    DistinctValues,
    Knowledge,
    Partners,
    Rows,
    RowsPerSecond,
    SourceKept,
)
from thalweg.stats.knowledge import Question

ON = "a.k = b.k AND b.k = c.id AND b.m = c.m AND a.price < b.limit"
AK, BK, CID = ("a", "k"), ("b", "k"), ("c", "id")


def known(statistics: Any, on: str = ON, **arguments: Any) -> dict[Question, Estimate]:
    given = {"window": 10, "time": "t", **arguments}
    return dict(tw.join(on, statistics=statistics, **given)._statistics.facts)


def declared(value: float, low: float = 0, high: float = math.inf) -> Estimate:
    return Estimate(value, "declared", None, low, high)


def test_without_statistics_nothing_is_known() -> None:
    assert known(None) == known({}) == known({"partners": {}, "a": {}}) == {}


def test_streams_are_known_by_their_alias() -> None:
    given = {
        "a": {"rows_per_second": 1000, "distinct": {"k": 50, "price": 7}, "kept": 0.5, "bytes_per_row": 90},
        "b": {"rows_per_second": np.float64(2.5)},
        "c": {"rows": 12},
    }
    assert known(given) == {
        RowsPerSecond("a"): declared(1000), DistinctValues("a", "k"): declared(50, 1),
        DistinctValues("a", "price"): declared(7, 1), SourceKept("a"): declared(0.5, high=1),
        BytesPerRow("a"): declared(90), RowsPerSecond("b"): declared(2.5), Rows("c"): declared(12),
    }  # fmt: skip


@pytest.mark.parametrize("key", ["a.k = b.k", "a.k=b.k", " a . k\n=  b.k ", "`a`.k = b.`k`", "a, b"])
def test_partners_are_known_in_both_directions(key: str) -> None:
    facts = {Partners(AK, BK): declared(30), Partners(BK, AK): declared(0.2)}
    assert known({"partners": {key: (30, 0.2)}}) == facts
    assert known({"partners": {key: [30, 0.2]}}) == facts
    assert known({"partners": {key: (30, None)}}) == {Partners(AK, BK): declared(30)}
    assert known({"partners": {key: (None, None)}}) == {}


def test_the_sides_of_an_equality_may_be_exchanged() -> None:
    facts = known({"partners": {"b.k = a.k": (0.2, 30)}})
    assert facts == known({"partners": {"a.k = b.k": (30, 0.2)}}) == known({"partners": {"b,a": (0.2, 30)}})
    assert facts[Partners(AK, BK)].value == 30


def test_an_equality_may_follow_from_others() -> None:
    assert known({"partners": {"c.id = a.k": (4, 0)}}) == {
        Partners(CID, AK): declared(4),
        Partners(AK, CID): declared(0),
    }
    # two columns of b in one class: windows are probed by the first
    within = known({"partners": {"a.k = b.j": (4, 5)}}, "a.k = b.k AND a.k = b.j")
    assert within == {Partners(AK, BK): declared(4), Partners(BK, AK): declared(5)}


def test_several_equalities_of_two_streams_are_one_edge() -> None:
    by_both = {Partners(BK, CID): declared(2), Partners(("b", "m"), ("c", "m")): declared(2)}
    assert known({"partners": {"b, c": (2, None)}}) == by_both
    assert known({"partners": {"b.k = c.id AND c.m = b.m": (2, None)}}) == by_both
    assert list(known({"partners": {"b.m = c.m": (2, None)}})) == [Partners(("b", "m"), ("c", "m"))]


def test_any_number_may_be_an_interval_or_an_estimate() -> None:
    interval, estimate = {"low": 10, "high": 90}, Estimate(7, "counted", 4, low=0, as_of=60)
    given = {
        "a": {"rows_per_second": interval, "distinct": {"k": interval}, "bytes_per_row": interval},
        "b": {"rows_per_second": estimate, "kept": {"low": 0.1, "high": 0.4}},
        "partners": {"a, b": (interval, estimate)},
    }
    facts = known(given)
    for question in (RowsPerSecond("a"), DistinctValues("a", "k"), BytesPerRow("a"), Partners(AK, BK)):
        assert facts[question].interval(0.9) == pytest.approx((10, 90))
        assert facts[question].origin == "declared"
    assert facts[RowsPerSecond("b")] == facts[Partners(BK, AK)] == estimate
    assert facts[SourceKept("b")].interval(0.9) == pytest.approx((0.1, 0.4))
    assert (facts[SourceKept("b")].low, facts[SourceKept("b")].high) == (0, 1)


WRONG: list[tuple[Any, str]] = [
    (5, "statistics=5 must be a dict, such as"),
    ([("a", {})], "must be a dict, such as"),
    ({"d": {}}, "'d' is not a source of this query; give statistics of a, b, c or 'partners'"),
    ({"partner": {}}, "(did you mean 'partners'?)"),
    ({"A": {}}, "'A' is not a source of this query"),
    ({5: {}}, "5 is not a source of this query"),
    ({"a": 5}, "statistics of a: 5 must be a dict, such as {'rows_per_second': 100}"),
    ({"a": {"row_per_second": 5}}, "statistics of a: has the unknown key 'row_per_second' (did you mean 'rows_per"),
    ({"a": {"rows_per_second": 0}}, "statistics of a: rows_per_second=0 must be a number above 0"),
    ({"a": {"rows_per_second": -3}}, "rows_per_second=-3 must be a number above 0"),
    ({"a": {"rows_per_second": math.nan}}, "rows_per_second=nan must be a number above 0"),
    ({"a": {"rows_per_second": math.inf}}, "rows_per_second=inf must be a number above 0"),
    ({"a": {"rows_per_second": 10**400}}, "too many digits; give a smaller number"),
    ({"a": {"rows_per_second": {"low": 1, "high": 10**400}}}, "must be a finite number above 0"),
    ({"a": {"rows_per_second": 1e300}}, "statistics of a: rows_per_second: the number is 1e+300, but may be at most"),
    ({"a": {"rows_per_second": {"low": 1e299, "high": 1e300}}}, "may be at most 1e"),
    ({"a": {"rows_per_second": Estimate(1e16, "counted")}}, "may be at most 1e"),
    ({"partners": {"a.k = b.k": (1, 1e300)}}, "the number is 1e"),
    ({"a": {"rows_per_second": True}}, "rows_per_second=True must be a number above 0"),
    ({"a": {"rows_per_second": "5"}}, "rows_per_second='5' must be a number above 0"),
    ({"a": {"rows_per_second": None}}, "rows_per_second=None must be a number above 0"),
    ({"a": {"rows_per_second": Estimate(0, "counted")}}, "rows_per_second=0.0 must be a number above 0"),
    ({"a": {"rows_per_second": Estimate(-1, "counted")}}, "rows_per_second=-1.0 must be a number above 0"),
    ({"a": {"rows_per_second": {"low": 90, "high": 10}}}, "rows_per_second: low=90.0 is above high=10.0; swap them"),
    ({"a": {"rows_per_second": {"low": 0, "high": 10}}}, "rows_per_second: low=0 must be a finite number above 0"),
    ({"a": {"rows_per_second": {"low": 1, "high": math.nan}}}, "high=nan must be a finite number above 0"),
    ({"a": {"rows_per_second": {"low": 1, "high": math.inf}}}, "high=inf must be a finite number above 0"),
    ({"a": {"rows_per_second": {"low": True, "high": 2}}}, "low=True must be a finite number above 0"),
    ({"a": {"rows_per_second": {"low": 1}}}, "must have low and high, the ends of a 90 % interval"),
    ({"a": {"rows_per_second": {"low": 1, "hihg": 2}}}, "the unknown key 'hihg' (did you mean 'high'?)"),
    ({"a": {"kept": 1.5}}, "kept=1.5 must be a share from 0 to 1"),
    ({"a": {"kept": {"low": 0.5, "high": 1.5}}}, "high=1.5 is a share, so it must be at most 1"),
    ({"a": {"distinct": 5}}, "distinct=5 must be a dict: {'a column': 12}"),
    ({"a": {"distinct": {"kk": 5}}}, "name the unknown column 'kk' (did you mean 'k'?); its columns are k, price"),
    ({"a": {"distinct": {"k": 0.5}}}, "a column has at least one distinct value"),
    ({"partners": 5}, "partners=5 must be a dict, such as {'a.k = b.k': (30, 0.2)}"),
    ({"partners": {"a.k = b.k": 30}}, "partners of 'a.k = b.k' are 30; give a pair such as (30, 0.2)"),
    ({"partners": {"a.k = b.k": (1, 2, 3)}}, "give a pair such as (30, 0.2)"),
    ({"partners": {"a.k = b.k": "ab"}}, "give a pair such as (30, 0.2)"),
    ({"partners": {"a.k = b.k": (-1, 2)}}, "partners of 'a.k = b.k'=-1 must be a number at least 0"),
    ({"partners": {"a.k = b.k": (1, math.nan)}}, "=nan must be a number at least 0"),
    ({"partners": {"a.k = b.k": (1, 2), "b.k = a.k": (1, 2)}}, "are given twice, with different numbers; remove one"),
    ({"partners": {"a.k = b.m": (1, 2)}}, "(did you mean 'a.k = b.k'?), only a.k = b.k = c.id, b.m = c.m; give"),
    ({"partners": {"a.k = d.k": (1, 2)}}, "leave out the statistics of another query"),
    ({"partners": {"a.k = a.k": (1, 2)}}, "the query has no such equality"),
    ({"partners": {"a.k < b.k": (1, 2)}}, "the query has no such equality"),
    ({"partners": {"a.k = b.k AND b.k = c.id": (1, 2)}}, "the query has no such equality"),
    ({"partners": {"a.k = b.k AND a.price < b.limit": (1, 2)}}, "the query has no such equality"),
    ({"partners": {"a.k =": (1, 2)}}, "the query has no such equality"),
    ({"partners": {"k = k": (1, 2)}}, "the query has no such equality"),
    ({"partners": {"a": (1, 2)}}, "the query has no such equality"),
    ({"partners": {"a, a": (1, 2)}}, "the query has no such equality"),
    ({"partners": {"a, d": (1, 2)}}, "the query has no such equality"),
    ({"partners": {("a", "b"): (1, 2)}}, "the query has no such equality"),
]  # fmt: skip


@pytest.mark.parametrize(("statistics", "message"), WRONG, ids=range(len(WRONG)))
def test_wrong_statistics_are_refused(statistics: Any, message: str) -> None:
    with pytest.raises(tw.PlanError) as error:
        known(statistics)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_streams_that_are_not_neighbors_have_no_partners() -> None:
    with pytest.raises(tw.PlanError, match="no such equality"):
        known({"partners": {"a, c": (1, 2)}}, "a.k = b.k AND b.m = c.m")


def test_tables_have_rows_and_streams_a_rate() -> None:
    by_dict = {"window": {"a": 5}, "time": {"a": "t"}}
    assert known({"b": {"rows": 9}}, "a.k = b.k", **by_dict) == {Rows("b"): declared(9)}
    with pytest.raises(tw.PlanError, match=r"has the unknown key 'rows_per_second'.*, because it is a table"):
        known({"b": {"rows_per_second": 9}}, "a.k = b.k", **by_dict)
    with pytest.raises(tw.PlanError, match=r"has the unknown key 'rows'.*, because it is a stream"):
        known({"a": {"rows": 9}}, "a.k = b.k", **by_dict)


def test_a_pickled_join_knows_the_same() -> None:
    join = tw.join("a.k = b.k", 10, "t", statistics={"partners": {"a, b": (3, 4)}})
    assert pickle.loads(pickle.dumps(join))._statistics == join._statistics
    assert join._statistics != Knowledge()


TIMES = pa.array([datetime(2026, 1, 1)] * 2, pa.timestamp("us"))
SQL = "SELECT A.k FROM tcp A, udp b, ports WHERE a.K = b.k AND upper(b.s) = ports.s AND a.size > 3 WINDOW 10 SECONDS"


def session(**statistics: Any) -> tw.Session:
    s = tw.session()
    rows = pa.table({"ts": TIMES, "k": [1, 2], "size": [1, 2], "s": ["x", "y"]})
    for name in ("tcp", "udp"):
        s.stream(name, rows, time="ts", statistics=statistics.get(name))
    s.table("ports", pa.table({"s": ["X"]}), statistics=statistics.get("ports"))
    return s


def asked(statistics: Any, sql: str = SQL, **declared_before: Any) -> dict[Question, Estimate]:
    return dict(session(**declared_before).query(sql, statistics=statistics)._statistics.facts)


def test_a_query_takes_statistics_by_alias() -> None:
    given = {"a": {"rows_per_second": 9, "distinct": {"K": 4}, "kept": 0.2}, "PORTS": {"rows": 5}}
    assert asked(given) == {
        RowsPerSecond("tcp"): declared(9), DistinctValues("tcp", "k"): declared(4, 1),
        SourceKept("A"): declared(0.2, high=1), Rows("ports"): declared(5),
    }  # fmt: skip


def test_a_query_overrides_what_its_streams_declare() -> None:
    counted = Estimate(77, "counted", 1, low=0, as_of=5)
    tcp, udp = {"rows_per_second": counted, "distinct": {"k": 8}}, {"rows_per_second": {"low": 2, "high": 4}}
    facts = asked({"a": {"rows_per_second": 9}}, tcp=tcp, udp=udp)
    assert facts[RowsPerSecond("tcp")] == declared(9)
    assert facts[DistinctValues("tcp", "k")] == declared(8, 1)
    assert facts[RowsPerSecond("udp")].interval(0.9) == pytest.approx((2, 4))


def test_partners_of_a_query_are_found_by_their_text() -> None:
    a_to_b = Partners(("A", "k"), ("b", "k"))
    for key in ("a.k = b.k", "A.K=B.K", "a, b", "A,B"):
        assert asked({"partners": {key: (30, None)}}) == {a_to_b: declared(30)}
    assert asked({"partners": {"b.k = a.k": (None, 30)}}) == {a_to_b: declared(30)}
    by_names = asked({"partners": {"b, ports": (1, 2)}})
    assert [(edge.of[0], made.value) for edge, made in by_names.items() if isinstance(edge, Partners)] == [
        ("b", 1), ("ports", 2),
    ]  # fmt: skip
    assert asked({"partners": {"UPPER(b.s)=ports.s": (1, 2)}}) == by_names
    assert asked({"partners": {"ports.s = upper( b.s )": (2, 1)}}) == by_names


def test_the_plan_of_a_query_uses_declared_partners() -> None:
    def plan(**pairs: tuple[float, float]) -> Any:
        stated = {"partners": {"a, b": pairs["ab"], "b, ports": pairs["bp"]}}
        return session().query(SQL, statistics=stated).plan

    made = plan(ab=(30, 0.2), bp=(5, 6))
    assert [(each.of, each.partners) for each in made.estimates.sources["b"].partners] == [("A", declared(30))]
    assert made.join.order == ("A", "ports", "b")
    assert made.join.why == "fewest expected partners first, from declared statistics"
    assert plan(ab=(0.1, 0.2), bp=(5, 6)).join.order == ("b", "A", "ports")
    kept = session().query(SQL, statistics={"a": {"kept": 0.25}}).plan.estimates.sources["A"].kept
    assert kept == declared(0.25, high=1)


@pytest.mark.parametrize(
    ("statistics", "sql", "message"),
    [
        ({"tcp": {}}, SQL, "'tcp' is not a source of this query; give statistics of A, b, ports or 'partners'"),
        ({"a": {"rows": 3}}, SQL, "because it is a stream"),
        ({"ports": {"rows_per_second": 3}}, SQL, "because it is a table"),
        ({"a": {"distinct": {"siez": 3}}}, SQL, "did you mean 'size'?"),
        ({"partners": {"a.k = ports.s": (1, 2)}}, SQL, "the query has no such equality"),
        ({"partners": {"a, b": (1, 2)}}, "SELECT k FROM tcp", "the query joins nothing, so its rows have no partners"),
        (5, "SELECT k FROM tcp", "statistics=5 must be a dict"),
    ],
)
def test_wrong_statistics_of_a_query_are_refused(statistics: Any, sql: str, message: str) -> None:
    with pytest.raises(tw.PlanError) as error:
        asked(statistics, sql)
    assert message in str(error.value)


def test_one_stream_with_two_aliases_has_one_rate() -> None:
    sql = "SELECT p.k FROM tcp p, tcp q WHERE p.k = q.k AND q.size > 3 WINDOW 10 SECONDS"
    same = asked({"p": {"rows_per_second": 9}, "q": {"rows_per_second": 9}}, sql)
    assert same == {RowsPerSecond("tcp"): declared(9)}
    with pytest.raises(tw.PlanError, match="are the same stream, but rows_per_second is 9 and 3; give the same"):
        asked({"p": {"rows_per_second": 9}, "q": {"rows_per_second": 3}}, sql)
    # rates that were counted after filters, which have kept all of these rows
    counted = asked({"p": {"rows_per_second": 9}, "q": {"rows_per_second": 3, "kept": 1}}, sql)
    assert counted[RowsPerSecond("tcp")].value * counted[SourceKept("q")].value == pytest.approx(3)
