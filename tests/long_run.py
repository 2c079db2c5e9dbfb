"""`make test-long`: the tests that are too long for `make test`, in a run that can be interrupted and continued.

- A test marked `long` runs in test-long only. It has a short sample: other parameters of the same test, or the test
  that the mark names: `@pytest.mark.long(sample="test_one_kill")`, or `sample="tests/plan/x.py::test_y"`. Both have the
  same markers of `tests/kinds.py`: a test of a kind that `make test` leaves out has its sample in `make test-all`.
- A Hypothesis test with `@examples(25, long=2_000)` runs in both, with so many cases.

With `--long` pytest selects both kinds. What passes is written to a file with a digest of the code, so that the next
run leaves it out as long as the code is the same. When all have passed, the next run begins again, with other random
cases. No test is started after `--minutes`.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from tests.kinds import kinds

CODE = ("src", "tests", "bench", "examples", "pyproject.toml", "constraints.txt")
MINUTES = 55.0
"""Leaves a test that has just been started the time to end within the hour."""
_AT_ONCE_S = 900
"""The most that a Hypothesis test may take with the number of cases of a long run."""
_PASSED, _COLLECTED = pytest.StashKey[frozenset[str]](), pytest.StashKey[list[pytest.Item]]()
_long = False

hypothesis.settings.register_profile(
    "long", deadline=None, print_blob=True
)  # new cases every time, also where CI is set


def examples(short: int, *, long: int, **others: Any) -> Callable[[Any], Any]:
    """Settings of a Hypothesis test: so many cases in `make test`, so many in `make test-long`."""

    def decorate(test: Any) -> Any:
        made = hypothesis.settings(max_examples=long if _long else short, **others)(test)
        marks = [pytest.mark.longer] + ([pytest.mark.timeout(_AT_ONCE_S)] if _long else [])
        for mark in marks:
            made = mark(made)
        return made

    return decorate


def without_sample(items: Iterable[pytest.Item]) -> list[str]:
    """The tests marked `long` that have no short sample of the same kinds among the items, each with the reason. A
    sample in a file that exists and was not collected is not judged."""
    found = list(items)
    short: dict[tuple[Path, str], set[frozenset[str]]] = {}
    for item in found:
        if not item.get_closest_marker("long"):
            short.setdefault(_place(item), set()).add(kinds(item))
    collected = {item.path for item in found}
    missing = []
    for item in found:
        if (mark := item.get_closest_marker("long")) is None:
            continue
        named = mark.kwargs.get("sample")
        file, test = sample = _place(item) if named is None else _named(item, named)
        if sample in short:
            if kinds(item) not in short[sample]:
                missing.append(f"{item.nodeid}: {test} is of another kind")
        elif file in collected or not file.exists():
            why = "all its parameters are long and it names no sample" if named is None else f"no short {test} is there"
            missing.append(f"{item.nodeid}: {why}")
    return missing


def _named(item: pytest.Item, named: str) -> tuple[Path, str]:
    file, _, name = named.rpartition("::")
    return (item.config.rootpath / file if file else item.path), name


def _place(item: pytest.Item) -> tuple[Path, str]:
    return item.path, getattr(item, "originalname", None) or item.name


def code_digest(root: Path) -> str:
    """Of the files that a test may read, wherever the repository lies and whether or not they are committed."""
    digest = hashlib.sha256()
    for name in CODE:
        top = root / name
        for path in sorted(top.rglob("*")) if top.is_dir() else [top]:
            if path.is_file() and "__pycache__" not in path.parts:
                digest.update(f"{path.relative_to(root)}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


class Progress:
    """The file of what has passed: a line with the digest of the code, then one per test. A line that was cut off when
    the machine stopped names no test, and that test runs again."""

    def __init__(self, file: Path, digest: str) -> None:
        self._file, self._digest = file, digest

    def passed(self) -> frozenset[str]:
        lines = self._file.read_text().splitlines() if self._file.exists() else []
        return frozenset(lines[1:]) if lines[:1] == [self._digest] else frozenset()

    def add(self, test: str) -> None:
        if not self.passed():  # nothing yet, or of other code
            self._file.parent.mkdir(parents=True, exist_ok=True)
            self._file.write_text(f"{self._digest}\n")
        with self._file.open("a") as out:
            out.write(f"{test}\n")

    def begin_again(self) -> None:
        self._file.unlink(missing_ok=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("long tests")
    group.addoption("--long", action="store_true", help="run what `make test-long` runs, and nothing else")
    group.addoption("--minutes", type=float, default=MINUTES, help="with --long: start no test after so many")


def pytest_configure(config: pytest.Config) -> None:
    global _long
    before, profile = _long, hypothesis.settings.get_current_profile_name()

    def restore() -> None:  # a test of pytest runs pytest within this process
        global _long
        _long = before
        hypothesis.settings.load_profile(profile)

    config.add_cleanup(restore)
    _long = bool(config.getoption("--long"))
    if _long:
        hypothesis.settings.load_profile("long")
        given = getattr(config, "workerinput", None)  # all processes leave out the same tests
        config.stash[_PASSED] = _progress(config).passed() if given is None else frozenset(given["passed"])
        if given is None:
            config.pluginmanager.register(_Keeper(config))
        config.pluginmanager.register(_Clock(config.getoption("--minutes") * 60))


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Of pytest-xdist: a process is about to be started."""
    node.workerinput["passed"] = sorted(node.config.stash.get(_PASSED, frozenset()))


def pytest_report_header(config: pytest.Config) -> str | None:
    if not _long:
        return None
    passed = len(config.stash[_PASSED])
    return f"test-long: passed before with this code, and left out: {passed}" if passed else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    config.stash[_COLLECTED] = list(items)
    if _long:
        wanted = [item for item in items if item.get_closest_marker("long") or item.get_closest_marker("longer")]
        wanted = [item for item in wanted if item.nodeid not in config.stash[_PASSED]]
    else:
        wanted = [item for item in items if not item.get_closest_marker("long")]
    kept = set(wanted)
    if left_out := [item for item in items if item not in kept]:
        config.hook.pytest_deselected(items=left_out)
    items[:] = wanted


@pytest.fixture
def collected(pytestconfig: pytest.Config) -> list[pytest.Item]:
    """All tests that were collected, also those that are left out of the run."""
    return pytestconfig.stash[_COLLECTED]


def _progress(config: pytest.Config) -> Progress:
    return Progress(config.rootpath / ".cache" / "test-long.txt", code_digest(config.rootpath))


class _Keeper:
    """Writes down what has passed, in the process that hears of all tests."""

    def __init__(self, config: pytest.Config) -> None:
        self._progress = _progress(config)
        self._whole = config.args_source is config.ArgsSource.TESTPATHS and not config.option.keyword
        self._not_passed: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.passed:
            self._not_passed.add(report.nodeid)
        elif report.when == "teardown" and report.nodeid not in self._not_passed:
            self._progress.add(report.nodeid)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and self._progress.passed():
            session.exitstatus = exitstatus = pytest.ExitCode.OK  # the last run was interrupted after its last test
        if exitstatus == pytest.ExitCode.OK and self._whole and not self._not_passed:
            self._progress.begin_again()

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if passed := self._progress.passed():
            terminalreporter.write_line(f"test-long: passed so far: {len(passed)}; run it again for the others")


class _Clock:
    """Ends the run between two tests when its time is up."""

    def __init__(self, seconds: float) -> None:
        self._until = time.monotonic() + seconds

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> None:
        if time.monotonic() > self._until:
            item.session.shouldstop = "test-long: its time is up"
