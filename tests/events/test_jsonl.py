"""JSON lines preserve records exactly."""

from __future__ import annotations

import json
import threading
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given, settings

from tests.events.flat_records import changed, made
from tests.events.some_records import native_records, records_of_a_run
from thalweg import ThalwegError
from thalweg.events import (
    JsonLines,
    Observed,
    Origin,
    Record,
    Switched,
    VerdictGiven,
    from_json,
    read,
    to_json,
)
from thalweg.events.counts import shape_of
from thalweg.events.parts import ChartCounts, RouteCounts


@given(records_of_a_run() | native_records())
def test_a_record_is_one_line_and_comes_back_equal(records: list[Record]) -> None:
    for record in records:
        line = to_json(record)
        assert "\n" not in line
        assert from_json(line) == record
        assert json.loads(line)["event"] == record.event


def test_lists_of_zeros_come_back_equal_if_their_length_is_not_that_of_the_names() -> None:
    chart = ChartCounts(rounds=1, shares=[0.0, 0.0, 0.0])
    routes = RouteCounts(1, [3, 2], [6, 4], [0, 0])
    origin, names = Origin("run 1", "local", None, "w", "mesh"), ("a", "b", "c")
    record = from_json(to_json(Observed(origin, names, names, chart=chart, routes=routes)))
    assert isinstance(record, Observed)
    assert (record.chart, record.routes) == (chart, routes)
    adopted = replace(record, routes=RouteCounts(1, [0, 0], [0, 0], [0, 0]))
    assert from_json(to_json(adopted)) == adopted


def test_a_plan_of_an_earlier_version_is_refused() -> None:
    line = {"event": "plan", "run": "r", "kind": "local", "plan": "multiway", "rows": 7, "work_ns": 5}
    with pytest.raises(ThalwegError, match="not an event record of this version"):
        from_json(json.dumps(line))


