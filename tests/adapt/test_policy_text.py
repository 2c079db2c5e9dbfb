"""A policy as text: it means what `tw.policy` makes of the same names and values, or is refused at a place."""

from __future__ import annotations

import ast
import pickle
import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import thalweg as tw
from tests.long_run import examples
from thalweg import PlanError
from thalweg.adapt import POLICIES, PolicyChoice, chosen, setting_names
from thalweg.adapt.mesh import SEARCHES
from thalweg.adapt.policy_text import MOST_CHARACTERS, read_policy
from thalweg.optimizer.mesh.starts import STARTS

SHARES = st.floats(0.001, 1.0)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "budget": st.floats(0.001, 0.5), "p": SHARES, "alpha": SHARES, "profile_window": st.integers(1, 10_000_000),
    "routes": st.integers(1, 64), "search": st.sampled_from(SEARCHES), "search_from": st.sampled_from(list(STARTS)),
    "batch": st.integers(1, 16_384), "parts": st.integers(2, 1000), "rounds": st.integers(1, 1000),
    "decay": st.floats(0.0, 1e15), "threshold": st.floats(0.0, 1e15) | st.integers(0, 10**15),
}  # fmt: skip
"""Values that are possible, by setting."""
WORDS = [
    *POLICIES, *VALUES, "(", ")", "=", ",", " ", "\n", "4", "0.5", "-1", "1e3", ".5", "5.", "1_0", "07", "0x1", "nan",
    "'ii'", '"sa"', "'", '"', "\\", "True", "None", "true", "[", "]", "{", "lambda", "__import__('os')", "é", "\ud800",
]  # fmt: skip


@st.composite
def choices(draw: st.DrawFn) -> PolicyChoice:
    name = draw(st.sampled_from(list(POLICIES)))
    names = draw(st.lists(st.sampled_from(setting_names(name)), unique=True)) if setting_names(name) else []
    return tw.policy(name, **{each: draw(VALUES[each]) for each in names})


def test_there_are_values_for_every_setting() -> None:
    assert {name for policy in POLICIES for name in setting_names(policy)} == set(VALUES)


@examples(200, long=20_000)
@given(choice=choices())
def test_the_text_of_a_policy_is_read_as_the_same_policy(choice: PolicyChoice) -> None:
    again = chosen(choice.text)
    assert (again, again.settings, again.text) == (choice, choice.settings, choice.text)
    assert hash(again) == hash(choice)
    assert eval(repr(choice), {"tw": tw}) == choice  # as users would copy it
    copy = pickle.loads(pickle.dumps(choice))
    assert (copy, copy.settings) == (choice, choice.settings)


@examples(300, long=100_000)
@given(text=st.lists(st.sampled_from(WORDS), max_size=14).map("".join) | st.text(max_size=40))
@example(text="mesh(routes=4, search='sa',)")
@example(text="")
@example(text="(")
@example(text="mesh(routes=" + "9" * 900 + ")")
@example(text="mesh(routes=1e999)")
def test_any_text_means_what_the_call_means_or_is_refused(text: str) -> None:
    try:
        found = chosen(text)
    except PlanError as error:
        said = str(error)
        assert said.isprintable()
        assert repr(text) in said or text.partition("(")[0].strip() in said
        assert len(re.findall(r"\. [A-Z]", said.replace(repr(text), ""))) <= 1, "one or two sentences"
        return
    # Python's own parser, as the oracle of what the text says
    tree = ast.parse(text.strip().replace("-", "_", text.partition("(")[0].count("-")), mode="eval").body
    if isinstance(tree, ast.Name):
        assert found == tw.policy(text)
        return
    assert isinstance(tree, ast.Call)
    assert not tree.args
    settings = {str(each.arg): ast.literal_eval(each.value) for each in tree.keywords}
    assert found == tw.policy(text.partition("(")[0].strip(), **settings)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("mesh(", "expected the name of a setting or ')' at the end"),
        ("mesh(routes", "expected '=' at the end"),
        ("mesh(routes 4)", "expected '=' at character 13, before '4)'"),
        ("mesh(routes=)", "expected a number, a text in quotes, True, False or None at character 13, before ')'"),
        (
            "mesh(routes=four)",
            "expected a number, a text in quotes, True, False or None at character 13, before 'four)'",
        ),
        ("mesh(search='sa)", "expected a number, a text in quotes, True, False or None at character 13"),
        ("mesh(routes=4", "expected ',' or ')' at the end"),
        ("mesh(routes=4 search='sa')", "expected ',' or ')' at character 15, before \"search='sa')\""),
        ("mesh(4)", "expected the name of a setting or ')' at character 6, before '4)'"),
        ("mesh(,)", "expected the name of a setting or ')' at character 6, before ',)'"),
        ("mesh(routes=4) and more", "expected the end at character 16, before 'and more'"),
        ("mesh(routes=4)(search='sa')", "expected the end at character 15, before \"(search='sa')\""),
        ("(routes=4)", "expected the name of a policy at character 1"),
        ("mesh(routes=2+2)", "expected ',' or ')' at character 14, before '+2)'"),
        ("mesh(routes=4, routes=5)", "routes is given twice, again at character 16; leave one of them out"),
        ("mesh(routes=" + "[" * 60, "before '[[[[[[[[[[[[[[[[[[[['...; write it as in mesh(routes=4, search='sa')"),
    ],
)
def test_an_error_points_at_the_place(text: str, said: str) -> None:
    with pytest.raises(PlanError) as caught:
        tw.filters(tw.predicate(len, "x"), policy=text)
    assert str(caught.value).startswith(f"policy={text!r}: ")
    assert said in str(caught.value)


