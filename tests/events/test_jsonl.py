"""JSON lines preserve records exactly."""

from __future__ import annotations

import dataclasses
import json
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings

from tests.events.some_records import native_records, records_of_a_run
from thalweg import ThalwegError
from thalweg.events import (
    JsonLines,
    Observed,
    PlanObserved,
    Record,
    Switched,
    VerdictGiven,
    from_json,
    read,
    to_json,
)


@given(records_of_a_run() | native_records())
def test_a_record_is_one_line_and_comes_back_equal(records: list[Record]) -> None:
    for record in records:
        line = to_json(record)
        assert "\n" not in line
        assert from_json(line) == record
        assert hash(from_json(line)) == hash(record)  # lists came back as tuples
        assert json.loads(line)["event"] == record.event


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


SWITCHED = Switched("r", 3, "w", 10, ("b", "a"))


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
    def switched(query: str, start: str, batch: int) -> Switched:
        return Switched(f"{query} run {start}", batch, "w", 1, ("a",), query, start)

    def observed(query: str, start: str, batch: int) -> Observed:
        return Observed(
            f"{query} run {start}", "stream", batch, "w", "static", ("a",), ("a",), 5, 5, (5,), (5,), (5,), (1.0,),
            (0,), (0,), (0,), 0, 5, 0, 0, 0, query, start,
        )  # fmt: skip

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


def test_a_field_with_a_default_may_be_missing() -> None:
    optional = {f.name for f in dataclasses.fields(Observed) if f.default is not dataclasses.MISSING}
    assert optional == {
        "omitted_switches", "query", "start", "failed", "raised", "query_name", "fixed_ns", "switched",
        "rows_in_force", "evaluated_in_force", "passed_in_force", "standing", "trials", "trial_rows", "trial_ns",
        "trial_loss_ns", "compiling_ns", "mesh_version", "route_rows", "route_evaluated", "route_ns", "routing_ns",
        "predicted_saving_ns", "realized_saving_ns", "rounds", "moves", "outside", "judged", "hits", "regret", "mesh",
        "shares",
    }  # fmt: skip


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
    line = to_json(dataclasses.replace(last, trial_loss_ns=-1))  # a measured loss is at least 0
    with pytest.raises(ThalwegError, match="trial_loss_ns is -1"):
        from_json(line)


@settings(max_examples=5)
@given(records=records_of_a_run())
def test_a_cost_too_large_for_a_float_is_no_record(records: list[Record]) -> None:
    line = json.loads(to_json(records[-1]))
    line["cost_ns"] = [10**400, *line["cost_ns"][1:]]
    with pytest.raises(ThalwegError, match="cost_ns"):
        from_json(json.dumps(line))


@pytest.mark.parametrize("line", ["[1, 2]", "7", "not json", '{"event": "switched", "run": "r"}', '{"event": "swit'])
def test_a_line_that_is_not_a_record_is_refused_the_same_way(line: str) -> None:
    with pytest.raises(ThalwegError, match="not an event record"):
        from_json(line)


def test_a_number_that_json_does_not_have_is_our_mistake() -> None:
    with pytest.raises(ValueError, match="JSON"):
        to_json(VerdictGiven("r", None, "w", "p", float("nan"), (), (), ""))  # type: ignore[arg-type]


def test_several_threads_may_write(tmp_path: Path) -> None:
    lines = JsonLines(tmp_path / "events.jsonl")

    def write(worker: int) -> None:
        for at in range(50):
            lines.write(Switched("r", None, f"w{worker}", at, ("a" * 200,)))

    threads = [threading.Thread(target=write, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    back = list(read(lines.path))
    assert len(back) == 200
    switched = [record for record in back if isinstance(record, Switched)]
    assert {(r.worker, r.at_row) for r in switched} == {(f"w{k}", at) for k in range(4) for at in range(50)}


def test_a_place_that_cannot_be_written_is_named_with_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ThalwegError, match=r"events=") as caught:
        JsonLines(tmp_path / "file" / "events.jsonl")
    assert "events.jsonl" in str(caught.value)


OF_AN_EARLIER_VERSION = (
    '{"event": "plan", "run": "r", "kind": "local", "batch": null, "worker": "local", "policy": "chart", "plan": '
    '"(a b) c", "rows": 10, "work_ns": 1000, "results": 2, "held_rows": 5, "held_bytes": 100, "elapsed": 1.5, '
    '"expected_ns": null, "expected_results": null, "expected_rows": null, "expected_bytes": null, "next_plan": "", '
    '"reason": "", "rates": [1.0, 2.0, 3.0], "moved": true, "outside": false, "hit": true, "regret": 1.0, '
    '"standing": ""}'
)


def test_plans_of_an_earlier_version_have_moves_of_one_round() -> None:
    record = from_json(OF_AN_EARLIER_VERSION)
    assert isinstance(record, PlanObserved)
    assert (record.rounds, record.moves, record.outside, record.hit) == (1, 1, 0, True)
    assert from_json(to_json(record)) == record
