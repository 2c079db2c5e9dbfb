"""All tests that `make test` leaves out, and `make test-all` runs, have the marker of their kind."""

from __future__ import annotations

import pytest

from tests.kinds import BENCHMARKS, KINDS, PLACES, without_kind
from tests.runtime.spark.deployments.processes import REPOSITORY

pytest_plugins = ["pytester"]

UNMARKED = """
import pytest

def test_plain(): pass

@pytest.mark.benchmark
def test_marked(): print("--quick")

@pytest.mark.parametrize("n", [1, 2])
def test_quick(n): print("--quick")
"""
CHECK = """
from tests.kinds import without_kind

def test_check(collected):
    print("missing:", *without_kind(collected), sep="\\n")
"""


def test_tests_without_the_marker_of_their_kind_are_found(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also those that the run leaves out. Only a folder of benchmarks is read for `--quick`."""
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY))
    pytester.makepyprojecttoml(
        "[tool.pytest.ini_options]\ntestpaths = ['tests']\n"
        "addopts = ['--strict-markers', '--import-mode=importlib', '-p', 'tests.long_run']\n"
        f"markers = {sorted(KINDS)}\n"
    )
    for file in (
        "runtime/spark/deployments/test_a.py",
        "bench/joins/test_b.py",
        "runtime/test_c.py",
        "test_packages.py",
    ):
        path = pytester.path / "tests" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(UNMARKED)
    (pytester.path / "tests" / "test_check.py").write_text(CHECK)
    result = pytester.runpytest_subprocess("-s", "-m", "not benchmark", "-k", "check")
    assert result.ret == pytest.ExitCode.OK
    missing = [line for line in result.outlines if "::" in line and ": " in line]
    assert sorted(line.rstrip(".") for line in missing) == [
        "tests/bench/joins/test_b.py::test_quick[1]: benchmark",
        "tests/bench/joins/test_b.py::test_quick[2]: benchmark",
        *(f"tests/runtime/spark/deployments/test_a.py::{name}: deployment" for name in NAMES),
        *(f"tests/test_packages.py::{name}: package" for name in NAMES),
    ]


NAMES = ["test_marked", "test_plain", "test_quick[1]", "test_quick[2]"]


@pytest.mark.parametrize("place", [*PLACES, BENCHMARKS])
def test_places_are_there(place: str) -> None:
    assert (REPOSITORY / place).exists()


def test_every_test_has_the_marker_of_its_kind(collected: list[pytest.Item]) -> None:
    """Of those collected with this one: with `make test`, all there are."""
    assert without_kind(collected) == []