def test_a_text_has_at_most_a_thousand_characters() -> None:
    blanks = " " * (MOST_CHARACTERS - len("mesh(routes=4)"))
    assert read_policy(f"mesh({blanks}routes=4)") == ("mesh", {"routes": 4})
    for text in (f"mesh({blanks} routes=4)", "x" * 1_001, "(" * 10**6):
        with pytest.raises(PlanError, match=f"has {len(text):,} characters; at most 1,000 are possible") as caught:
            chosen(text)
        assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "mesh(rutes=4)",
            "policy 'mesh' has no setting rutes=4 (did you mean 'routes'?); it has budget, routes, search and "
            "search_from",
        ),
        ("velox-rank(p=0.5)", "policy 'velox-rank' has no setting p=0.5; it takes none"),
        ("mesh(search='best')", "policy 'mesh': search='best': must be one of ii, sa"),
        ("mesh(routes=0)", "policy 'mesh': routes=0: the most routes must be a whole number from 1 to 64"),
        ("mash(routes=4)", "there is no policy 'mash' (did you mean 'mesh'?); choose one of auto, "),
    ],
)
def test_a_wrong_setting_is_named_with_its_policy_its_value_and_those_that_there_are(text: str, said: str) -> None:
    for apply in (
        lambda: tw.filters(tw.predicate(len, "x"), policy=text),
        lambda: tw.join("a.k = b.k", "1 s", "t", policy=text),
        lambda: tw.policy(*read_policy(text)[:1], **read_policy(text)[1]),
    ):
        with pytest.raises(PlanError) as caught:
            apply()
        assert str(caught.value).startswith(said)


def test_what_is_no_literal_is_never_evaluated() -> None:
    for value in (
        "__import__('os').abort()",
        "open",
        "[1]",
        "(4)",
        "f'{4}'",
        "b'sa'",
        "'s' 'a'",
        "4 if True else 5",
        "1j",
    ):
        with pytest.raises(PlanError, match=r"^policy=.*: expected "):
            chosen(f"mesh(routes={value})")


def test_a_choice_is_taken_wherever_a_name_is() -> None:
    choice = tw.policy("mesh", routes=4)
    assert repr(choice) == "tw.policy('mesh', routes=4)"
    assert chosen(choice) is choice
    rows = tw.filters(tw.predicate(len, "x"), policy=choice)
    assert rows._settings().policy is choice
    assert tw.join("a.k = b.k", "1 s", "t", policy=choice)._given["policy"] is choice


def test_the_function_does_not_hide_the_module() -> None:
    from thalweg import adapt
    from thalweg.adapt import policy

    assert callable(tw.policy)
    assert tw.adapt.policy is adapt.policy is policy
    assert policy.__name__ == "thalweg.adapt.policy"
