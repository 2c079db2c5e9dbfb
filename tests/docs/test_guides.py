"""The guides: their examples print what the pages say, links to headings work, and each links to the glossary."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
GUIDES = [
    "architecture", "benchmarks", "benchmarks-generated", "benchmarks-joins", "benchmarks-sql", "errors", "estimates",
    "filters", "joins", "lab", "mesh", "native-predicates", "plans", "policies", "quick-start", "security", "settings",
    "simulation", "sql", "where-it-runs", "writing-a-policy",
]  # fmt: skip
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", *DOCS.glob("*.md")]
ON_SPARK = "## The same on Spark"


def text_of(page: str) -> str:
    return (DOCS / f"{page}.md").read_text(encoding="utf-8")


def section_of(page: str, heading: str) -> str:
    return text_of(page).partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def run_examples(text: str, capsys: pytest.CaptureFixture[str]) -> int:
    """Run the examples one after the other, compare what they print, and return their number."""
    examples = re.findall(r"```python\n((?:(?!```).)*)```\n\nprints\n\n```\n(.*?)```", text, flags=re.S)
    assert len(examples) == text.count("```python")  # none without its output
    names: dict[str, object] = {"__name__": "__main__"}
    for code, printed in examples:
        exec(compile(code, "example", "exec"), names)
        assert capsys.readouterr().out == printed
    return len(examples)


def test_the_quick_start_without_spark(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_examples(text_of("quick-start").partition(ON_SPARK)[0], capsys) == 3


def test_the_quick_start_on_spark(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_examples(text_of("quick-start"), capsys) == 6


def test_the_page_on_errors(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_examples(text_of("errors"), capsys) == 2


def test_the_page_on_policies(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_examples(text_of("policies"), capsys) == 1


def test_the_page_on_plans(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_examples(text_of("plans"), capsys) >= 3


def test_the_guide_on_writing_files(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    assert text_of("joins").count("SparkSession.builder") == 1  # test_readme.py runs the other examples of the page
    assert run_examples(section_of("joins", "Writing files"), capsys) == 1


@pytest.mark.parametrize("page", GUIDES)
def test_a_guide_begins_with_its_readers_and_the_glossary(page: str) -> None:
    opening = text_of(page).splitlines()[2:5]
    assert opening[0].startswith("For ")
    assert "(glossary.md)" in "\n".join(opening)


def test_the_glossary_is_alphabetical_and_links_to_the_guides() -> None:
    entries = re.split(r"^## ", text_of("glossary"), flags=re.M)[1:]
    terms = [entry.partition("\n")[0] for entry in entries]
    assert terms == sorted(set(terms))
    assert [term for term, entry in zip(terms, entries, strict=True) if ".md" not in entry] == []


def headings(page: Path) -> set[str]:
    """The anchors that GitHub and MyST make from the headings of a page."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S)
    found = re.findall(r"^#+ (.*)$", text, flags=re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_to_a_heading_leads_to_one(page: Path) -> None:
    for file, anchor in re.findall(r"\]\(([\w./-]*\.md)?#([\w-]+)\)", page.read_text(encoding="utf-8")):
        target = page.parent / file if file else page
        assert anchor in headings(target), f"{page.name} links to {file}#{anchor}"
