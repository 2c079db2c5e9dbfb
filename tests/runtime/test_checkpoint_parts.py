"""What the files of a checkpoint mean, and what is refused: functions of their texts."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.optimizer.planned import catalog
from thalweg.errors import CheckpointError, PlanError
from thalweg.optimizer import optimize
from thalweg.plan.query.plan_state import PlanState
from thalweg.plan.query.query_plan import QueryPlan
from thalweg.plan.sql.analysis import read_query
from thalweg.runtime.checkpoint_parts import (
    FORMAT,
    QUESTION,
    RESULTS,
    SINK,
    STATE,
    TIMES,
    Part,
    Question,
    Results,
    Sink,
    StoredPlan,
    identity_of,
    refuse_another_plan,
    refuse_another_question,
    refuse_earlier,
)
from thalweg.stats import NOTHING_KNOWN
from thalweg.stats.batch_time import BatchTimes

PLACE = "/data/checkpoint/thalweg/part"
TEXT = "SELECT p.a FROM p, q WHERE p.b = q.b AND risky(p.a) WINDOW 5 SECONDS"
RESULT = Results("buckets=2 by a.k = b.k", (("a", "bigint"), ("B", "string")), ())
STATE_OF = PlanState(("a.k = b.k",), (("a", "[NOW]"),), conditions=(("a", ("a.x > 1",)),), buckets=2)
TIMED = BatchTimes([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], 5.0, 2.0, 9, (0.5, 0.1, 0.0, 0.0))
VALUES: list[tuple[Part[Any], Any]] = [
    (QUESTION, Question("e5ee", "SELECT id FROM a WHERE id > :least", {"least": "3"})),
    (STATE, StoredPlan(STATE_OF, ("b", "a"))),
    (STATE, StoredPlan(PlanState(), ())),
    (SINK, Sink("/out", ("day",))),
    (RESULTS, RESULT),
    (RESULTS, replace(RESULT, join=None, partition_by=("a",))),
    (TIMES, TIMED),
]
REFUSED = (QUESTION, STATE, SINK)


def read(part: Part[Any], text: str | None, *, is_begun: bool = True) -> Any:
    return part.found(PLACE, lambda: text, lambda: is_begun)


@pytest.mark.parametrize(("part", "value"), VALUES)
def test_a_part_is_read_as_it_was_written(part: Part[Any], value: Any) -> None:
    text = part.text_of(value)
    assert read(part, text) == value
    assert json.loads(text)["format"] == FORMAT
    assert "\n" not in text


@pytest.mark.parametrize("part", REFUSED, ids=lambda part: part.name)
def test_damaged_parts_are_refused(part: Part[Any]) -> None:
    """Those of another part too: the files were swapped."""
    value = next(value for each, value in VALUES if each is part)
    text = part.text_of(value)
    others = [each.text_of(other) for each, other in VALUES if each is not part]
    no_format = json.dumps({name: value for name, value in json.loads(text).items() if name != "format"})
    for content in ("hello", "{", "[]", "{}", f'{{"format": {FORMAT}}}', text[:-5], "\0" * 9, no_format, *others):
        with pytest.raises(CheckpointError, match=rf"^the file {PLACE} of the checkpoint is damaged; restore it, or "):
            read(part, content)
    with pytest.raises(CheckpointError, match=f"^the file {PLACE} of the checkpoint is empty; restore it, or start "):
        read(part, "")


WRONG: list[tuple[Part[Any], dict[str, Any]]] = [
    (QUESTION, {"query": 5}), (QUESTION, {"text": None}), (QUESTION, {"args": []}),
    (STATE, {"state": []}), (STATE, {"order": "ab"}), (STATE, {"order": [5]}),
    (STATE, {"state": {"graph": "k"}}), (STATE, {"state": {"buckets": "2"}}),
    (SINK, {"folder": 5}), (SINK, {"partition_by": "day"}), (SINK, {"partition_by": [5]}),
]  # fmt: skip


@pytest.mark.parametrize(("part", "wrong"), WRONG)
def test_values_of_other_types_are_damages(part: Part[Any], wrong: dict[str, Any]) -> None:
    found = json.loads(part.text_of(next(value for each, value in VALUES if each is part)))
    with pytest.raises(CheckpointError, match="is damaged; restore it"):
        read(part, json.dumps(found | wrong))


@pytest.mark.parametrize("part", [part for part, _ in VALUES], ids=lambda part: part.name)
def test_a_part_that_is_missing_or_was_never_bound(part: Part[Any]) -> None:
    """An empty one is that of a start that was killed, or did not succeed."""
    assert read(part, None) is None
    assert read(part, "", is_begun=False) is None


@pytest.mark.parametrize("part", REFUSED, ids=lambda part: part.name)
def test_other_formats_are_refused(part: Part[Any]) -> None:
    found = json.loads(part.text_of(next(value for each, value in VALUES if each is part)))
    with pytest.raises(
        CheckpointError, match=f"{PLACE} of the checkpoint has format 4, but this version reads format 3; use the"
    ):
        read(part, json.dumps(found | {"format": 4}))
    with pytest.raises(CheckpointError, match="is damaged"):
        read(part, json.dumps(found | {"format": "new"}))


@pytest.mark.parametrize(
    "content",
    [
        "", "{", "[]", "{}", '{"join": 5, "columns": [], "partition_by": []}',
        '{"join": "another join", "columns": [["a"]], "partition_by": []}',
        '{"join": "another join", "columns": [["a", "b", "c"]], "partition_by": []}',
        '{"join": "another join", "columns": [["a", 5]], "partition_by": []}',
        '{"join": "another join", "columns": [5], "partition_by": []}',
        '{"join": "another join", "columns": [], "partition_by": "a"}',
    ],
)  # fmt: skip
def test_damaged_results_are_written_again(content: str) -> None:
    """The state has the description of the join too."""
    assert read(RESULTS, content) is None
    if content.startswith('{"join'):
        assert read(RESULTS, json.dumps(json.loads(content) | {"format": FORMAT})) is None


@pytest.mark.parametrize(
    "content",
    [
        "not JSON", "[1, 2]", "{}", '{"sums": [1, 2], "arrived": 1, "passed": 1, "batches": 4}',
        '{"sums": "abcdefg", "arrived": 1, "passed": 1, "batches": 4}',
        '{"sums": [1, 2, 3, 4, 5, 6, NaN], "arrived": 1, "passed": 1, "batches": 4}',
        '{"sums": [1, 2, 3, 4, 5, 6, 7], "arrived": 1, "passed": null, "batches": 4}',
    ],
)  # fmt: skip
def test_damaged_times_are_counted_anew(content: str) -> None:
    with pytest.warns(UserWarning, match=f"the times of micro-batches in {PLACE} cannot be read, and are counted anew"):
        assert read(TIMES, content) is None
    if content.startswith('{"'):
        with pytest.warns(UserWarning, match="cannot be read, and are counted anew"):
            assert read(TIMES, json.dumps(json.loads(content) | {"format": FORMAT, "line": None})) is None


def test_no_times_are_no_damage(recwarn: pytest.WarningsRecorder) -> None:
    for content in (None, ""):
        assert read(TIMES, content) is None
    assert not recwarn


def failing(error: Exception) -> Callable[[], str | None]:
    def text() -> str | None:
        raise error

    return text


def test_a_file_that_cannot_be_read() -> None:
    """It is no damaged one, unless its checksum is another. No result depends on times."""
    forbidden, other_checksum = failing(PlanError("Permission denied")), failing(CheckpointError("its checksum"))
    for part in (*REFUSED, RESULTS):
        with pytest.raises(PlanError, match="Permission denied"):
            part.found(PLACE, forbidden, lambda: True)
    for part in REFUSED:
        with pytest.raises(CheckpointError, match="its checksum"):
            part.found(PLACE, other_checksum, lambda: True)
    assert RESULTS.found(PLACE, other_checksum, lambda: True) is None
    for text, said in ((forbidden, "Permission denied"), (other_checksum, "its checksum")):
        with pytest.warns(UserWarning, match=f"counted anew: {said}"):
            assert TIMES.found(PLACE, text, lambda: True) is None


@pytest.mark.parametrize("name", ["thalweg", "thalweg/part-00000-0.txt", "thalweg-sink"])
def test_checkpoints_of_an_earlier_format(name: str) -> None:
    now = ["/cp/thalweg/question", "/cp/thalweg/.sink.crc", "/cp/thalweg/question/part-0", "/thalweg/state"]
    refuse_earlier("/cp/thalweg", now)
    with pytest.raises(
        CheckpointError, match=r"^the file /cp/x of the checkpoint has an earlier format, but this .* format 3; use the"
    ):
        refuse_earlier("/cp/x", [*now, f"file:/cp/{name}"])


def test_the_id_of_a_query() -> None:
    identity = "0b5cbb4c-4f49-4a2c-9f5c-0a1a2b3c4d5e"
    path = "/cp/metadata"
    assert identity_of(path, f'{{"id":"{identity}"}}', lambda: True) == identity
    assert identity_of(path, None, lambda: False) is None
    for content in (None, "", "{", "{}", "[]", '{"id": 5}', '{"id": "../x"}', f'{{"id":"{identity}'):
        with pytest.raises(
            CheckpointError,
            match=rf"^the file {path} of the checkpoint is {'missing' if content is None else 'damaged'}; restore it "
            r'\(it is {"id":"..."} with the id that the file .thalweg/query',
        ):
            identity_of(path, content, lambda: True)


def test_another_question_is_refused() -> None:
    begun = Question("1", "SELECT id FROM a WHERE id > :least AND id IN (:some)", {"least": "3", "some": "[4, 5]"})
    refuse_another_question("cp", begun, replace(begun, text="other words for the same", args={}), lambda: True)
    for now, differs in (
        (replace(begun, query="2", args={"least": "4", "some": "[4, 5]"}), "it had '= 3,'; now there is '= 4,'"),
        (replace(begun, query="2"), "its text is the same, but its streams have other times, columns or types"),
        (None, ""),
    ):
        with pytest.raises(CheckpointError) as caught:
            refuse_another_question("cp", begun, now, lambda: True)
        assert str(caught.value) == (
            "the checkpoint cp belongs to another query, whose state this one cannot use:\n"
            f"  {begun.text}\n  with :least = 3, :some = [4, 5]\n" + (f"  ({differs})\n" if differs else "") + "Give "
            "this query its own checkpoint and its own folder for results, or start the other one again"
        )


def test_a_checkpoint_without_a_question() -> None:
    """It is a new one, that of a join without a session, or that of an unknown query."""
    now = Question("1", "SELECT id FROM a", {})
    refuse_another_question("cp", None, now, lambda: False)
    refuse_another_question("cp", None, None, lambda: True)
    with pytest.raises(
        CheckpointError,
        match=r"^the checkpoint cp belongs to an unknown Spark query that was started without a session, or has lost "
        r"its file thalweg/question; restore that file, or give this query its own checkpoint and its own folder",
    ):
        refuse_another_question("cp", None, now, lambda: True)


def planned(text: str = TEXT, **functions: bool) -> QueryPlan:
    of = catalog()
    for name, safe in functions.items():
        of.functions[name] = replace(of.functions[name], safe=safe)  # type: ignore[index]
    return optimize(read_query(text, of, {}), "spark", "auto", NOTHING_KNOWN)


def stored(plan: QueryPlan, buckets: int = 2) -> StoredPlan:
    return STATE.meaning(PLACE, STATE.text_of(StoredPlan(PlanState.of(plan, buckets), ())))


def test_only_what_changes_the_state_is_refused() -> None:
    """Rows on which a function raises that is not declared safe are kept with what it raised."""
    begun = stored(planned())
    refuse_another_plan("cp", begun, stored(planned(), buckets=9))
    assert begun.state.conditions == planned().state.conditions != ()
    with pytest.raises(
        CheckpointError,
        match=r"^the checkpoint cp was created by this query with another plan, .*; the plan now .*\. Start the query "
        r"as it was started then, with the same on_error= and with functions declared safe= as they were, or",
    ):
        refuse_another_plan("cp", begun, stored(planned(risky=True)))


def test_a_part_of_the_state_that_a_later_version_wrote() -> None:
    found = json.loads(STATE.text_of(StoredPlan(STATE_OF, ())))
    for later in (["a part of the future"], 5):
        found["state"]["errors"] = later
        with pytest.raises(
            CheckpointError, match=rf"^the file {PLACE} of the checkpoint cannot be used: .*know \(errors\): a later v"
        ):
            read(STATE, json.dumps(found))


def test_a_part_of_the_state_that_an_earlier_version_did_not_write() -> None:
    found = json.loads(STATE.text_of(StoredPlan(STATE_OF, ())))
    del found["state"]["conditions"], found["state"]["buckets"]
    assert read(STATE, json.dumps(found)).state == replace(STATE_OF, conditions=(), buckets=None)


def test_names_of_columns_are_compared_as_spark_compares_them() -> None:
    begun = replace(RESULT, partition_by=("a",))
    shuffled = replace(begun, columns=RESULT.columns[::-1])
    for sensitive in (True, False):
        begun.refuse_other("cp", shuffled, case_sensitive=sensitive)
    begun.refuse_other("cp", replace(begun, partition_by=("A",)), case_sensitive=False)
    others = [
        replace(begun, partition_by=("A",)), replace(begun, partition_by=()),
        replace(begun, columns=RESULT.columns[:1]), replace(begun, columns=(("a", "int"), ("B", "string"))),
        replace(begun, columns=(("a", "bigint"), ("b", "string"))),
    ]  # fmt: skip
    for now in others:
        with pytest.raises(
            CheckpointError,
            match=r"^the checkpoint cp belongs to results with the columns a bigint, B string \(partitionBy=\['a'\]\), "
            r"and not with a .*; start the query with the same columns, or give it its own checkpoint and folder$",
        ):
            begun.refuse_other("cp", now, case_sensitive=True)
