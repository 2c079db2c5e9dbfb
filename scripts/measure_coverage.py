"""Measure which statements and branches of src/thalweg the tests run: `make coverage`.

The arguments are passed to pytest. All processes are measured: those of pytest, those that tests start, and Spark's
Python workers. The exit code is that of pytest.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import coverage
import psutil
from coverage.exceptions import CoverageException

ROOT = Path(__file__).parents[1]
RUN = "MEASURED_BY"
"""An environment variable with the id of this process; every process of the run inherits it."""
START = Path(sysconfig.get_path("purelib")) / "a2_worker_coverage.pth"
"""A file that Python runs when it starts, after `a1_coverage.pth` of coverage.py."""
COMPILED = r"^\s*@(compiled|intrinsic)\b"
"""The decorators of functions that numba compiles. They are not traced, so their statements count as missed."""
END_S = 60.0
"""How long to wait for processes that outlive pytest: Spark's JVM ends after its driver, and the daemon after that."""


def main() -> int:
    """Run the tests, write the pages and print the totals."""
    os.chdir(ROOT)
    measured = coverage.Coverage(config_file="pyproject.toml")
    data = Path(str(measured.get_option("run:data_file")))
    pages = Path(str(measured.get_option("html:directory")))
    for folder in data.parent, pages:
        shutil.rmtree(folder, ignore_errors=True)
    with workers_measured():
        command = [sys.executable, "-m", "coverage", "run", "-m", "pytest", *sys.argv[1:]]
        failed = subprocess.run(command, env=os.environ | {RUN: str(os.getpid())}, check=False).returncode
        wait_for_processes()
    drop_damaged(data)
    measured.combine()
    measured.html_report()
    print(f"coverage: {totals(measured, data.parent)}")
    measured.exclude(COMPILED)
    print(f"coverage: {totals(measured, data.parent)}, without the functions that numba compiles")
    print(f"coverage: {pages}/index.html")
    if failed:
        print(f"coverage: pytest failed with exit code {failed}, so the figures are incomplete", file=sys.stderr)
    return failed


@contextmanager
def workers_measured() -> Iterator[None]:
    """Have every Python of this environment that belongs to the run execute `worker_coverage.py` when it starts."""
    script = str(Path(__file__).with_name("worker_coverage.py"))
    START.write_text(f"import os; os.getenv({RUN!r}) and __import__('runpy').run_path({script!r})\n")
    try:
        yield
    finally:
        START.unlink()


def wait_for_processes() -> None:
    """Wait until all processes of the run have ended and saved their data."""
    until = time.monotonic() + END_S
    while left := running():
        if time.monotonic() > until:
            print(f"coverage: {left} processes are still running; what they have not saved is not included")
            return
        time.sleep(0.2)


def running() -> int:
    """Return the number of processes of the run."""
    environments = (process.info["environ"] or {} for process in psutil.process_iter(["environ"]))
    return sum(environment.get(RUN) == str(os.getpid()) for environment in environments)


def drop_damaged(data: Path) -> None:
    """Remove the files of processes that were killed while they saved, and print how many there are."""
    damaged = [file for file in data.parent.glob(f"{data.name}.*") if not readable(file)]
    for file in damaged:
        file.unlink()
    if damaged:
        print(f"coverage: left out {len(damaged)} processes that were killed while they saved their data")


def readable(file: Path) -> bool:
    """Whether a data file is complete. `combine` checks only the beginning and ends with an error at later damage."""
    try:
        found = coverage.CoverageData(str(file))
        found.read()
        coverage.CoverageData(no_disk=True).update(found)
    except CoverageException:
        return False
    return True


def totals(measured: coverage.Coverage, folder: Path) -> str:
    """Return the shares of statements and branches that were run, as text. The counts of all files go to `folder`."""
    file = folder / "report.json"
    measured.json_report(outfile=str(file))
    counts = json.loads(file.read_text())["totals"]
    return (
        f"{counts['covered_lines']:,} of {counts['num_statements']:,} statements "
        f"({counts['percent_statements_covered']:.1f} %), "
        f"{counts['covered_branches']:,} of {counts['num_branches']:,} branches "
        f"({counts['percent_branches_covered']:.1f} %)"
    )


if __name__ == "__main__":
    sys.exit(main())
