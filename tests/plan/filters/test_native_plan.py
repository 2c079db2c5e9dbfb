from __future__ import annotations

import pytest

from tests.plan.filters.native_texts import native
from thalweg import PlanError, filters, predicate
from thalweg.plan import FilterPlan
from thalweg.plan.filters.expression_kind import may_raise
from thalweg.plan.filters.native_uses import uses_in

SIZE, PAYLOAD = ">(size, 1024)", "isNotNull(payload)"
RLIKE, JSON = "rlike(line, 'a+(b|c)')", "=(get_json_object(payload, '$.user'), 'x')"
CAST = ">(CAST(code AS INT), 5)"


def always(value: object) -> bool:
    return True


def plan(*arguments: object) -> FilterPlan:
    return FilterPlan.of(arguments)


def refusal(*arguments: object) -> str:
    with pytest.raises(PlanError) as caught:
        plan(*arguments)
    return str(caught.value)


def test_generated_names_are_unique() -> None:
    made = plan(native(SIZE), predicate(always, "x"), native(SIZE), native(PAYLOAD))
    assert made.native.names == ("size > 1024", "size > 1024 (2)", "payload is not null")
    assert [p.name for p in made.predicates] == ["always"]


def test_a_generated_name_changes_if_a_given_name_is_the_same() -> None:
    assert plan(native(SIZE), native(PAYLOAD, "size > 1024")).native.names == ("size > 1024 (2)", "size > 1024")


def test_a_native_guard_of_a_python_predicate_is_removed() -> None:
    made = plan(native(PAYLOAD, "has"), predicate(always, "x", after=["has", "b"]), predicate(always, "y", name="b"))
    assert made.predicates[0].after == ("b",)


def test_a_native_predicate_after_a_python_one_is_refused() -> None:
    said = refusal(predicate(always, "x"), native(SIZE, "large", "always"))
    assert said == (
        "native predicate 'large' cannot come after 'always', which is a Python predicate and runs later, "
        "after rows are sent from the JVM to Python; remove it from after="
    )


def test_names_are_unique_across_kinds_and_every_after_exists() -> None:
    assert "two predicates are named 'always'" in refusal(predicate(always, "x"), native(SIZE, "always"))
    assert "did you mean 'has'" in refusal(native(PAYLOAD, "has"), predicate(always, "x", after="hass"))
    assert "did you mean 'has'" in refusal(native(PAYLOAD, "has"), native(SIZE, "large", "hass"))
    assert "wait for each other" in refusal(native(PAYLOAD, "a", "b"), native(SIZE, "b", "a"))


def test_what_a_data_source_can_evaluate_comes_first() -> None:
    made = plan(native(RLIKE), native(SIZE), native(JSON), native(PAYLOAD)).native
    assert made.first == (1, 3)
    assert made.learned == (0, 2)


def test_what_a_data_source_can_evaluate_comes_after_its_guard() -> None:
    made = plan(native(RLIKE, "looks"), native(SIZE, "large", "looks"), native(PAYLOAD, "has", "large")).native
    assert (made.first, made.learned) == ((), (0, 1, 2))
    assert made.waits_for == ((), (0,), (0, 1))


def test_a_predicate_that_can_fail_comes_after_all_before_it() -> None:
    made = plan(native(RLIKE, "a"), native(CAST, "b"), native(JSON, "c")).native
    assert made.pipeline.guards == ((), (0,), ())
    turned = plan(native(CAST, "b"), native(RLIKE, "a", "b")).native
    assert turned.pipeline.guards == ((), (0,)), "not for what waits for it"


@pytest.mark.parametrize(
    ("text", "can"),
    [
        (SIZE, False), (RLIKE, False), (JSON, False), ("in(a, -1, 2)", False), ("exists(arr, x -> >(x, 3))", False),
        (">(from_json(t, 'a int')['a'], 1)", True), ("CASE WHEN >(a, 1) THEN true ELSE false END", False),
        (CAST, True), (">(/(a, b), 1)", True), (">(arr[0], 1)", True), ("mine(a)", True), ("a > 1 and b / 2 > 3", True),
    ],
)  # fmt: skip
def test_what_can_fail_on_a_row(text: str, can: bool) -> None:
    assert may_raise([*uses_in(text)]) is can


def test_words_inside_literals_do_not_count() -> None:
    assert [use.word for use in uses_in("rlike(t, 'cast(x) + get_json_object(y)')")] == ["rlike"]


def test_the_fingerprint_covers_names_texts_and_guards() -> None:
    one = plan(native(SIZE, "a"), native(PAYLOAD, "b")).native
    assert one.fingerprint == plan(native(SIZE, "a"), native(PAYLOAD, "b")).native.fingerprint
    others = [
        plan(native(PAYLOAD, "a"), native(SIZE, "b")),
        plan(native(SIZE, "a"), native(PAYLOAD, "c")),
        plan(native(SIZE, "a"), native(PAYLOAD, "b", "a")),
    ]
    assert one.fingerprint not in {other.native.fingerprint for other in others}


def test_native_predicates_are_refused_without_spark() -> None:
    keep = filters(native(SIZE), predicate(always, "x"))
    assert repr(keep) == "tw.filters(size > 1024, always)"
    with pytest.raises(PlanError, match="native predicates need Spark: size > 1024"):
        keep.over([])