@settings(max_examples=20)
@given(records=records_of_a_run())
def test_a_file_gives_back_what_was_written_in_order(
    records: list[Record], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("events") / "deeper" / "events.jsonl"
    lines = JsonLines(path)
    for record in records:
        lines.write(record)
    assert list(read(path)) == records
    again = JsonLines(str(path))  # appends, and takes its path as text
    again.write(records[0])
    assert list(read(str(path))) == [*records, records[0]]


SWITCHED = Switched(Origin("r", "stream", 3, "w", "p"), 10, ("b", "a"))


def test_blank_lines_are_skipped(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text(f"\n{to_json(SWITCHED)}\n\n", encoding="utf-8")
    assert list(read(path)) == [SWITCHED]


def test_a_line_cut_off_by_a_kill_is_skipped(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    line = to_json(SWITCHED)
    for length in range(1, len(line)):
        path.write_text(f"{line}\n{line[:length]}", encoding="utf-8")
        assert list(read(path)) == [SWITCHED]
        JsonLines(path).write(SWITCHED)
        assert list(read(path)) == [SWITCHED, SWITCHED]


def test_a_line_that_lacks_only_its_end_counts(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text(to_json(SWITCHED), encoding="utf-8")
    JsonLines(path).write(SWITCHED)
    assert list(read(path)) == [SWITCHED, SWITCHED]


def test_only_the_last_run_of_a_repeated_micro_batch_is_read(tmp_path: Path) -> None:
    def of(query: str, start: str, batch: int) -> Origin:
        return Origin(f"{query} run {start}", "stream", batch, "w", "static", query, start)

    def switched(query: str, start: str, batch: int) -> Switched:
        return Switched(of(query, start, batch), 1, ("a",))

    def observed(query: str, start: str, batch: int) -> Observed:
        counts: dict[str, Any] = {"rows": 5, "kept": 5, "evaluated": (5,), "passed": (5,)}
        return made(Observed, predicates=("a",), order=("a",), **counts, **asdict(of(query, start, batch)))

    written = [
        kind(*name)
        for name in [("q", "1", 0), ("q", "1", 1), ("other", "1", 1), ("q", "2", 1), ("q", "2", 2)]
        for kind in (switched, observed)
    ]
    path = tmp_path / "events.jsonl"
    lines = JsonLines(path)
    for record in written:
        lines.write(record)
    assert list(read(path)) == written[:2] + written[4:]
    lines.write(switched("q", "3", 2))  # killed before it could report what it observed: the previous run still counts
    assert list(read(path)) == [*written[:2], *written[4:8], *written[8:]]


def test_fields_of_a_later_version_are_left_out() -> None:
    values = {**json.loads(to_json(SWITCHED)), "weather": "fine"}
    assert from_json(json.dumps(values)) == SWITCHED


def test_only_what_is_not_zero_is_written() -> None:
    origin = Origin("r", "local", worker="w", policy="static")
    idle = made(Observed, predicates=("a", "b"), order=("b", "a"), **asdict(origin))
    assert json.loads(to_json(idle)) == {
        "event": "observed", "run": "r", "kind": "local", "worker": "w", "policy": "static", "predicates": ["a", "b"],
        "order": ["b", "a"],
    }  # fmt: skip
    assert from_json(to_json(idle)) == idle
    some = changed(idle, evaluated=(0, 3), cost_ns=(None, 2.5), trials=1)
    assert json.loads(to_json(some))["trials"] == {"trials": 1}
    assert json.loads(to_json(some))["chain"] == {"evaluated": [0, 3]}
    assert from_json(to_json(some)) == some


@pytest.mark.parametrize("kind", get_args(Record))
def test_no_record_and_no_part_has_more_than_twenty_fields(kind: Any) -> None:
    assert len(fields(kind)) <= 20
    for each in shape_of(kind):
        assert each.part is None or len(fields(each.part)) <= 20


@pytest.mark.parametrize("line", ['{"event": "weather", "run": "r"}', "{}", '{"event": null}'])
def test_a_line_of_another_kind_is_refused_with_its_beginning(line: str) -> None:
    with pytest.raises(ThalwegError, match=r"not an event record.*read it with that version") as caught:
        from_json(line)
    assert line[:40] in str(caught.value)


@settings(max_examples=5)
@given(records=records_of_a_run())
def test_a_negative_trial_loss_is_refused(records: list[Record]) -> None:
    last = records[-1]
    assert isinstance(last, Observed)
    line = to_json(changed(last, trial_loss_ns=-1))  # a measured loss is at least 0
    with pytest.raises(ThalwegError, match=r"trials\.loss_ns is -1"):
        from_json(line)


@settings(max_examples=5)
@given(records=records_of_a_run())
def test_a_cost_too_large_for_a_float_is_no_record(records: list[Record]) -> None:
    line = json.loads(to_json(records[-1]))
    line["calls"] = {"cost_ns": [10**400] * len(line["predicates"])}
    with pytest.raises(ThalwegError, match="cost_ns"):
        from_json(json.dumps(line))


@pytest.mark.parametrize("line", ["[1, 2]", "7", "not json", '{"event": "switched", "run": "r"}', '{"event": "swit'])
def test_a_line_that_is_not_a_record_is_refused_the_same_way(line: str) -> None:
    with pytest.raises(ThalwegError, match="not an event record"):
        from_json(line)


def test_a_number_that_json_does_not_have_is_our_mistake() -> None:
    with pytest.raises(ValueError, match="JSON"):
        to_json(VerdictGiven(Origin("r", "local"), float("nan"), (), (), ""))  # type: ignore[arg-type]


def test_several_threads_may_write(tmp_path: Path) -> None:
    lines = JsonLines(tmp_path / "events.jsonl")

    def write(worker: int) -> None:
        for at in range(50):
            lines.write(Switched(Origin("r", "local", None, f"w{worker}", "p"), at, ("a" * 200,)))

    threads = [threading.Thread(target=write, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    back = list(read(lines.path))
    assert len(back) == 200
    switched = [record for record in back if isinstance(record, Switched)]
    assert {(r.origin.worker, r.at_row) for r in switched} == {(f"w{k}", at) for k in range(4) for at in range(50)}


def test_a_place_that_cannot_be_written_is_named_with_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ThalwegError, match=r"events=") as caught:
        JsonLines(tmp_path / "file" / "events.jsonl")
    assert "events.jsonl" in str(caught.value)
