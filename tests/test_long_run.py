"""Runs of `make test-long` go on where they were interrupted, and every long test has a short sample."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.long_run import Progress, code_digest, without_sample
from tests.runtime.spark.deployments.processes import REPOSITORY

pytest_plugins = ["pytester"]

SUITE = """
import os
import pytest
from hypothesis import given, strategies
from tests.long_run import examples

counted = []

@pytest.mark.parametrize("n", [1, pytest.param(2, marks=pytest.mark.long)])
def test_wider(n):
    pass

def test_one_kill():
    pass

@pytest.mark.long(sample="test_one_kill")
def test_many_kills():
    assert os.environ.get("MENDED")

@examples(3, long=30)
@given(strategies.integers())
def test_random(x):
    counted.append(x)

def test_how_many():
    assert len(counted) == 3
"""


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A repository of its own."""
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY))
    pytester.makepyprojecttoml(
        "[tool.pytest.ini_options]\ntestpaths = ['tests']\naddopts = ['--strict-markers', '-p', 'tests.long_run']\n"
        "markers = ['long', 'longer', 'deployment']\n"
    )
    pytester.mkdir("tests").joinpath("test_some.py").write_text(SUITE)
    return pytester


def names(result: pytest.RunResult, outcome: str = "PASSED") -> list[str]:
    return [line.split("::")[1].split()[0] for line in result.outlines if f" {outcome} " in line and "::" in line]


def test_make_test_leaves_long_tests_out(suite: pytest.Pytester) -> None:
    result = suite.runpytest_inprocess("-v")
    assert result.ret == pytest.ExitCode.OK
    assert names(result) == ["test_wider[1]", "test_one_kill", "test_random", "test_how_many"]


def test_a_run_goes_on_with_what_has_not_passed(suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    first = suite.runpytest_inprocess("--long", "-v")
    assert first.ret == pytest.ExitCode.TESTS_FAILED
    assert (names(first), names(first, "FAILED")) == (["test_wider[2]", "test_random"], ["test_many_kills"])
    first.stdout.fnmatch_lines("test-long: passed so far: 2; run it again for the others")
    monkeypatch.setenv("MENDED", "yes")
    second = suite.runpytest_subprocess("--long", "-v", "-n", "1", "--dist", "loadfile")
    assert second.ret == pytest.ExitCode.OK
    second.stdout.fnmatch_lines("test-long: passed before with this code, and left out: 2")
    assert "1 passed" in second.outlines[-1]
    # all have passed: the next night begins again, with other random cases
    assert "3 passed" in suite.runpytest_inprocess("--long").outlines[-1]


def test_some_tests_alone_do_not_end_the_run(suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MENDED", "yes")
    assert suite.runpytest_inprocess("--long", "-k", "wider").ret == pytest.ExitCode.OK
    again = suite.runpytest_inprocess("--long", "-k", "wider")
    assert again.ret == pytest.ExitCode.OK, "nothing is left of it"
    assert "2 passed" in suite.runpytest_inprocess("--long").outlines[-1]


def test_no_test_is_started_when_time_is_up(suite: pytest.Pytester) -> None:
    result = suite.runpytest_inprocess("--long", "-v", "--minutes", "0")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert names(result) == ["test_wider[2]"]
    result.stdout.fnmatch_lines("*test-long: its time is up*")
    assert len(names(suite.runpytest_inprocess("--long", "-v"))) == 1, "one of the others fails"


def test_other_code_begins_again(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("x = 1\n")
    digest = code_digest(tmp_path)
    assert digest == code_digest(tmp_path)
    progress = Progress(tmp_path / ".cache" / "passed.txt", digest)
    assert progress.passed() == frozenset()
    progress.add("test_1")
    progress.add("test_2")
    assert progress.passed() == {"test_1", "test_2"}
    (tmp_path / "src" / "a.py").write_text("x = 2\n")
    changed = Progress(tmp_path / ".cache" / "passed.txt", code_digest(tmp_path))
    assert changed.passed() == frozenset()
    changed.add("test_3")
    assert changed.passed() == {"test_3"}


WITHOUT = """
import pytest
from tests.long_run import without_sample

@pytest.mark.long
def test_alone(): pass

@pytest.mark.long(sample="test_gone")
def test_renamed(): pass

@pytest.mark.long(sample="test_alone")
def test_of_a_long_one(): pass

@pytest.mark.long(sample="tests/test_other.py::test_there")
def test_of_another_file(): pass

@pytest.mark.long(sample="tests/test_other.py::test_gone")
def test_of_another_file_that_is_gone(): pass

@pytest.mark.deployment
def test_on_a_cluster(): pass

@pytest.mark.deployment
@pytest.mark.long(sample="test_on_a_cluster")
def test_of_its_kind(): pass

@pytest.mark.long(sample="test_on_a_cluster")
def test_of_another_kind(): pass

@pytest.mark.deployment
@pytest.mark.long(sample="tests/test_other.py::test_there")
def test_of_another_kind_elsewhere(): pass

def test_check(collected):
    print("missing:", *without_sample(collected), sep="\\n")
"""


def test_long_tests_without_a_sample_are_found(suite: pytest.Pytester) -> None:
    (suite.path / "tests" / "test_some.py").write_text(WITHOUT)
    (suite.path / "tests" / "test_other.py").write_text("def test_there(): pass\n")
    result = suite.runpytest_inprocess("-s")
    result.stdout.fnmatch_lines(
        [
            "*missing:",
            "tests/test_some.py::test_alone: all its parameters are long and it names no sample",
            "tests/test_some.py::test_renamed: no short test_gone is there",
            "tests/test_some.py::test_of_a_long_one: no short test_alone is there",
            "tests/test_some.py::test_of_another_file_that_is_gone: no short test_gone is there",
            "tests/test_some.py::test_of_another_kind: test_on_a_cluster is of another kind",
            "tests/test_some.py::test_of_another_kind_elsewhere: test_there is of another kind*",
        ]
    )


def test_every_long_test_has_a_short_sample(collected: list[pytest.Item]) -> None:
    """Of those collected with this one: with `make test`, all there are."""
    assert without_sample(collected) == []
