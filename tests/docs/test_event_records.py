"""The tables of event records in the guide to filters have the fields that records and parts have."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

from thalweg.events import Origin, Record
from thalweg.events.counts import shape_of

GUIDE = Path("docs/filters.md").read_text()
KINDS: dict[str, Any] = {kind.event: kind for kind in get_args(Record)}


def table(head: str) -> dict[str, set[str]]:
    """By each word in the first column of a table, the words in the second one."""
    lines = GUIDE[GUIDE.index(f"| {head} |") :].split("\n\n")[0].splitlines()[2:]
    found = {}
    for line in lines:
        _, first, second, _ = line.split("|")
        for name in re.findall(r"`(\w+)`", first):
            found[name] = set(re.findall(r"`(\w+)`", second))
    return found


def test_every_kind_has_its_keys() -> None:
    assert table("`event`") == {
        name: {each.name for each in fields(kind)} - {"origin"} for name, kind in KINDS.items()
    }  # fmt: skip


def test_every_part_has_its_keys() -> None:
    parts = {each.name: each.part for kind in KINDS.values() for each in shape_of(kind) if each.part is not None}
    del parts["origin"]
    assert table("part") == {name: {each.name for each in fields(part)} for name, part in parts.items()}


def test_all_have_the_keys_of_their_origin() -> None:
    sentence = GUIDE[GUIDE.index("All have `run`") :].partition("What was counted")[0]
    assert {each.name for each in fields(Origin)} <= set(re.findall(r"`(\w+)`", sentence))
