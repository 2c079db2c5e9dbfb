"""Invalid arguments of the public API are reported by name, if possible before a row is read."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import thalweg as tw

TABLE = pa.table({"line": ["a", "b"], "size": [1, 2]})


class Untouched:
    """A predicate and a set-up that must not be called."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def setup(self) -> None:
        self.calls.append("setup")

    def test(self, *values: object) -> bool:
        self.calls.append("test")
        return True


def said(action: Any) -> str:
    with pytest.raises(tw.ThalwegError) as caught:
        action()
    return str(caught.value)


def test_every_plan_error_is_a_value_error_and_a_thalweg_error() -> None:
    assert issubclass(tw.PlanError, (tw.ThalwegError, ValueError))
    assert issubclass(tw.PredicateError, (tw.ThalwegError, RuntimeError))


def test_an_unknown_column_is_reported_before_anything_is_called() -> None:
    untouched = Untouched()
    keep = tw.filters(tw.predicate(untouched.test, "lines", name="p", setup=untouched.setup))
    message = said(lambda: list(keep.over(TABLE)))
    assert all(word in message for word in ("'lines'", "did you mean 'line'", "size"))
    assert untouched.calls == []


@pytest.mark.parametrize("data", [TABLE, TABLE.to_batches()[0]])
def test_an_unknown_column_is_reported_early_if_possible(data: Any) -> None:
    keep = tw.filters(tw.predicate(len, "lines"))
    assert "'lines'" in said(lambda: keep.over(data))


def test_an_unknown_column_in_a_later_batch_is_reported() -> None:
    keep = tw.filters(tw.predicate(len, "line"))
    batches = [TABLE.to_batches()[0], pa.RecordBatch.from_pydict({"other": [1]})]
    assert "'line'" in said(lambda: list(keep.over(batches)))


def test_two_columns_with_the_same_name_are_refused() -> None:
    twice = pa.RecordBatch.from_arrays([pa.array(["a"]), pa.array(["b"])], names=["line", "line"])
    assert "'line'" in said(lambda: list(tw.filters(tw.predicate(len, "line")).over(twice)))


@pytest.mark.parametrize("data", [5, None, "line", [1], [{"line": "a"}], {"line": ["a"]}], ids=repr)
def test_data_that_is_not_arrow_is_refused_by_type(data: Any) -> None:
    message = said(lambda: list(tw.filters(tw.predicate(len, "line")).over(data)))
    assert "over() takes Arrow record batches or a table" in message


def test_data_that_is_no_dataframe_is_refused_with_a_hint() -> None:
    message = said(lambda: tw.filters(tw.predicate(len, "line"))(TABLE))
    assert "Table" in message
    assert ".over(" in message


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"policy": "sweeep"}, ["'sweeep'", "did you mean 'sweep'", "a-greedy"]),
        ({"policy": "a-greedy(p=2.0)"}, ["'a-greedy'", "p=2.0", "at most 1"]),
        ({"policy": "a-greedy(profile_window=-5)"}, ["profile_window=-5"]),
        ({"policy": "sweep(profile_window=100000000000)"}, ["profile_window=100000000000", "from 1 to 10,000,000"]),
        ({"time_limit": 1e300}, ["time_limit=1e+300", "at most 1,000,000,000", "None"]),
        ({"time_limit": 10**10}, ["time_limit=10000000000", "at most 1,000,000,000"]),
        ({"policy": "a-greedy(alpha=0.0)"}, ["alpha=0.0"]),
        ({"slice_rows": 0}, ["slice_rows=0", "1 or more"]),
        ({"policy": "static(p=0.5)"}, ["'static'", "no setting p=0.5", "takes none"]),
    ],
)
def test_invalid_settings_are_reported_at_creation(options: dict[str, Any], words: list[str]) -> None:
    message = said(lambda: tw.filters(tw.predicate(len, "line"), **options))
    assert [word for word in words if word not in message] == []


