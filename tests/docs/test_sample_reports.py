"""The reports that the documents show are such as the code prints today: sentence by sentence, other numbers aside."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pytest

import thalweg as tw

ROOT = Path(__file__).parents[2]
DOCUMENTS = ("README.md", "docs/policies.md", "docs/quick-start.md", "docs/filters.md")
DURATION = r"[\d.,]+ (?:ns|µs|ms|s)"
NUMBER = r"[\d,.]+"
FACTS = {
    "which numbers": rf"rows seen and pass: in the order in force \({NUMBER} rows?\); others: since the start"
    rf"(?: \({NUMBER} switch(?:es)?\))?",
    "kept": rf"kept {NUMBER} of {NUMBER} rows \({NUMBER} %\)",
    "evaluations": rf"{NUMBER} evaluations; all predicates on all rows would be {NUMBER} \({NUMBER} % saved\)",
    "time": rf"{NUMBER} s in \d+ workers?: processing {NUMBER} %, profiling {NUMBER} %, re-optimizing {NUMBER} %",
    "compiling": rf"numba took another {DURATION} to compile or load functions at their first call",
    "trials": rf"\d+ trials? on {NUMBER} rows? took {DURATION}, (?:{DURATION}|no) more than the order in force "
    r"would have",
    "other orders": r"workers use different orders: .*",
    "switches": r"\d+ switch(?:es)?(?:, the latest \d+)?:?",
    "standing": r"why the order is kept: .*",
}
MOVE = r"(?:\w+ moves from \d+ to \d+|from position \d+ the order is [\w, ]+)"
REASON = (
    r"(?:[^;]+; )?(\w+) before (\w+): of the rows that get there, \1 drops [\d.]+ % at "
    rf"{DURATION} per row and \2 [\d.]+ % at {DURATION} per row; a row is expected to take {DURATION} instead of "
    rf"{DURATION}, based on {NUMBER} profiled rows?"
)
PAPER = (
    rf"at position \d+, (\w+) \({DURATION} per row\) drops {NUMBER} times as many rows per unit of time as (\w+) "
    rf"\({DURATION} per row\)"
)
SWITCH = rf"row {NUMBER} of worker \S+: {MOVE}: (?:{REASON}|{PAPER})"
STANDING = (
    "nothing better found", "another worker chose this order, based on", "held back by the budget: a trial of",
    "held back: measuring", "not enough seen yet",
)  # fmt: skip


def unfolded(report: str) -> list[str]:
    """Return the sentences of a report below its table, each in one line."""
    lines = report.splitlines()
    assert re.fullmatch(r"policy [\w-]+; counted: .+", lines[0])
    assert lines[1].split()[:3] == ["#", "predicate", "rows"]
    facts: list[str] = []
    for line in lines[2:]:
        deep = len(line) - len(line.lstrip())
        if re.match(r"\s+\d+  \w+ ", line) and not facts:
            continue  # a predicate
        is_switch = re.match(r"    row [\d,]+ of worker ", line) is not None
        if deep == 2 or is_switch:
            facts.append(line.strip())
        else:
            facts[-1] += f" {line.strip()}"
    return facts


def check(report: str) -> list[str]:
    """Check every sentence, and return them."""
    facts = unfolded(report)
    for fact in facts:
        assert re.fullmatch(SWITCH, fact) or any(re.fullmatch(pattern, fact) for pattern in FACTS.values()), fact
    (standing,) = (fact.removeprefix("why the order is kept: ") for fact in facts if fact.startswith("why"))
    assert standing.startswith(STANDING) or standing.endswith("is being tried at an earlier position")
    return facts


@pytest.mark.parametrize("document", DOCUMENTS)
def test_samples_are_as_the_code_prints(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    samples = re.findall(r"```(?:text)?\n(policy [\w-]+; counted: .*?)```", text, flags=re.S)
    assert samples
    for sample in samples:
        assert any(fact.startswith("row ") for fact in check(sample)), "a sample shows a switch with its reason"


@pytest.mark.parametrize("policy", ["auto", "a-greedy"])
def test_what_the_code_prints_is_such(policy: str) -> None:
    """Otherwise the patterns above would say nothing about the code."""
    table = pa.table({"n": range(100_000)})
    keep = tw.filters(
        tw.predicate(lambda n: n % 2 == 0, "n", name="even"),
        tw.predicate(lambda n: n % 50 == 0, "n", name="rare"),
        policy=policy,
        seed=1,
    )
    assert sum(batch.num_rows for batch in keep.over(table)) == 2_000
    facts = check(str(keep.report()))
    assert any(fact.startswith("row ") for fact in facts)
