"""The documentation site lists every page and every public name. `make docs` builds it; this only reads its sources."""

from __future__ import annotations

import re
from pathlib import Path

import thalweg
from thalweg import simulation as virtual

DOCS = Path(__file__).parents[2] / "docs"


def listed(page: str) -> list[str]:
    """The pages that the navigation of a page lists."""
    blocks = re.findall(r"```\{toctree\}\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), flags=re.S)
    lines = [line for block in blocks for line in block.splitlines() if line and not line.startswith(":")]
    return [re.sub(r".*<(.*)>", r"\1", line) for line in lines]


def documented(page: str) -> set[str]:
    text = (DOCS / page).read_text(encoding="utf-8")
    return set(re.findall(r"^\.\. auto(?:class|function):: (\w+)$", text, flags=re.M))


def test_the_navigation_lists_every_page_once() -> None:
    navigation = ["index", *listed("index.md"), *listed("api.md")]
    pages = {path.relative_to(DOCS).with_suffix("").as_posix() for path in DOCS.rglob("*.md")}
    assert len(navigation) == len(set(navigation))
    assert set(navigation) == pages


def test_the_reference_lists_every_public_name() -> None:
    names = [documented(f"{page}.md") for page in listed("api.md")]
    everything = set().union(*names)
    assert set(thalweg.__all__) - {"objective"} - everything == set()
    assert set(thalweg.objective.__all__) <= documented("api/joins.md")
    assert documented("api/simulation.md") == set(virtual.__all__)
    assert {"Observation", "Policy", "ProfilingRequest", "Verdict", "assert_policy"} <= documented("api/policies.md")
