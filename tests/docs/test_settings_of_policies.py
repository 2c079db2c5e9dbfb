"""The page on policies has every setting of every policy, with its default: the fields of their `defaults`."""

from __future__ import annotations

import ast
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

from thalweg.adapt import POLICIES

PAGE = (Path(__file__).parents[2] / "docs" / "policies.md").read_text(encoding="utf-8")
IN_ANOTHER_TABLE = "table below"


def rows_of(head: str) -> list[list[str]]:
    """Return the cells of the table with this head line."""
    table = PAGE.partition(f"\n{head}")[2].partition("\n\n")[0]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()[2:]]


def words(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def test_the_page_has_the_settings_of_every_policy_with_their_defaults() -> None:
    found: dict[str, dict[str, Any]] = {policy: {} for policy in POLICIES}
    for setting, policies, default, _ in rows_of("| setting | policies | default |"):
        for policy in words(policies):
            found[policy][words(setting)[0]] = default
    for policy, *defaults, _ in rows_of("| policy | `p` | `profile_window` | `alpha` |"):
        for name, default in zip(("p", "profile_window", "alpha"), defaults, strict=True):
            assert found[words(policy)[0]][name] == IN_ANOTHER_TABLE
            found[words(policy)[0]][name] = default
    read = {policy: {k: ast.literal_eval(v.strip("`")) for k, v in each.items()} for policy, each in found.items()}
    assert read == {name: asdict(cls.defaults) if cls.defaults else {} for name, cls in POLICIES.items()}


def test_the_page_names_the_policies_without_settings() -> None:
    (sentence,) = re.findall(r"\n(.*) have no settings\.", PAGE)
    assert words(sentence) == [name for name, cls in POLICIES.items() if cls.defaults is None]