def test_invalid_settings_of_the_environment_are_reported_at_use(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not before: Spark's configuration may say something else."""
    monkeypatch.setenv("THALWEG_POLICY", "greedy")
    keep = tw.filters(tw.predicate(len, "line"))
    assert "THALWEG_POLICY='greedy'" in said(lambda: keep.over(TABLE))


def test_a_function_instead_of_a_predicate() -> None:
    assert "tw.predicate(" in said(lambda: tw.filters(len))  # type: ignore[arg-type]


@pytest.mark.parametrize("options", [{"policy": "sweep(profile_window=10000000)"}, {"time_limit": 1e9}], ids=str)
def test_the_greatest_values_work(options: dict[str, Any]) -> None:
    keep = tw.filters(tw.predicate(len, "line"), tw.predicate(lambda size: size > 1, "size", name="two"), **options)
    assert pa.Table.from_batches(keep.over(TABLE)).column("size").to_pylist() == [2]


TIMES = pa.table({"ts": pa.array([0, 1, 2], pa.timestamp("us")), "k": [1, 1, 2]})
LENGTHS = [-1, True, "x", "5 weeks", 2**63, 10**30, 1e10, 1e300, float("nan"), float("inf"), np.timedelta64(5, "D")]
DOORS: dict[str, Any] = {
    "budget": lambda value: tw.filters(tw.predicate(len, "line"), policy="auto", budget=value),
    "p": lambda value: tw.filters(tw.predicate(len, "line"), policy=tw.policy("sweep", p=value)),
    "profile_window": lambda value: tw.filters(
        tw.predicate(len, "line"), policy=tw.policy("sweep", profile_window=value)
    ),
    "eddy_batch": lambda value: tw.filters(tw.predicate(len, "line"), policy=tw.policy("eddy", batch=value)),
    "slice_rows": lambda value: tw.filters(tw.predicate(len, "line"), slice_rows=value),
    "time_limit": lambda value: tw.filters(tw.predicate(len, "line"), time_limit=value),
    "seed": lambda value: tw.filters(tw.predicate(len, "line"), seed=value),
    **{
        name: lambda value, name=name: tw.join(**{"on": "a.k = b.k", "window": "1 s", "time": "ts", name: value})
        for name in ("window", "lateness", "max_ahead", "idle_after", "max_matches", "max_bytes", "buckets")
    },
    "by": lambda value: tw.join("a.k = b.k", window="1 s", time="ts", objective=tw.objective.most_results(by=value)),
    "results": lambda value: tw.objective.first_results(value),
    "rate": lambda value: tw.objective.balance(rate=value, memory=1),
    "lateness of a stream": lambda value: tw.session().stream("t", TIMES, time="ts", lateness=value),
    "cost": lambda value: tw.session().function("f", len, pa.int64(), cost=value),
    "rows_per_second": lambda value: tw.session().stream("t", TIMES, time="ts", statistics={"rows_per_second": value}),
    "Estimate": lambda value: tw.Estimate(value, "declared"),
    "low": lambda value: tw.Estimate.between(value, 5),
}
"""Where users pass lengths, durations and counts."""


def rows_of(made: Any) -> int | None:
    """Return the number of rows of a join or a chain."""
    if hasattr(made, "late"):
        return sum(len(batch) for batch in made.over(a=TIMES, b=TIMES))
    return sum(len(batch) for batch in made.over(TABLE)) if hasattr(made, "failed") else None


@pytest.mark.parametrize("door", DOORS)
def test_a_number_out_of_range_works_or_is_refused_in_a_sentence(door: str) -> None:
    """A join and a chain that can be made also run."""
    for value in LENGTHS:
        try:
            rows = rows_of(DOORS[door](value))
        except tw.ThalwegError as error:
            words = str(error)
        else:
            words = ""
            assert rows in (2, 5, None)
        assert len(words) < 300, value


@pytest.mark.parametrize("timeout", [0, -1, 1e10, 1e300, 2**70, float("inf")], ids=repr)
def test_a_run_is_waited_for_with_any_timeout(timeout: float) -> None:
    session = tw.session()
    session.stream("t", TIMES, time="ts")
    rounds = session.rounds([session.query("SELECT k FROM t", name="q")])
    waited: list[Any] = [rounds, rounds.runs["q"]]
    for run in waited:
        assert run.awaitTermination(timeout) in ((True, False) if timeout <= 0 else (True,))
    rounds.stop()


@pytest.mark.parametrize("timeout", ["5 s", True, float("nan"), np.timedelta64(5, "D")], ids=repr)
def test_a_timeout_that_is_no_number_is_refused(timeout: Any) -> None:
    session = tw.session()
    session.stream("t", TIMES, time="ts")
    run = session.query("SELECT k FROM t", name="q").start(format="noop")
    assert "awaitTermination(timeout=" in said(lambda: run.awaitTermination(timeout))
    run.awaitTermination(60)


@pytest.mark.parametrize("place", ["a directory", "below a file", "a pipe", "a socket", "a device"])
def test_an_events_file_that_cannot_be_written_is_reported_early(place: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    path = {"a directory": tmp_path, "a device": Path("/dev/zero")}.get(place, tmp_path / "file" / "events.jsonl")
    if place == "a pipe":
        os.mkfifo(path := tmp_path / "pipe")
    if place == "a socket":
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(str(path := tmp_path / "socket"))
    untouched = Untouched()
    keep = tw.filters(tw.predicate(untouched.test, "line", name="p"), events=str(path))
    message = said(lambda: list(keep.over(TABLE)))
    assert str(path) in message
    assert "events=" in message
    assert untouched.calls == []


@pytest.mark.parametrize(
    ("answer", "words"),
    [(lambda s: pa.array([True]), ["2 rows", "1 value;"]), (lambda s: s, ["string", "booleans"])],
)
def test_a_vectorized_predicate_with_a_wrong_answer_is_named(answer: Any, words: list[str]) -> None:
    keep = tw.filters(tw.predicate(answer, "line", name="odd", vectorized=True))
    message = said(lambda: list(keep.over(TABLE)))
    assert [word for word in ["'odd'", *words] if word not in message] == []


def test_a_predicate_that_raises_is_named_with_the_remedy() -> None:
    keep = tw.filters(tw.predicate(int, "line", name="parse"))
    message = said(lambda: list(keep.over(TABLE)))
    assert all(word in message for word in ("'parse'", "ValueError", "line", "after="))


def test_the_message_names_the_users_own_line() -> None:
    def helper(text: str) -> int:
        return int(json.loads(text)["size"])

    at = f"(test_bad_arguments.py:{helper.__code__.co_firstlineno + 1} in helper)"
    keep = tw.filters(tw.predicate(lambda line: helper(line) > 1, "line", name="parse"))
    assert at in said(lambda: list(keep.over(TABLE)))
    redacted = tw.filters(tw.predicate(helper, "line"), redact=True)
    assert f"raised JSONDecodeError {at}" in said(lambda: list(redacted.over(TABLE)))


def test_the_message_of_a_setup_names_the_users_own_line() -> None:
    def load() -> None:
        raise OSError("no such model")

    keep = tw.filters(tw.predicate(lambda model, line: True, "line", name="p", setup=load))
    assert f"(test_bad_arguments.py:{load.__code__.co_firstlineno + 1} in load)" in said(lambda: list(keep.over(TABLE)))


def test_a_row_function_called_with_arrays_is_told_why() -> None:
    returns, raises = (lambda line: line == "a"), (lambda line: line.startswith("a"))
    for func in (returns, raises):
        keep = tw.filters(tw.predicate(func, "line", name="p", vectorized=True))
        assert "leave out vectorized=True" in said(lambda keep=keep: list(keep.over(TABLE)))


def test_predicates_in_a_list_are_to_be_unpacked() -> None:
    some = [tw.predicate(len, "line")]
    for given in (some, iter(some)):
        assert "tw.filters(*predicates)" in said(lambda given=given: tw.filters(given))


def test_a_field_of_a_struct_is_not_a_missing_column() -> None:
    table = pa.table({"s": [{"a": 1}]})
    assert "name the struct 's'" in said(lambda: tw.filters(tw.predicate(lambda a: a, "s.a", name="p")).over(table))


@pytest.mark.parametrize("data", ["a.parquet", {"line": ["a"]}, [TABLE], [1], pd.DataFrame({"line": ["a"]})], ids=repr)
def test_data_that_is_not_arrow_is_refused_before_any_row(data: Any) -> None:
    message = said(lambda: tw.filters(tw.predicate(len, "line")).over(data))
    assert ("pa.Table.from_pandas(df)" in message) == isinstance(data, pd.DataFrame)
