"""`thalweg demo`, end to end on the shared session, and what it claims about plain Spark."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from rich.cells import cell_len
from rich.console import Console
from typer.testing import CliRunner

import thalweg as tw
from thalweg import predicate
from thalweg.cli import app
from thalweg.cli.demo.chain_state import ChainState
from thalweg.cli.demo.command import run_demo
from thalweg.cli.demo.live_view import LiveView
from thalweg.cli.demo.log_lines import make_lines
from thalweg.cli.demo.predicates import PREDICATES
from thalweg.cli.demo.race import BatchTiming, Kept, Race
from thalweg.cli.demo.stream_files import StreamShape
from thalweg.cli.demo.summary import same_rows, summary
from thalweg.errors import ThalwegError
from thalweg.report import SwitchReport

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = 24_000


def demo_on(spark: SparkSession, console: Console, **options: Any) -> str:
    run_demo(console, rows=ROWS, quick=True, spark=spark, **options)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_both_sides_keep_the_same_rows_and_the_summary_says_so(spark: SparkSession, tmp_path: Path) -> None:
    events = tmp_path / "events.jsonl"
    text = demo_on(spark, Console(file=io.StringIO(), width=200), events=events)
    assert "the same rows" in text
    assert "Both kept the same" in text
    assert f"{ROWS * len(PREDICATES):,}" in text  # evaluations of plain Spark
    assert text.index("batch  3/6") < text.index("drift: an incident") < text.index("batch  4/6")
    assert re.search(r"switch, worker \d: .* a row is expected to take", text)
    assert not list(spark.streams.active)
    assert not [table.name for table in spark.catalog.listTables() if table.name.startswith("demo_")]
    assert spark.range(3).count() == 3  # the session is left running

    report = CliRunner().invoke(app, ["report", str(events)])
    assert f"{ROWS:,} rows of micro-batches 0 to 5" in report.stdout


@pytest.mark.parametrize("width", [60, pytest.param(140, marks=pytest.mark.long)])
def test_the_live_view_fits_its_terminal(spark: SparkSession, width: int) -> None:
    console = Console(file=io.StringIO(), width=width, height=45, force_terminal=True, color_system=None)
    text = demo_on(spark, console, policy="static")
    assert "in their current order" in text
    frames = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text).replace("\r", "\n")
    assert max(map(cell_len, frames.split("\n"))) <= width
    assert "Both kept the same" in text


@pytest.mark.parametrize("over", [False, True])
def test_the_live_view_cuts_no_reason_and_fits_a_small_terminal(over: bool) -> None:
    race = Race(StreamShape.of(100, 2, 1), "auto", ChainState.of(PREDICATES), stage="")
    for lane in (race.plain, race.thalweg):
        lane.turns += [BatchTiming(50, 1.0)] * (2 if over else 1)
    reasons = [f"reason {n} begins {'and goes on ' * 10}and ends {n}" for n in range(9)]
    race.chain.switches.extend(SwitchReport(0, "w", 0, (), (), reason) for reason in reasons)
    console = Console(file=io.StringIO(), width=100, height=28)
    lines = console.render_lines(LiveView(race), pad=False)
    assert len(lines) <= console.height
    text = " ".join("".join(segment.text for segment in line).strip(" │") for line in lines)
    shown = re.findall(r"reason (\d) begins", text)
    assert shown == re.findall(r"and ends (\d)", text) == ["8", "7"]


def test_plain_spark_evaluates_every_predicate_on_every_row(spark: SparkSession) -> None:
    from thalweg.runtime.spark.demo_queries import plain_chain

    calls = spark.sparkContext.accumulator(0)

    def counted(line: str) -> bool:
        calls.add(1)
        return False

    chain = plain_chain([predicate(counted, "line", name=f"p{n}") for n in range(3)])
    df = spark.createDataFrame(make_lines(1_000, seed=1).to_pandas())
    assert df.transform(chain).count() == 0
    assert calls.value == 3_000


def test_different_rows_are_an_error() -> None:
    race = Race(StreamShape.of(100, 2, 1), "a-greedy", ChainState.of(PREDICATES))
    race.plain_kept, race.thalweg_kept = Kept(3, "aa"), Kept(3, "bb")
    with pytest.raises(ThalwegError, match=r"kept different rows.*please report it"):
        same_rows(race)


def test_a_checksum_is_of_the_rows_not_of_their_order() -> None:
    table = make_lines(50, seed=1)
    turned = table.take(list(reversed(range(50))))
    assert Kept.of(table) == Kept.of(turned)
    assert Kept.of(table) != Kept.of(table.slice(1))


def test_an_unknown_policy_is_reported_before_spark_starts() -> None:
    result = CliRunner().invoke(app, ["demo", "--policy", "sweeep"])
    assert result.exit_code == 2
    assert "did you mean 'sweep'" in result.stderr


@pytest.mark.parametrize("policy", ["a-greedy", "static"])
def test_what_to_try_next_is_not_what_just_ran_and_can_be_typed(policy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")  # as after `make demo`
    keep = tw.filters(*PREDICATES, policy=policy)
    list(keep.over(make_lines(1_000, seed=1)))
    race = Race(StreamShape.of(100, 2, 1), policy, ChainState.of(PREDICATES))
    race.chain.take(keep.report().sections[0])
    race.plain.turns.append(BatchTiming(50, 1.0))
    race.thalweg.turns.append(BatchTiming(50, 1.0))
    race.plain_kept = race.thalweg_kept = Kept(3, "aa")
    console = Console(file=io.StringIO(), width=200)
    console.print(summary(race))
    assert isinstance(console.file, io.StringIO)
    assert ('make demo ARGS="--policy static"' in console.file.getvalue()) == (policy != "static")
