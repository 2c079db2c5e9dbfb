"""The comparison of two checkouts: a quick run of this checkout against itself, what it uses of the other package, and
folders without a checkout."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import pytest

pytest.importorskip("numba")
pytest.importorskip("duckdb")

from bench import checkout_work, checkouts
from bench.checkout_process import AGAIN, HERE, LIMIT, NEW, OLD, Answer, ask, process
from bench.rounds import WrongResultError

PUBLIC = """
import builtins, sys
usual = builtins.__import__
def watched(name, globals=None, locals=None, fromlist=(), level=0):
    if (globals or {}).get("__name__", "").split(".")[0] == "bench" and name.split(".")[0] == "thalweg":
        if name != "thalweg" or fromlist:
            sys.exit(f"{globals['__name__']} imports {name} {fromlist or ''}")
    return usual(name, globals, locals, fromlist, level)
builtins.__import__ = watched
from bench import checkout_work
if __import__("importlib.util").util.find_spec("pyspark"):
    import bench.joins.spark.checkout_work
checkout_work.main()
"""


@pytest.mark.benchmark
def test_a_quick_run_has_a_line_for_everything_that_is_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for names in ("FILTERED", "JOINED", "PLANNED", "EXPLAINED"):
        first, *_ = everything = getattr(checkouts, names)
        monkeypatch.setattr(checkouts, names, {first: everything[first]})
    monkeypatch.setattr(checkouts, "FILTER_POLICIES", ("static", "auto"))
    assert checkouts.main([str(HERE), "--quick", "--rounds", "1"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    figures = [(line["part"], line["of"]) for line in lines if line["line"] == "figures"]
    assert figures == [
        ("filters", "calm, static"), ("filters", "calm, auto"), ("joins", "three-way, static"),
        ("joins", "three-way, auto"), ("planning", "stocks, news, research"), ("explain", "stocks, news, research"),
        ("import", "thalweg"),
    ]  # fmt: skip
    assert all(line["new_over_old"] > 0 and line["aa"] >= 1 for line in lines if line["line"] == "figures")
    modules, *times = (line for line in lines if line["line"] == "target")
    assert (modules["value"], modules["verdict"]) == (modules["limit"], "reached")
    assert [line["limit"] for line in times] == [LIMIT, LIMIT, 1.0, 1.0, 1.0]


def test_what_runs_with_another_package_uses_only_its_public_names() -> None:
    """Everything that is measured: other modules may have another name in the other checkout."""
    requests = checkouts.requests(checkouts.PARTS, quick=True)(1).values()
    done = subprocess.run(
        [sys.executable, "-c", PUBLIC, str(HERE)], cwd=HERE, capture_output=True, text=True,
        input="".join(json.dumps(request) + "\n" for request in requests),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [set(answer) - {"modules"} for answer in answers] == [{"cpu_seconds"}] * len(requests)


def test_wrong_rows_end_the_comparison(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(WrongResultError, match=r", not \(1, 2\)$") as raised:
        checkout_work.joins("three-way", "static", 300, 0, (1, 2))

    def wrong(*_: object, **__: object) -> NoReturn:
        raise raised.value

    monkeypatch.setattr(checkouts, "in_turn", wrong)
    assert checkouts.main([str(HERE), "--part", "import"]) == 1
    (line,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert line["error"] == str(raised.value)


def test_single_ratios_count_for_filters_and_medians_for_what_takes_milliseconds() -> None:
    def answers(new: float, again: float) -> dict[str, list[Answer]]:
        return {NEW: [{"cpu_seconds": new}], OLD: [{"cpu_seconds": 1.0}], AGAIN: [{"cpu_seconds": again}]}

    found = {
        (part, f"{n}"): answers(new, 1.01) for part in ("joins", "planning") for n, new in enumerate((1.0, 1.05, 1.0))
    }
    *_, joins, planning = checkouts.lines(found)
    assert (joins["verdict"], joins["value"], joins["above"]) == ("missed", 1.05, 1)
    assert (planning["verdict"], planning["value"]) == ("reached", 1.0)


def test_the_package_of_the_checkout_is_used(tmp_path: Path) -> None:
    """Another one that is installed would be compared with itself."""
    with (
        process("bench.checkout_work", tmp_path) as worker,
        pytest.raises(RuntimeError, match="has ended with exit code 1"),
    ):
        ask(worker, {"part": "import", "of": {"times": 1}})


def test_a_folder_without_a_checkout_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        checkouts.main([str(tmp_path)])
    assert "src/thalweg" in capsys.readouterr().err
